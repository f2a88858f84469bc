//! Merging duplicates into the one that stays, and removing.

use std::collections::BTreeSet;

use super::step::weight;
use super::{Desk, Limits, MAX_STEP_BYTES, MAX_STEP_CONCLUSIONS, Rejection, Step, pack};
use crate::conclusion::{Conclusion, merge_support};
use crate::id::ConclusionId;
use crate::run::{Change, RemovalReason, Strength};

/// Each step takes some of the duplicates away and adds just what these bring to the one that stays.
pub(super) fn merge(keep: &ConclusionId, duplicates: &[ConclusionId], desk: &Desk) -> Result<Vec<Step>, Rejection> {
    if duplicates.contains(keep) {
        return Err(Rejection::Itself(named(keep)));
    }
    let kept = desk.get(keep).ok_or_else(|| Rejection::Unknown(named(keep)))?;
    let duplicates = live(duplicates, desk)?;
    if let Some(other) = duplicates.iter().find(|c| c.level != kept.level) {
        return Err(Rejection::Level(other.id.to_string()));
    }
    let mut steps = Vec::new();
    let mut before = Strength::of(kept);
    let mut after = before.clone();
    let mut removals = Vec::new();
    let mut bytes = 0;
    for duplicate in duplicates {
        let removal = Change::Removed {
            conclusion: duplicate.clone(),
            reason: RemovalReason::Duplicate,
            replaced_by: Some(keep.clone()),
        };
        let with_it = absorb(&after, keep, duplicate);
        let size = weight(&removal, desk);
        let whole = weight(&reinforced(keep, &before, &with_it), desk) + bytes + size;
        let full = removals.len() + 2 > MAX_STEP_CONCLUSIONS || whole > MAX_STEP_BYTES;
        if full && !removals.is_empty() {
            steps.push(merge_step(keep, &before, &after, &mut removals));
            (before, bytes) = (after, 0);
        }
        after = with_it;
        removals.push(removal);
        bytes += size;
    }
    if !removals.is_empty() {
        steps.push(merge_step(keep, &before, &after, &mut removals));
    }
    Ok(steps)
}

fn merge_step(keep: &ConclusionId, before: &Strength, after: &Strength, removals: &mut Vec<Change>) -> Step {
    let mut changes = vec![reinforced(keep, before, after)];
    changes.append(removals);
    Step { changes }
}

fn reinforced(id: &ConclusionId, before: &Strength, after: &Strength) -> Change {
    Change::Reinforced {
        id: id.clone(),
        before: before.clone(),
        after: after.clone(),
    }
}

/// The values of the one that stays once it has taken a duplicate in.
fn absorb(strength: &Strength, keep: &ConclusionId, duplicate: &Conclusion) -> Strength {
    let mut sum = strength.clone();
    sum.times_derived = sum.times_derived.saturating_add(duplicate.times_derived);
    sum.event_at = sum.event_at.max(duplicate.event_at);
    merge_support(&mut sum.support, &duplicate.support);
    for source in &duplicate.sources {
        if source != keep && !sum.sources.contains(source) {
            sum.sources.push(source.clone());
        }
    }
    sum
}

pub(super) fn remove(
    ids: &[ConclusionId],
    reason: RemovalReason,
    replaced_by: Option<&ConclusionId>,
    desk: &Desk,
    limits: &Limits,
) -> Result<Vec<Step>, Rejection> {
    if let Some(replacement) = replaced_by {
        if ids.contains(replacement) {
            return Err(Rejection::Itself(named(replacement)));
        }
        if desk.get(replacement).is_none() {
            return Err(Rejection::Unknown(named(replacement)));
        }
    }
    let removed = live(ids, desk)?;
    if replaced_by.is_none() && desk.removed_unreplaced + removed.len() as u64 > removable(limits, desk) {
        return Err(Rejection::Shrink);
    }
    let units = removed.into_iter().map(|conclusion| {
        vec![Change::Removed {
            conclusion: conclusion.clone(),
            reason,
            replaced_by: replaced_by.cloned(),
        }]
    });
    Ok(pack(units, desk))
}

/// How many conclusions the run may remove in all without naming a replacement, rounded down.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a representation has far fewer than 2^52 conclusions, and a share of them is not negative"
)]
fn removable(limits: &Limits, desk: &Desk) -> u64 {
    let share = limits.shrink.clamp(0.0, 1.0) * desk.total_at_claim as f64;
    // The product may fall a hair short of the whole number that is meant: 0.29 of 100 is 28.999999999999996.
    (share + 1e-9).floor() as u64
}

/// The distinct live conclusions among those named. That some are gone is no fault; that all are is one.
fn live<'a>(ids: &[ConclusionId], desk: &'a Desk) -> Result<Vec<&'a Conclusion>, Rejection> {
    let mut seen = BTreeSet::new();
    let live: Vec<_> = ids
        .iter()
        .filter(|id| seen.insert(*id))
        .filter_map(|id| desk.get(id))
        .collect();
    match ids.first() {
        Some(first) if live.is_empty() => Err(Rejection::Unknown(named(first))),
        _ => Ok(live),
    }
}

/// An id as a refusal names it: what a reasoner makes up may have any length, and ours have 36 characters.
fn named(id: &ConclusionId) -> String {
    id.as_str().chars().take(64).collect()
}
