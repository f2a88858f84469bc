//! What holds for every operation on every desk.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::fixture::{any_desk, any_draft, any_limits, carry_out, place};
use super::{Desk, MAX_STEP_BYTES, MAX_STEP_CONCLUSIONS, Step, plan};
use crate::conclusion::Level;
use crate::id::ConclusionId;
use crate::run::{Change, Strength};
use crate::text::normalise;

/// Applies a step and checks every rule that can be seen from outside.
fn apply_checked(desk: &mut Desk, step: &Step) -> Result<(), TestCaseError> {
    let start = desk.clone();
    let (mut touched, mut bytes, mut removing) = (BTreeSet::<ConclusionId>::new(), 0, false);
    for change in &step.changes {
        match change {
            Change::Created { conclusion } => {
                prop_assert!(!removing, "a write after a removal");
                prop_assert!(desk.get(&conclusion.id).is_none());
                prop_assert!(conclusion.level != Level::Explicit);
                let sources: BTreeSet<_> = conclusion.sources.iter().collect();
                prop_assert_eq!(sources.len(), conclusion.sources.len());
                prop_assert!(sources.len() >= conclusion.level.min_sources());
                prop_assert!(sources.iter().all(|id| start.get(id).is_some()));
                let latest = sources.iter().filter_map(|id| start.get(id)).map(|c| c.event_at).max();
                prop_assert_eq!(Some(conclusion.event_at), latest);
                let twin = start
                    .conclusions()
                    .values()
                    .find(|c| c.level == conclusion.level && normalise(&c.content) == normalise(&conclusion.content));
                prop_assert!(twin.is_none(), "created although it was there");
                touched.insert(conclusion.id.clone());
                bytes += conclusion.content.len();
            }
            Change::Removed {
                conclusion,
                replaced_by,
                ..
            } => {
                removing = true;
                prop_assert_eq!(desk.get(&conclusion.id), Some(conclusion), "removed as it read");
                if let Some(replacement) = replaced_by {
                    prop_assert!(replacement != &conclusion.id && desk.get(replacement).is_some());
                }
                touched.insert(conclusion.id.clone());
                bytes += conclusion.content.len();
            }
            Change::Reinforced { id, before, after } => {
                prop_assert!(!removing, "a write after a removal");
                prop_assert_eq!(desk.get(id).map(Strength::of), Some(before.clone()));
                prop_assert!(after.times_derived > before.times_derived && after.event_at >= before.event_at);
                prop_assert!(before.sources.iter().all(|source| after.sources.contains(source)));
                prop_assert!(
                    before.sources.contains(id) || !after.sources.contains(id),
                    "its own source"
                );
                touched.insert(id.clone());
            }
            Change::Card { before, after } => {
                prop_assert_eq!(before, &desk.card);
                prop_assert!(before != after && after.as_ref().is_some_and(|card| !card.is_empty()));
            }
        }
        desk.apply(change);
    }
    prop_assert!(!step.changes.is_empty());
    prop_assert!(touched.len() <= MAX_STEP_CONCLUSIONS && bytes <= MAX_STEP_BYTES);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_run_keeps_every_rule(desk in any_desk(), limits in any_limits(), drafts in vec(any_draft(), 1..6)) {
        let mut desk = desk;
        let total = u32::try_from(desk.conclusions().len()).unwrap_or(u32::MAX);
        let mut unreplaced = 0_u32;
        for (call, draft) in (0..).zip(&drafts) {
            let mut place = place(1);
            place.call = call;
            for step in plan(&draft.on(&desk), &desk, &limits, &place).unwrap_or_default() {
                apply_checked(&mut desk, &step)?;
                for change in &step.changes {
                    unreplaced += u32::from(matches!(change, Change::Removed { replaced_by: None, .. }));
                }
            }
        }
        prop_assert_eq!(desk.removed_unreplaced, u64::from(unreplaced));
        let bound = limits.shrink * f64::from(total) + 1e-6;
        prop_assert!(f64::from(unreplaced) <= bound);
        let rebuilt = Desk::new(desk.conclusions().values().cloned());
        prop_assert_eq!(rebuilt.texts, desk.texts, "the index is in step");
    }

    #[test]
    fn an_operation_that_was_carried_out_changes_nothing_more(
        desk in any_desk(),
        limits in any_limits(),
        draft in any_draft(),
    ) {
        let mut desk = desk;
        let operation = draft.on(&desk);
        carry_out(&mut desk, &operation, &limits, &place(1));
        prop_assert_eq!(carry_out(&mut desk, &operation, &limits, &place(1)), []);
        // Nor does the same thought in a later run.
        prop_assert_eq!(carry_out(&mut desk, &operation, &limits, &place(2)), []);
    }

    #[test]
    fn an_operation_that_was_cut_short_is_completed_by_planning_it_again(
        desk in any_desk(),
        draft in any_draft(),
        done in 0..3_usize,
    ) {
        let limits = super::fixture::LIMITS;
        let operation = draft.on(&desk);
        let (mut whole, mut cut) = (desk.clone(), desk.clone());
        carry_out(&mut whole, &operation, &limits, &place(1));
        for step in plan(&operation, &desk, &limits, &place(1)).unwrap_or_default().iter().take(done) {
            cut.apply_step(step);
        }
        carry_out(&mut cut, &operation, &limits, &place(1));
        prop_assert_eq!(cut, whole);
    }
}
