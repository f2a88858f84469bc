//! Replacing the peer card.

use std::collections::BTreeSet;

use super::{Desk, Limits, Rejection, Step};
use crate::conclusion::{CardEntry, CardKind};
use crate::id::ConclusionId;
use crate::run::Change;
use crate::text::{normalise, without_nul};

/// The longest entry, prefix included, in characters (`design.md` section 6).
const MAX_ENTRY_CHARS: usize = 200;
/// The most entries of a card (`design.md` section 6).
const MAX_ENTRIES: usize = 40;
/// The most conclusions that one entry may name: forty such entries, before and after, fit into one item.
const MAX_ENTRY_CONCLUSIONS: usize = 100;
/// How many refused entries the refusal quotes.
const SAMPLES: usize = 3;
/// How many characters of each it quotes.
const SAMPLE_CHARS: usize = 80;

/// An entry's text, and what is wrong with it.
type Refused<'a> = (&'a str, &'static str);

pub(super) fn plan(entries: &[CardEntry], desk: &Desk, limits: &Limits) -> Result<Vec<Step>, Rejection> {
    if !limits.card_allowed {
        return Err(Rejection::Card("it may not be written".to_owned()));
    }
    let present = desk.card.as_deref().unwrap_or_default();
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for wanted in distinct(entries, present, &mut refused) {
        match supported(&wanted, present, desk) {
            Ok(entry) => kept.push(entry),
            Err(why) => refused.push((wanted.said, why)),
        }
    }
    if kept.is_empty() {
        return Err(Rejection::Card(explain(&refused)));
    }
    kept.truncate(MAX_ENTRIES);
    let (before, after) = (desk.card.clone(), Some(kept));
    if before == after {
        return Ok(Vec::new());
    }
    Ok(vec![Step {
        changes: vec![Change::Card { before, after }],
    }])
}

/// One entry, with all the conclusions that were named for it.
struct Wanted<'a> {
    /// As the operation has it.
    said: &'a str,
    /// As it is to be stored.
    text: String,
    /// What makes it the same as another.
    key: String,
    conclusions: Vec<&'a ConclusionId>,
}

/// The well-formed entries. Entries of the same text become one, which rests on what each of them names: which of them
/// comes first then makes no difference to what is kept.
fn distinct<'a>(entries: &'a [CardEntry], present: &[CardEntry], refused: &mut Vec<Refused<'a>>) -> Vec<Wanted<'a>> {
    let mut all: Vec<Wanted<'a>> = Vec::new();
    for CardEntry {
        text: said,
        conclusions,
    } in entries
    {
        // What is repeated letter by letter is good as it stands: a client may have written it in a form of its own.
        let form = if present.iter().any(|p| p.text == *said) {
            Ok(said.clone())
        } else {
            well_formed(said)
        };
        let text = match form {
            Ok(text) => text,
            Err(why) => {
                refused.push((said, why));
                continue;
            }
        };
        let key = normalise(&text);
        match all.iter_mut().find(|wanted| wanted.key == key) {
            Some(same) => same.conclusions.extend(conclusions),
            None => all.push(Wanted {
                said,
                text,
                key,
                conclusions: conclusions.iter().collect(),
            }),
        }
    }
    all
}

/// The entry with those of its conclusions that exist, or with those of the present card's entry of the same text.
fn supported(wanted: &Wanted<'_>, present: &[CardEntry], desk: &Desk) -> Result<CardEntry, &'static str> {
    let mut seen = BTreeSet::new();
    let mut conclusions: Vec<_> = wanted
        .conclusions
        .iter()
        .filter(|id| desk.get(id).is_some() && seen.insert(**id))
        .map(|id| (*id).clone())
        .collect();
    if conclusions.is_empty() {
        let same = present.iter().find(|p| normalise(&p.text) == wanted.key);
        conclusions.clone_from(&same.ok_or("names no existing conclusion")?.conclusions);
    }
    if conclusions.len() > MAX_ENTRY_CONCLUSIONS {
        return Err("names more than 100 conclusions");
    }
    Ok(CardEntry {
        text: wanted.text.clone(),
        conclusions,
    })
}

/// The text, cleaned, when it is one entry of one kind.
fn well_formed(text: &str) -> Result<String, &'static str> {
    let text = without_nul(text).trim().to_owned();
    let body_of = |text: &str| -> Option<String> {
        let body = CardKind::ALL.iter().find_map(|kind| text.strip_prefix(kind.prefix()))?;
        Some(body.trim_start().to_owned())
    };
    let body = body_of(&text).ok_or("begins with none of the four kinds")?;
    if body.is_empty() {
        Err("says nothing")
    } else if body_of(&body).is_some() {
        Err("begins with two kinds")
    } else if text.chars().count() > MAX_ENTRY_CHARS {
        Err("has more than 200 characters")
    } else {
        Ok(text)
    }
}

