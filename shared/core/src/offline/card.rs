//! The peer card: who the peer is, kept from what holds now (`design.md` section 6).

use std::collections::HashSet;

use super::deduce::{Current, View};
use super::fact::{Slot, with_article};
use super::profile;
use super::token::tokens;
use crate::conclusion::{CardEntry, CardKind, Level};
use crate::id::ConclusionId;
use crate::toolbox::Operation;

/// The most entries of a card.
const MAX_ENTRIES: usize = 40;
/// The longest entry, in characters.
const MAX_CHARS: usize = 200;
/// The most conclusions that an entry names: the newest.
const MAX_NAMED: usize = 3;

/// How entries of ours begin, after their kind: what is recognised by them and no longer found is taken off.
const STEMS: &[(CardKind, &str)] = &[
    (CardKind::Identity, "Name: "),
    (CardKind::Identity, "Age: "),
    (CardKind::Identity, "Lives in "),
    (CardKind::Identity, "Works at "),
    (CardKind::Identity, "Works as "),
    (CardKind::Identity, "Studies at "),
    (CardKind::Relationship, "Status: "),
    (CardKind::Relationship, "Partner: "),
    (CardKind::Relationship, "Has "),
    (CardKind::Identity, "From "),
    (CardKind::Identity, "Born in "),
    (CardKind::Identity, "Grew up in "),
    (CardKind::Attribute, "Plays the "),
    (CardKind::Attribute, "Learning "),
    (CardKind::Attribute, "Often "),
    (CardKind::Attribute, "Goal: "),
    (CardKind::Attribute, "Wants to be "),
    (CardKind::Attribute, "Training to be "),
    (CardKind::Attribute, "Considers a career in "),
    (CardKind::Attribute, "Diet: "),
    (CardKind::Attribute, "Allergic to "),
    (CardKind::Attribute, "Speaks "),
    (CardKind::Instruction, "Call them "),
    (CardKind::Instruction, "Asks: "),
    (CardKind::Instruction, "Prefers "),
];

