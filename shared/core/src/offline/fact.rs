//! Facts that can be read from a statement: which slot it fills, with what, and whether it states or changes it.

mod accept;
mod pattern;
mod place;
mod rules;
mod trade;

use super::lexicon::{DETERMINER, stem};
use super::token::{Token, tokens};
use pattern::Captures;
pub(super) use place::{Relation, country_of, relation};
pub(super) use trade::{field_of, is_company, is_occupation};

/// A property of which one value holds at a time. The text in some is what it is about, in normal form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Slot {
    /// Where the peer lives.
    Home,
    /// The street address.
    Address,
    /// For whom the peer works.
    Employer,
    /// As what the peer works.
    Job,
    /// Single, engaged, married, divorced and so on.
    Status,
    /// The husband, wife, girlfriend, boyfriend, partner by name.
    Partner,
    /// Age in years.
    Age,
    /// The name.
    Name,
    /// School or university.
    School,
    /// What is studied as a degree.
    Major,
    /// Vegan, vegetarian, pescatarian.
    Diet,
    /// The peer's manager.
    Manager,
    /// A phone number, by kind.
    Phone(String),
    /// A mail address, by kind.
    Email(String),
    /// The favourite of a kind.
    Favourite(String),
    /// When something named is due.
    Due(String),
    /// When a named meeting is.
    Meeting(String),
    /// Who leads a named team.
    Lead(String),
    /// The age of one of the family.
    KinAge(String),
}

/// What a statement does to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// States that the value holds.
    State,
    /// States that the value holds from now on: "moved to", "is now".
    Change,
    /// States that the value no longer holds.
    End,
}

/// A fact read from a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// Which property.
    pub(super) slot: Slot,
    /// What a keyed slot is about, as written.
    pub(super) about: String,
    /// The value as written.
    pub(super) value: String,
    /// The value in normal form, to compare.
    pub(super) norm: String,
    /// What the statement does.
    pub(super) kind: Kind,
    /// Whether it may hold beside others: "also", "part-time", "for the summer".
    pub(super) beside: bool,
    /// Whether the statement says nothing else that would be lost with it.
    pub(super) whole: bool,
    /// "moved to" without saying whether a home or a job is meant, and from where if it says.
    pub(super) moved_from: Option<String>,
}

/// Whose the subject of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// The peer: "maya works …".
    Peer,
    /// Something of the peer's: "maya's wife …".
    Owned,
    /// Anything else: "The Q3 report …".
    World,
}

/// Words that make a value hold beside others or for a while only.
const BESIDE: &[&str] = &[
    "also",
    "too",
    "part-time",
    "parttime",
    "temporarily",
    "temporary",
    "second",
    "side",
    "weekends",
    "freelances",
    "freelance",
    "sometimes",
    "until",
    "during",
    "summers",
    "while",
    "another",
    "volunteer",
    "volunteers",
    "currently-visiting",
    "occasionally",
    "contract",
    "internship",
    "both",
    "partly",
    "mostly",
];

/// Words after which a statement says something more than its fact.
const MORE: &[&str] = &[
    "and", "but", "because", "which", "who", "where", "that", "so", "though", "although", "loves", "likes", "hates",
    "if", "when", "or",
];

/// The facts of a statement about `peer`, in the order of the rules; usually none or one.
pub(super) fn read(peer: &str, content: &str) -> Vec<Fact> {
    let Some((who, text)) = subject(peer, content) else {
        return Vec::new();
    };
    read_as(who, text, content)
}

/// Whether a sentence without the first person states a fact with a slot of its own: a deadline, a meeting, a lead.
pub(super) fn is_worldly(text: &str) -> bool {
    read_as(Who::World, text, text)
        .iter()
        .any(|fact| fact.kind != Kind::End)
}

