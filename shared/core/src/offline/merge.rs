//! Duplicates: conclusions of one level that say the same, whichever sessions they come from (reports 10, 13, 21).

use std::collections::HashMap;

use super::deduce::View;
use super::same;
use crate::toolbox::Operation;

/// Merges, and marks what goes in `gone`. Conclusions are grouped by what they must share to say the same, so that the
/// cost is linear in their number.
pub(super) fn duplicates(peer: &str, views: &[View<'_>], gone: &mut [bool]) -> Vec<Operation> {
    let mut places: HashMap<(crate::conclusion::Level, String), usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, view) in views.iter().enumerate() {
        let group = *places
            .entry((view.conclusion.level, same::merge_key(peer, &view.conclusion.content)))
            .or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
        groups[group].push(at);
    }
    let mut operations = Vec::new();
    for group in groups.into_iter().filter(|group| group.len() > 1) {
        let Some(keep) = group
            .iter()
            .copied()
            .max_by(|a, b| rank(&views[*a]).cmp(&rank(&views[*b])))
        else {
            continue;
        };
        let duplicates: Vec<_> = group.into_iter().filter(|at| *at != keep).collect();
        for at in &duplicates {
            gone[*at] = true;
        }
        operations.push(Operation::Merge {
            keep: views[keep].conclusion.id.clone(),
            duplicates: duplicates.iter().map(|at| views[*at].conclusion.id.clone()).collect(),
        });
    }
    operations
}

/// The fuller one stays; of equally full ones the one with the newest event, then the smallest id. Where the event time
/// decides what is current, the newest event comes first: else an older wording would take a newer one's place in time.
fn rank<'a>(view: &'a View<'_>) -> impl Ord + use<'a> {
    let conclusion = view.conclusion;
    let timely = !view.facts.is_empty() || view.attitude.is_some();
    let fullness = conclusion.content.chars().filter(|c| c.is_alphanumeric()).count();
    (
        if timely { conclusion.event_at.micros() } else { 0 },
        fullness,
        conclusion.event_at,
        std::cmp::Reverse(&conclusion.id),
    )
}