fn explain(refused: &[Refused<'_>]) -> String {
    if refused.is_empty() {
        return "no entry was given".to_owned();
    }
    let samples: Vec<_> = refused
        .iter()
        .take(SAMPLES)
        .map(|(text, why)| {
            let start: String = text.chars().take(SAMPLE_CHARS).collect();
            format!("{start:?} {why}")
        })
        .collect();
    samples.join("; ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

    use super::super::fixture::{LIMITS, carry_out, entry, explicit, place};
    use super::super::{Operation, plan};
    use super::*;

    fn desk() -> Desk {
        Desk::new([explicit(1, "Maya works at Acme"), explicit(2, "Maya is an engineer")])
    }

    fn refused(desk: &Desk, operation: &Operation) -> Rejection {
        plan(operation, desk, &LIMITS, &place(1)).unwrap_err()
    }

    fn changes(desk: &Desk, operation: &Operation) -> Vec<Change> {
        carry_out(&mut desk.clone(), operation, &LIMITS, &place(1))
    }

    #[test]
    fn report_09_an_empty_card_update_leaves_the_card() {
        let mut desk = desk();
        desk.card = Some(vec![entry("IDENTITY: Maya", &[1])]);
        for entries in [vec![], vec![entry("", &[1])], vec![entry("IDENTITY:  ", &[1])]] {
            assert!(matches!(
                refused(&desk, &Operation::Card { entries }),
                Rejection::Card(_)
            ));
        }
    }

    #[test]
    fn h23_a_card_update_holds_the_card_before_and_after() {
        let mut desk = desk();
        let first = vec![entry("IDENTITY: Maya", &[1]), entry("ATTRIBUTE: engineer", &[1, 2])];
        let set = |entries: &[CardEntry]| Operation::Card {
            entries: entries.to_vec(),
        };
        let change = carry_out(&mut desk, &set(&first), &LIMITS, &place(1));
        assert_eq!(
            change,
            [Change::Card {
                before: None,
                after: Some(first.clone())
            }]
        );
        assert_eq!(changes(&desk, &set(&first)), [], "equal to the present card");
        assert_eq!(
            changes(&desk, &set(&first[1..])),
            [Change::Card {
                before: Some(first.clone()),
                after: Some(first[1..].to_vec())
            }]
        );
    }

    fn card_of(desk: &Desk, entries: Vec<CardEntry>) -> Vec<CardEntry> {
        match changes(desk, &Operation::Card { entries }).pop() {
            Some(Change::Card { after: Some(after), .. }) => after,
            other => panic!("no card: {other:?}"),
        }
    }

    #[test]
    fn card_entries_have_one_kind_a_body_and_at_most_200_characters() {
        let long = |n: usize| format!("ATTRIBUTE: {}", "ä".repeat(n - 11));
        let given = [
            " IDENTITY: Maya\0 ",
            "identity: Maya",
            "likes tea",
            "ATTRIBUTE:tea",
            "INSTRUCTION: ",
            "IDENTITY: ATTRIBUTE: tea",
            &long(200),
            &long(201),
        ];
        let kept = card_of(&desk(), given.iter().map(|text| entry(text, &[1])).collect());
        assert_eq!(kept, [entry("IDENTITY: Maya", &[1]), entry(&long(200), &[1])]);
    }

    #[test]
    fn a_card_keeps_the_first_40_distinct_entries() {
        let mut given: Vec<_> = (0..50).map(|n| entry(&format!("ATTRIBUTE: no {n}"), &[1])).collect();
        given.insert(1, entry("ATTRIBUTE:  NO 0", &[2, 1]));
        let kept = card_of(&desk(), given);
        assert_eq!((kept.len(), kept[39].text.as_str()), (40, "ATTRIBUTE: no 39"));
        assert_eq!(kept[0], entry("ATTRIBUTE: no 0", &[1, 2]), "it rests on what both name");
    }

    #[test]
    fn card_entries_rest_on_existing_conclusions_or_on_what_the_card_said() {
        let mut desk = desk();
        desk.card = Some(vec![
            entry("IDENTITY: Maya", &[1, 2]),
            entry("calls herself May", &[]),
            entry("ATTRIBUTE: dropped, as it is not repeated", &[]),
        ]);
        let kept = card_of(
            &desk,
            vec![
                entry("IDENTITY:  MAYA", &[77]),
                entry("calls herself May", &[]),
                entry("ATTRIBUTE: engineer", &[77, 2, 2]),
                entry("ATTRIBUTE: invented", &[77]),
            ],
        );
        assert_eq!(
            kept,
            [
                entry("IDENTITY:  MAYA", &[1, 2]),
                entry("calls herself May", &[]),
                entry("ATTRIBUTE: engineer", &[2]),
            ]
        );
    }

    #[test]
    fn a_fully_rejected_card_says_why_with_three_samples() {
        let entries = (0..5).map(|n| entry(&format!("tea {n}"), &[1])).collect();
        let said = refused(&desk(), &Operation::Card { entries }).to_string();
        assert!(
            said.contains("\"tea 2\" begins with none of the four kinds") && !said.contains("tea 3"),
            "{said}"
        );
    }

    #[test]
    fn the_card_is_left_alone_where_it_may_not_be_written() {
        let limits = Limits {
            card_allowed: false,
            ..LIMITS
        };
        let entries = vec![entry("IDENTITY: Maya", &[1])];
        let refused = plan(&Operation::Card { entries }, &desk(), &limits, &place(1)).unwrap_err();
        assert!(matches!(refused, Rejection::Card(_)));
    }
}