fn read_as(who: Who, text: &str, content: &str) -> Vec<Fact> {
    let all = tokens(text);
    if all.is_empty() || all.len() > 60 {
        return Vec::new();
    }
    let changed = |word: &str| matches!(word, "now" | "recently" | "finally" | "just" | "officially");
    let early = all.len().min(4);
    let mut change = all.iter().any(|t| matches!(t.lower.as_str(), "now" | "nowadays"))
        || content.contains("these days")
        || content.contains("from this week");
    let mut found: Vec<Token<'_>> = Vec::with_capacity(all.len());
    for (at, token) in all.iter().enumerate() {
        let adverb = changed(&token.lower)
            || matches!(
                token.lower.as_str(),
                "currently" | "still" | "actually" | "really" | "also" | "both"
            );
        if at < early.max(if token.lower == "now" { 9 } else { 0 }) && adverb {
            change |= changed(&token.lower);
        } else {
            found.push(token.clone());
        }
    }
    let beside = all.iter().any(|t| BESIDE.contains(&t.lower.as_str()))
        || content.contains("for now")
        || (content.contains("for the ") && !content.contains("for the record"))
        || content.contains("in the summer")
        || content.contains("as well");
    // "moved to Rome in 2020" stays true as an event.
    let dated = tokens(content)
        .iter()
        .any(|t| t.text.len() == 4 && t.text.bytes().all(|b| b.is_ascii_digit()));
    let mut facts: Vec<Fact> = Vec::new();
    for (rule, captures) in rules::matching(who, &found) {
        if let Some(mut fact) = build(rule, &captures, &found, change, beside)
            && facts
                .iter()
                .all(|known| std::mem::discriminant(&known.slot) != std::mem::discriminant(&fact.slot))
        {
            fact.whole &= text.len() + 40 > content.len() || who == Who::World;
            fact.whole &= !(dated && fact.moved_from.is_some());
            facts.push(fact);
        }
    }
    facts
}

fn build(rule: &rules::Rule, captures: &Captures, found: &[Token<'_>], change: bool, beside: bool) -> Option<Fact> {
    let value = rule.constant.map(str::to_owned).or_else(|| captures.text(found, 'v'))?;
    let topic = captures.text(found, 'k').unwrap_or_default();
    let slot = rule.slot(Some(about(&topic)).filter(|k| !k.is_empty()))?;
    let value = match rule.constant {
        // "is dating Felix", and not "is dating again".
        Some(_) if !topic.is_empty() && !topic.starts_with(char::is_uppercase) => return None,
        Some(_) => value,
        None => accept::acceptable(&slot, &value, found, captures)?,
    };
    let tail = &found[captures.end..];
    let kind = match rule.kind {
        Kind::State if change => Kind::Change,
        kind => kind,
    };
    Some(Fact {
        about: shown_about(&topic),
        norm: norm(&slot, &value),
        value,
        kind,
        beside,
        whole: is_harmless(tail),
        moved_from: rule.moves.then(|| captures.text(found, 'f').unwrap_or_default()),
        slot,
    })
}

/// Whether what follows a fact only says when, how long or in which role.
fn is_harmless(tail: &[Token<'_>]) -> bool {
    let open = tail.iter().position(|t| t.text == "(").unwrap_or(tail.len());
    let closed = tail.iter().rposition(|t| t.text == ")").map_or(open, |at| at + 1);
    let outside = tail[..open].iter().chain(tail[closed.max(open)..].iter());
    let words: Vec<&str> = outside
        .map(|t| t.lower.as_str())
        .filter(|w| !matches!(*w, "." | "!"))
        .collect();
    let comma = |at: usize| {
        let next = words.get(at + 1).copied().unwrap_or("");
        words[at] == ","
            && !matches!(
                next,
                "in" | "at" | "near" | "since" | "on" | "as" | "for" | "close" | "by" | "next" | "outside"
            )
    };
    words.len() <= 12
        && !(0..words.len()).any(|at| MORE.contains(&words[at]) || matches!(words[at], ";" | "—" | "-") || comma(at))
}

/// Splits a statement into whose it is and the rest; `None` when it speaks of a time that is over or of a condition.
fn subject<'a>(peer: &str, content: &'a str) -> Option<(Who, &'a str)> {
    for name in [peer, "The user", "User"] {
        if let Some(rest) = strip_name(content, name) {
            if let Some(rest) = rest.strip_prefix(": ") {
                return Some((Who::World, rest));
            }
            if let Some(rest) = rest.strip_prefix(" and others' ") {
                return Some((Who::Owned, rest));
            }
            if let Some(rest) = rest.strip_prefix("'s ").or_else(|| rest.strip_prefix("’s ")) {
                return Some((Who::Owned, rest));
            }
            if let Some(rest) = rest.strip_prefix(' ') {
                let rest = [
                    "and others ",
                    "and their wife ",
                    "and their husband ",
                    "and their partner ",
                    "and their family ",
                ]
                .iter()
                .find_map(|with| rest.strip_prefix(with))
                .unwrap_or(rest);
                return Some((Who::Peer, after_companion(rest)));
            }
        }
    }
    // "Last week maya moved to Oslo."
    let lead_end = content
        .char_indices()
        .take(60)
        .find(|(at, c)| *c == ' ' && strip_name(&content[at + 1..], peer).is_some_and(|rest| rest.starts_with(' ')));
    if let Some((at, _)) = lead_end {
        let lead = content[..at].to_lowercase();
        let first = lead.split([' ', ',']).next().unwrap_or("");
        let timely = matches!(
            first,
            "last"
                | "this"
                | "yesterday"
                | "today"
                | "recently"
                | "now"
                | "since"
                | "in"
                | "on"
                | "two"
                | "three"
                | "a"
                | "as"
                | "currently"
                | "these"
        );
        return timely.then(|| (Who::Peer, &content[at + 1 + peer.len() + 1..]));
    }
    Some((Who::World, content))
}

/// "and Marcus got married" → "got married": what holds of both holds of the peer.
fn after_companion(rest: &str) -> &str {
    let named = rest.strip_prefix("and ").and_then(|rest| rest.split_once(' '));
    match named {
        Some((name, rest)) if name.chars().next().is_some_and(char::is_uppercase) => rest,
        _ => rest,
    }
}

fn strip_name<'a>(content: &'a str, name: &str) -> Option<&'a str> {
    content
        .get(..name.len())
        .filter(|head| head.eq_ignore_ascii_case(name))
        .map(|_| &content[name.len()..])
}