/// The new card, if it differs from the one there is. Entries that a client wrote stay; others stay while a conclusion
/// that they rest on does.
pub(super) fn operation(
    peer: &str,
    views: &[View<'_>],
    stays: impl Fn(usize) -> bool,
    current: &Current<'_>,
    card: Option<&[CardEntry]>,
) -> Option<Operation> {
    let mut wanted = entries(peer, views, &stays, current);
    let live: HashSet<&ConclusionId> = views
        .iter()
        .enumerate()
        .filter(|(at, _)| stays(*at))
        .map(|(_, view)| &view.conclusion.id)
        .collect();
    let mut next: Vec<CardEntry> = Vec::new();
    for entry in card.unwrap_or_default() {
        if let Some(place) = wanted
            .iter()
            .position(|w| w.text.to_lowercase() == entry.text.to_lowercase())
        {
            let found = wanted.remove(place);
            let conclusions = if entry.conclusions.is_empty() {
                Vec::new()
            } else {
                found.conclusions
            };
            next.push(CardEntry {
                text: entry.text.clone(),
                conclusions,
            });
        } else if entry.conclusions.is_empty() {
            next.push(entry.clone());
        } else {
            let conclusions: Vec<ConclusionId> = entry
                .conclusions
                .iter()
                .filter(|id| live.contains(id))
                .cloned()
                .collect();
            if !conclusions.is_empty() && !is_ours(&entry.text) {
                next.push(CardEntry {
                    text: entry.text.clone(),
                    conclusions,
                });
            }
        }
    }
    let room = MAX_ENTRIES.saturating_sub(next.len());
    next.extend(wanted.into_iter().take(room));
    (!next.is_empty() && next != card.unwrap_or_default()).then_some(Operation::Card { entries: next })
}

fn is_ours(text: &str) -> bool {
    STEMS.iter().any(|(kind, stem)| {
        text.strip_prefix(kind.prefix())
            .is_some_and(|rest| rest.starts_with(stem))
    })
}

fn entries(peer: &str, views: &[View<'_>], stays: &impl Fn(usize) -> bool, current: &Current<'_>) -> Vec<CardEntry> {
    let mut found: Vec<CardEntry> = Vec::new();
    let mut add = |kind: CardKind, text: String, conclusions: Vec<ConclusionId>| {
        let text = format!("{}{text}", kind.prefix());
        if text.chars().count() > MAX_CHARS || conclusions.is_empty() {
            return;
        }
        match found.iter_mut().find(|e| e.text.to_lowercase() == text.to_lowercase()) {
            Some(known) => {
                known.conclusions.extend(conclusions);
                let surplus = known.conclusions.len().saturating_sub(MAX_NAMED);
                known.conclusions.drain(..surplus);
            }
            None => found.push(CardEntry { text, conclusions }),
        }
    };
    for (slot, held) in current {
        // The most precise of the values that agree: "Lisbon" rather than "Portugal", "Maya Lopez" rather than "Maya".
        let held: Vec<_> = held.iter().filter(|h| stays(h.at)).collect();
        let explicit: Vec<_> = held
            .iter()
            .filter(|h| views[h.at].conclusion.level == Level::Explicit)
            .copied()
            .collect();
        let held = if explicit.is_empty() { held } else { explicit };
        let precise = |value: &str| (super::fact::country_of(value).is_some(), value.split(' ').count());
        let Some(best) = held.iter().max_by_key(|h| precise(&h.fact.value)) else {
            continue;
        };
        let named: Vec<ConclusionId> = held
            .iter()
            .filter(|h| h.fact.norm == best.fact.norm)
            .map(|h| views[h.at].conclusion.id.clone())
            .collect();
        let named = named[named.len().saturating_sub(MAX_NAMED)..].to_vec();
        let value = &best.fact.value;
        if **slot == Slot::Partner && is_alone_since(views, current, best.at) {
            continue;
        }
        match slot {
            Slot::Name => add(CardKind::Identity, format!("Name: {value}"), named),
            Slot::Age => {
                let when = views[best.at].conclusion.event_at.to_date();
                add(CardKind::Identity, format!("Age: {value} ({when})"), named);
            }
            Slot::Home => add(CardKind::Identity, format!("Lives in {value}"), named),
            Slot::Employer => add(CardKind::Identity, format!("Works at {value}"), named),
            Slot::Job => add(CardKind::Identity, format!("Works as {}", with_article(value)), named),
            Slot::School => add(CardKind::Identity, format!("Studies at {value}"), named),
            Slot::Status => add(CardKind::Relationship, format!("Status: {value}"), named),
            Slot::Partner => {
                let kind = Some(best.fact.about.as_str()).filter(|kind| !kind.is_empty() && *kind != "partner");
                let kind = kind.map_or(String::new(), |kind| format!(" ({kind})"));
                add(CardKind::Relationship, format!("Partner: {value}{kind}"), named);
            }
            Slot::Diet => add(CardKind::Attribute, format!("Diet: {value}"), named),
            _ => {}
        }
    }
    for (at, view) in views.iter().enumerate() {
        if stays(at)
            && view.conclusion.level == Level::Explicit
            && let Some((kind, text)) = lasting(peer, &view.conclusion.content)
        {
            add(kind, text, vec![view.conclusion.id.clone()]);
        }
    }
    // "Has a wife" says less than "Partner: Lena", and nothing once they are divorced.
    let partner = current.contains_key(&Slot::Partner);
    for (kind, text, places) in profile::entries(peer, views, stays) {
        let spouse = SPOUSE
            .iter()
            .any(|word| text.split(',').next() == Some(format!("Has a {word}").as_str()));
        let Some(last) = places.last().copied() else { continue };
        if !(spouse && (partner || is_alone_since(views, current, last))) {
            let named = places[places.len().saturating_sub(MAX_NAMED)..].iter();
            add(kind, text, named.map(|at| views[*at].conclusion.id.clone()).collect());
        }
    }
    let named: Vec<String> = found
        .iter()
        .filter(|e| e.text.contains(", "))
        .map(|e| e.text.clone())
        .collect();
    found.retain(|e| !named.iter().any(|n| n.starts_with(&format!("{}, ", e.text))));
    found
}

const SPOUSE: &[&str] = &[
    "husband",
    "wife",
    "girlfriend",
    "boyfriend",
    "fiancé",
    "fiancée",
    "fiance",
    "fiancee",
];

/// Whether the peer is, since the statement at `at` or later, divorced, separated, widowed or single.
fn is_alone_since(views: &[View<'_>], current: &Current<'_>, at: usize) -> bool {
    let said = views[at].conclusion.event_at;
    current
        .get(&Slot::Status)
        .and_then(|held| held.last())
        .is_some_and(|status| {
            matches!(
                status.fact.norm.as_str(),
                "single" | "divorced" | "separated" | "widowed"
            ) && views[status.at].conclusion.event_at >= said
        })
}

const KIN: &[&str] = &[
    "son", "daughter", "brother", "sister", "mother", "father", "mom", "mum", "dad", "dog", "cat", "puppy", "kitten",
    "parrot", "rabbit", "turtle", "horse", "hamster",
];

/// What may stand on the card beside the slots: kin and pets by name, allergies, languages, wishes for treatment.
fn lasting(peer: &str, content: &str) -> Option<(CardKind, String)> {
    let rest = content.strip_prefix(peer)?;
    let found = tokens(rest);
    let words: Vec<&str> = found.iter().map(|t| t.lower.as_str()).collect();
    let text = |from: usize, to: usize| -> Option<&str> {
        rest.get(found.get(from)?.start..found.get(to.checked_sub(1)?)?.end())
    };
    let clause_end = |from: usize| {
        (from..found.len())
            .find(|at| {
                (!found[*at].is_word() && !matches!(words[*at], "," | "&" | "+"))
                    || matches!(
                        words[*at],
                        "but" | "because" | "so" | "since" | "which" | "fluently" | "well"
                    )
            })
            .unwrap_or(found.len())
    };
    match words.as_slice() {
        ["'", "s", ..] => None,
        ["is", "allergic", "to", ..] => Some((CardKind::Attribute, format!("Allergic to {}", text(3, clause_end(3))?))),
        ["speaks", ..] if found.get(1)?.is_capitalised() => {
            Some((CardKind::Attribute, format!("Speaks {}", text(1, clause_end(1))?)))
        }
        ["is", "fluent", "in", ..] => Some((CardKind::Attribute, format!("Speaks {}", text(3, clause_end(3))?))),
        ["wants", "to", "be", "called", _, ..] => {
            Some((CardKind::Instruction, format!("Call them {}", found.get(4)?.text)))
        }
        ["asks", ":", _, ..] => Some((
            CardKind::Instruction,
            format!("Asks: {}", text(2, found.len())?.trim_end_matches('.')),
        )),
        ["prefers", .., "."]
            if words
                .iter()
                .any(|w| matches!(*w, "answers" | "replies" | "responses" | "explanations" | "summaries")) =>
        {
            Some((CardKind::Instruction, format!("Prefers {}", text(1, clause_end(1))?)))
        }
        ["has", "a" | "an", kin, "named" | "called", ..] if KIN.contains(kin) && found.get(4)?.is_capitalised() => {
            Some((CardKind::Relationship, format!("Has a {kin}, {}", found.get(4)?.text)))
        }
        _ => {
            let owned = rest.strip_prefix("'s ")?;
            let found = tokens(owned);
            let kin = KIN.iter().find(|kin| found.first().is_some_and(|t| t.lower == **kin))?;
            let named = usize::from(found.get(1).is_some_and(|t| matches!(t.lower.as_str(), "is" | ",")));
            let named = named
                + usize::from(
                    found
                        .get(1 + named)
                        .is_some_and(|t| matches!(t.lower.as_str(), "named" | "called")),
                );
            let name = found
                .get(1 + named)
                .filter(|t| t.is_capitalised() && t.is_word() && t.text.len() > 1)?;
            Some((
                CardKind::Relationship,
                format!("Has a {kin}, {}", name.text.trim_end_matches("'s")),
            ))
        }
    }
}
