//! Conflicts that cannot be resolved: stated, with both sides as sources; nothing is deleted.

use std::collections::{BTreeMap, HashSet};

use super::deduce::View;
use super::same;
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

/// The newest statement and the newest denial of the same lasting state: "maya drinks coffee", "maya does not drink
/// coffee". Attitudes are decided elsewhere.
pub(super) fn denials(views: &[View<'_>], gone: &[bool], peer: &str) -> Vec<(usize, usize)> {
    let mut groups: BTreeMap<String, [Option<usize>; 2]> = BTreeMap::new();
    for (at, view) in views.iter().enumerate() {
        let skip = gone[at] || view.conclusion.level != Level::Explicit || view.attitude.is_some();
        if skip {
            continue;
        }
        if let Some((key, denied)) = lasting_state(peer, &view.conclusion.content) {
            let slot = &mut groups.entry(key).or_default()[usize::from(denied)];
            if slot.is_none_or(|other| order(views[other].conclusion) < order(view.conclusion)) {
                *slot = Some(at);
            }
        }
    }
    groups
        .into_values()
        .filter_map(|[stated, denied]| stated.zip(denied))
        .collect()
}

/// A lasting state in a form that its denial shares, and whether it is denied.
fn lasting_state(peer: &str, content: &str) -> Option<(String, bool)> {
    let rest = content.strip_prefix(peer)?.strip_prefix(' ')?;
    let words: Vec<String> = tokens(rest)
        .iter()
        .filter(|t| t.is_word())
        .map(|t| t.lower.clone())
        .filter(|w| !matches!(w.as_str(), "any" | "a" | "an" | "the" | "really" | "ever" | "anymore"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (verb, rest, denied) = match words.as_slice() {
        ["does", "not", verb, rest @ ..] | ["doesn't", verb, rest @ ..] => {
            (super::verb::third_person(verb, false), rest, true)
        }
        ["never", verb, rest @ ..] => ((*verb).to_owned(), rest, true),
        ["cannot" | "can't", rest @ ..] | ["can", "not", rest @ ..] => ("can".to_owned(), rest, true),
        ["is", "not", "allergic", rest @ ..] => ("allergic".to_owned(), rest, true),
        ["is", "allergic", rest @ ..] => ("allergic".to_owned(), rest, false),
        [verb, rest @ ..] => ((*verb).to_owned(), rest, false),
        [] => return None,
    };
    let counted = rest.iter().any(|w| w.chars().any(char::is_numeric));
    let lasting = LASTING.contains(&verb.as_str()) || verb == "allergic";
    (lasting && !rest.is_empty() && !counted).then(|| (same::key(&format!("{verb} {}", rest.join(" "))), denied))
}