/// What a keyed slot is about, in normal form: "the Q3 report deadline" → "q3 report".
fn about(text: &str) -> String {
    tokens(text)
        .iter()
        .filter(|t| t.is_word())
        .map(|t| t.lower.as_str())
        .map(|w| w.strip_suffix("'s").unwrap_or(w))
        .filter(|w| {
            !DETERMINER.contains(w)
                && !matches!(*w, "deadline" | "date" | "meeting" | "team" | "for" | "of" | "project")
        })
        .map(|w| if w == "color" { "colour".to_owned() } else { stem(w) })
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a keyed slot is about, as it is shown: without the article and the words that are put back when it is restated.
fn shown_about(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    while words
        .first()
        .is_some_and(|w| DETERMINER.contains(w.to_lowercase().as_str()))
    {
        words.remove(0);
    }
    while words.len() > 1
        && words
            .last()
            .is_some_and(|w| matches!(*w, "deadline" | "team" | "date" | "project"))
    {
        words.pop();
    }
    words.join(" ")
}

/// A value in normal form.
fn norm(slot: &Slot, value: &str) -> String {
    let words: Vec<String> = tokens(value)
        .iter()
        .filter(|t| t.is_word() || t.kind == super::token::Kind::Sign)
        .map(|t| t.lower.clone())
        .filter(|w| !matches!(w.as_str(), "the" | "a" | "an" | "their" | "on" | "at"))
        .collect();
    let words = if *slot == Slot::Job {
        words.iter().map(|w| stem(w)).collect()
    } else {
        words
    };
    words.join(" ")
}

/// Whether two values of one slot can hold at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// They agree, or one makes the other more precise.
    No,
    /// Only one of them holds.
    Yes,
    /// It cannot be told.
    Unsure,
}

