//! Conflicts that cannot be resolved: stated, with both sides as sources; nothing is deleted.

use std::collections::{BTreeMap, HashSet};

use super::deduce::View;
use super::same;
use super::screen::ADVERBIAL;
use super::token::tokens;
use crate::conclusion::{Conclusion, Level};
use crate::id::ConclusionId;
use crate::run::RemovalReason;
use crate::toolbox::Operation;

/// How our contradictions begin.
const HEAD: &str = "It is unclear which holds: ";

/// Verbs of lasting states: one day's yes and another day's no about them cannot both be right, while moods pass.
const LASTING: &[&str] = &[
    "has", "owns", "eats", "drinks", "speaks", "can", "smokes", "plays", "uses", "drives", "knows", "needs", "wants",
    "works", "lives", "believes", "trusts", "supports", "wears", "cooks", "swims", "likes", "loves", "cannot",
];

/// The operations that state the conflicts `pairs` (places in `views`) unless they are stated, and that remove our
/// contradictions of which a side is gone.
pub(super) fn state(views: &[View<'_>], gone: &[bool], pairs: &[(usize, usize)]) -> Vec<Operation> {
    let standing: Vec<&Conclusion> = views
        .iter()
        .zip(gone)
        .filter(|(view, gone)| view.conclusion.level == Level::Contradiction && !**gone)
        .map(|(view, _)| view.conclusion)
        .collect();
    let mut operations = Vec::new();
    let mut reproduced: HashSet<&ConclusionId> = HashSet::new();
    let mut said: HashSet<String> = HashSet::new();
    for (a, b) in pairs {
        let (a, b) = (views[*a].conclusion, views[*b].conclusion);
        let (first, second) = if order(a) <= order(b) { (a, b) } else { (b, a) };
        let content = format!("{HEAD}{} or {}", side(first), side(second));
        let known = standing
            .iter()
            .find(|c| (c.sources.contains(&a.id) && c.sources.contains(&b.id)) || c.content == content);
        if let Some(known) = known {
            reproduced.insert(&known.id);
            if known.sources.contains(&a.id) && known.sources.contains(&b.id) {
                continue;
            }
        }
        if said.insert(content.clone()) {
            operations.push(Operation::Create {
                level: Level::Contradiction,
                content,
                sources: vec![first.id.clone(), second.id.clone()],
                pattern: None,
                replaces: Vec::new(),
            });
        }
    }
    let live: HashSet<&ConclusionId> = views
        .iter()
        .zip(gone)
        .filter(|(_, gone)| !**gone)
        .map(|(view, _)| &view.conclusion.id)
        .collect();
    let stale: Vec<ConclusionId> = standing
        .into_iter()
        .filter(|c| c.content.starts_with(HEAD) && !reproduced.contains(&c.id))
        .filter(|c| c.sources.iter().filter(|id| live.contains(id)).count() < 2)
        .map(|c| c.id.clone())
        .collect();
    if !stale.is_empty() {
        operations.push(Operation::Remove {
            ids: stale,
            reason: RemovalReason::Superseded,
            replaced_by: None,
        });
    }
    operations
}

fn side(conclusion: &Conclusion) -> String {
    let text: String = conclusion.content.chars().take(300).collect();
    format!("\"{}\" ({})", text.trim_end_matches('.'), conclusion.event_at.to_date())
}

fn order(conclusion: &Conclusion) -> (crate::time::Time, &ConclusionId) {
    (conclusion.event_at, &conclusion.id)
}

/// What a statement says that its denial would deny.
struct State {
    at: usize,
    /// The verb, in one form for both sides.
    verb: String,
    /// What follows it.
    rest: Vec<String>,
    denied: bool,
    /// "has never been to Japan": one time suffices to make it untrue.
    experience: bool,
}

/// The newest statement and the newest denial of the same state: "maya drinks coffee every morning", "maya does not drink
/// coffee"; "maya has never used Rust", "maya used Rust in 2019". The denial must be the wider one: who does not drink
/// coffee after noon may drink coffee. Attitudes are decided elsewhere.
pub(super) fn denials(views: &[View<'_>], gone: &[bool], peer: &str) -> Vec<(usize, usize)> {
    let mut denied: Vec<State> = Vec::new();
    let mut stated: BTreeMap<(String, String), Vec<State>> = BTreeMap::new();
    let mut kin: Vec<(usize, String)> = Vec::new();
    for (at, view) in views.iter().enumerate() {
        if gone[at] || view.conclusion.level != Level::Explicit || view.attitude.is_some() {
            continue;
        }
        kin.extend(one_of_kin(peer, &view.conclusion.content).map(|word| (at, word)));
        for state in states(at, peer, &view.conclusion.content) {
            if state.denied {
                denied.push(state);
            } else {
                let first = state.rest.first().cloned().unwrap_or_default();
                for key in [first, String::new()] {
                    let copy = State {
                        verb: state.verb.clone(),
                        rest: state.rest.clone(),
                        ..state
                    };
                    stated.entry((state.verb.clone(), key)).or_default().push(copy);
                }
            }
        }
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let event = |at: usize| views[at].conclusion.event_at;
    for denial in &denied {
        let first = denial.rest.first().cloned().unwrap_or_default();
        let candidates = stated.get(&(denial.verb.clone(), first)).into_iter().flatten();
        let against = candidates.filter(|state| {
            let (head, tail) = state.rest.split_at(denial.rest.len().min(state.rest.len()));
            let past = event(state.at) <= event(denial.at) || is_past(&views[state.at].conclusion.content);
            let adverbial = tail
                .first()
                .is_none_or(|w| ADVERBIAL.contains(w.as_str()) || matches!(w.as_str(), "to" | "all" | "daily"));
            head == denial.rest
                && state.experience == denial.experience
                && if denial.experience { past } else { adverbial }
        });
        let relatives = kin
            .iter()
            .filter(|(_, word)| denial.verb == "has" && denial.rest == [word.as_str()])
            .map(|(at, _)| *at);
        let newest = against
            .map(|s| s.at)
            .chain(relatives)
            .max_by_key(|at| order(views[*at].conclusion));
        pairs.extend(newest.map(|at| (at, denial.at)));
    }
    // Of several denials that one statement contradicts, the newest.
    pairs.sort_by_key(|(at, denial)| (*at, order(views[*denial].conclusion)));
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, denial) in pairs {
        last.insert(at, denial);
    }
    last.into_iter().collect()
}

/// "maya's sister lives in Bonn": what "has no siblings" denies.
fn one_of_kin(peer: &str, content: &str) -> Option<String> {
    let owned = content.strip_prefix(peer)?.strip_prefix("'s ")?;
    let found = tokens(owned);
    let gone = found
        .iter()
        .any(|t| matches!(t.lower.as_str(), "died" | "late" | "passed"));
    match found.first()?.lower.as_str() {
        "brother" | "sister" | "brothers" | "sisters" if !gone => Some("siblings".into()),
        "son" | "daughter" | "kids" | "sons" | "daughters" if !gone => Some("children".into()),
        _ => None,
    }
}

/// Whether the statement speaks of an earlier time than when it was made.
fn is_past(content: &str) -> bool {
    let found = tokens(content);
    let words: Vec<&str> = found.iter().map(|t| t.lower.as_str()).collect();
    let year =
        |w: &str| w.len() == 4 && (w.starts_with("19") || w.starts_with("20")) && w.bytes().all(|b| b.is_ascii_digit());
    words.contains(&"ago")
        || words.windows(2).any(|w| {
            matches!(
                w,
                ["last", "year" | "job" | "summer" | "winter"] | ["they", "were" | "was"]
            ) || (w[0] == "in" && year(w[1]))
        })
        || words
            .windows(3)
            .any(|w| w[0] == "for" && matches!(w[2], "years" | "months"))
}

/// The states of a statement in a form that their denial shares.
fn states(at: usize, peer: &str, content: &str) -> Vec<State> {
    let Some(rest) = content.strip_prefix(peer).and_then(|rest| rest.strip_prefix(' ')) else {
        return Vec::new();
    };
    let words: Vec<String> = tokens(rest)
        .iter()
        .filter(|t| t.is_word())
        .map(|t| t.lower.clone())
        .filter(|w| !matches!(w.as_str(), "any" | "a" | "an" | "the" | "really" | "ever" | "anymore"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let state = |verb: &str, rest: &[&str], denied: bool, experience: bool| State {
        at,
        verb: verb.to_owned(),
        rest: same::key(&rest.join(" "))
            .split(' ')
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect(),
        denied,
        experience,
    };
    let mut found = Vec::new();
    match words.as_slice() {
        ["has" | "have", "never", verb, rest @ ..] => {
            let end = rest
                .iter()
                .position(|w| matches!(*w, "or" | "and" | "in" | "before" | "at" | "until" | "for"));
            let rest = &rest[..end.unwrap_or(rest.len())];
            let (verb, rest) = experienced(verb, rest);
            found.extend((!rest.is_empty() || verb != "be").then(|| state(&verb, rest, true, true)));
            return found;
        }
        ["has" | "have", verb, rest @ ..] if *verb == "been" || super::verb::is_unchanging(verb) => {
            let (verb, rest) = experienced(verb, rest);
            found.push(state(&verb, rest, false, true));
        }
        [verb, rest @ ..] if super::verb::is_unchanging(verb) && !verb.ends_with("n't") => {
            let (verb, rest) = experienced(verb, rest);
            found.push(state(&verb, rest, false, true));
        }
        _ => {}
    }
    let (verb, rest, denied) = match words.as_slice() {
        ["does", "not", verb, rest @ ..] | ["doesn't", verb, rest @ ..] => {
            (super::verb::third_person(verb, false), rest, true)
        }
        ["has", "no", rest @ ..] => ("has".to_owned(), rest, true),
        ["never", verb, rest @ ..] | ["no", "longer", verb, rest @ ..] => ((*verb).to_owned(), rest, true),
        ["cannot" | "can't", rest @ ..] | ["can", "not", rest @ ..] => ("can".to_owned(), rest, true),
        ["is", "not", "allergic", rest @ ..] => ("allergic".to_owned(), rest, true),
        ["is", "allergic", rest @ ..] => ("allergic".to_owned(), rest, false),
        [verb, rest @ ..] => ((*verb).to_owned(), rest, false),
        [] => return found,
    };
    let counted = rest.iter().any(|w| w.chars().any(char::is_numeric));
    let lasting = LASTING.contains(&verb.as_str()) || verb == "allergic";
    let alone = matches!(verb.as_str(), "drives" | "smokes" | "cooks" | "swims");
    if lasting && (!rest.is_empty() || alone) && !counted {
        found.push(state(&verb, rest, denied, false));
    }
    found
}

/// A participle or a past form and what it governs, in one form: "been to Japan", "went to Japan" and "visited Japan"
/// are the same experience.
fn experienced<'a, 'b>(verb: &str, rest: &'a [&'b str]) -> (String, &'a [&'b str]) {
    let place = match (verb, rest) {
        ("been" | "went" | "gone" | "travelled" | "traveled" | "moved", ["to", place @ ..]) | ("visited", place) => {
            Some(place)
        }
        _ => None,
    };
    if let Some(place) = place {
        return ("be".into(), place);
    }
    let base = match verb {
        "been" => "be",
        "flown" | "flew" => "fly",
        "written" | "wrote" => "write",
        "driven" | "drove" => "drive",
        "ridden" | "rode" => "ride",
        "eaten" | "ate" => "eat",
        "seen" | "saw" => "see",
        "taken" | "took" => "take",
        "done" | "did" => "do",
        "given" | "gave" => "give",
        "swum" | "swam" => "swim",
        "run" | "ran" => "run",
        "worn" | "wore" => "wear",
        "spoken" | "spoke" => "speak",
        _ => return (super::lexicon::stem(verb), rest),
    };
    (base.into(), rest)
}
