//! Steps: what fits into one transaction.

use super::{Desk, Step};
use crate::conclusion::Conclusion;
use crate::run::{Change, Strength};

/// How many conclusions one step may touch (`design.md` section 6).
pub const MAX_STEP_CONCLUSIONS: usize = 20;
/// How many bytes the conclusions and change records of one step may have (`design.md` section 6: 3 MB).
pub const MAX_STEP_BYTES: usize = 3_000_000;

/// A generous allowance for the attributes of fixed size of one conclusion and its change record.
const FIXED_BYTES: usize = 1_000;
/// An id, and what encloses it.
const ID_BYTES: usize = 40;
/// A message's number, and what encloses it.
const SEQ_BYTES: usize = 12;

/// Packs changes into as few steps as their order allows. A unit stays together; inside a step, what is written comes
/// before what is removed.
///
/// Every change touches another conclusion, and no unit may be larger than a step.
pub(crate) fn pack(units: impl IntoIterator<Item = Vec<Change>>, desk: &Desk) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut touched, mut bytes) = (0, 0);
    for unit in units {
        let count = unit.iter().filter(|c| !matches!(c, Change::Card { .. })).count();
        let size = unit.iter().map(|change| weight(change, desk)).sum::<usize>();
        let room = touched + count <= MAX_STEP_CONCLUSIONS && bytes + size <= MAX_STEP_BYTES;
        if let Some(step) = steps.last_mut().filter(|_| room) {
            step.changes.extend(unit);
            (touched, bytes) = (touched + count, bytes + size);
        } else {
            steps.push(Step { changes: unit });
            (touched, bytes) = (count, size);
        }
    }
    for step in &mut steps {
        step.changes
            .sort_by_key(|change| matches!(change, Change::Removed { .. }));
    }
    steps
}

/// The bytes that a change writes or moves: the conclusion itself is counted for a reinforcement too, since its item
/// is written again.
pub(super) fn weight(change: &Change, desk: &Desk) -> usize {
    match change {
        Change::Created { conclusion } | Change::Removed { conclusion, .. } => conclusion_weight(conclusion),
        Change::Reinforced { id, before, after } => {
            desk.get(id).map_or(0, conclusion_weight) + strength_weight(before) + strength_weight(after)
        }
        Change::Card { before, after } => before
            .iter()
            .chain(after)
            .flatten()
            .map(|entry| entry.text.len() + ID_BYTES * entry.conclusions.len())
            .sum(),
    }
}

fn conclusion_weight(conclusion: &Conclusion) -> usize {
    let vector = conclusion.embedding.as_ref().map_or(0, |e| e.components.len());
    FIXED_BYTES + conclusion.content.len() + vector + strength_weight(&Strength::of(conclusion))
}

fn strength_weight(strength: &Strength) -> usize {
    let support: usize = strength
        .support
        .iter()
        .map(|s| ID_BYTES + SEQ_BYTES * s.messages.len())
        .sum();
    ID_BYTES * strength.sources.len() + support
}