/// Compares an older fact with a newer one of the same slot.
pub(super) fn clash(old: &Fact, new: &Fact) -> Clash {
    if old.norm == new.norm || old.beside || new.beside {
        return Clash::No;
    }
    let inside = |a: &str, b: &str| {
        let b: Vec<&str> = b.split(' ').collect();
        a.split(' ').all(|word| b.contains(&word))
    };
    let changes = new.kind == Kind::Change;
    match &old.slot {
        Slot::Home => match place::relation(&old.value, &new.value) {
            Relation::Apart => Clash::Yes,
            Relation::Within => Clash::No,
            Relation::Unknown if inside(&old.norm, &new.norm) || inside(&new.norm, &old.norm) => Clash::No,
            Relation::Unknown if changes => Clash::Yes,
            Relation::Unknown => Clash::Unsure,
        },
        Slot::Age | Slot::KinAge(_) => match (old.norm.parse::<u32>(), new.norm.parse::<u32>()) {
            (Ok(before), Ok(after)) if after > before => Clash::Yes,
            _ => Clash::Unsure,
        },
        // A teacher may be a writer as well: only a stated change replaces.
        Slot::Job => {
            if inside(&old.norm, &new.norm) || inside(&new.norm, &old.norm) || !changes {
                Clash::No
            } else {
                Clash::Yes
            }
        }
        // Two times on one day may be a correction; two days may both hold.
        Slot::Meeting(_) if !changes => {
            let day = |norm: &str| -> Vec<String> {
                let words = norm
                    .split(' ')
                    .filter(|w| !w.starts_with(|c: char| c.is_ascii_digit()) && *w != "at");
                words.map(str::to_owned).collect()
            };
            let same = day(&old.norm) == day(&new.norm) && !day(&new.norm).is_empty();
            if same { Clash::Unsure } else { Clash::No }
        }
        Slot::Due(about) if !changes && about.split(' ').count() < 2 => Clash::Unsure,
        Slot::Diet if !changes => Clash::Unsure,
        Slot::Status if !changes && old.norm != "single" && new.norm != "single" => {
            match (old.norm.as_str(), new.norm.as_str()) {
                ("dating", "engaged" | "married")
                | ("engaged", "married")
                | ("married", "divorced" | "separated" | "widowed")
                | ("separated", "divorced") => Clash::Yes,
                _ => Clash::Unsure,
            }
        }
        _ if inside(&old.norm, &new.norm) || inside(&new.norm, &old.norm) => Clash::No,
        _ => Clash::Yes,
    }
}

/// The statement that a changed fact is put into; it reads back to the same slot and value.
pub(super) fn restate(peer: &str, new: &Fact, old: &Fact) -> String {
    let (value, before, about) = (&new.value, &old.value, &new.about);
    let was = format!("(formerly {before})");
    match &new.slot {
        Slot::Home => format!("{peer} now lives in {value} {was}."),
        Slot::Address => format!("{peer}'s address is now {value} {was}."),
        Slot::Employer => format!("{peer} now works at {value} {was}."),
        Slot::Job => format!("{peer} now works as {} {was}.", with_article(value)),
        Slot::Partner => format!("{peer}'s partner is now {value} {was}."),
        Slot::Age => format!("{peer} is now {value} years old {was}."),
        Slot::Name => format!("{peer}'s name is now {value} {was}."),
        Slot::School => format!("{peer} now studies at {value} {was}."),
        Slot::Major => format!("{peer} is now majoring in {value} {was}."),
        Slot::Status | Slot::Diet => format!("{peer} is now {value} {was}."),
        Slot::Manager => format!("{peer}'s manager is now {value} {was}."),
        Slot::Phone(kind) => format!("{peer}'s {} is now {value} {was}.", kind_of(kind, "phone number")),
        Slot::Email(kind) => format!("{peer}'s {} is now {value} {was}.", kind_of(kind, "email address")),
        Slot::Favourite(_) => format!("{peer}'s favourite {about} is now {value} {was}."),
        Slot::Due(_) => format!("{peer}: The {about} deadline is now {value} {was}."),
        Slot::Meeting(_) => format!("{peer}: The {about} is now {value} {was}."),
        Slot::KinAge(_) => format!("{peer}'s {about} is now {value} years old {was}."),
        Slot::Lead(_) => format!("{peer}: {value} is now the lead of the {about} team {was}."),
    }
}

fn kind_of(kind: &str, thing: &str) -> String {
    if kind.is_empty() {
        thing.to_owned()
    } else {
        format!("{kind} {thing}")
    }
}

/// "nurse" → "a nurse".
pub(super) fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

#[cfg(test)]
#[allow(clippy::panic, reason = "tests")]
mod tests;
