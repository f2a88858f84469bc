//! One example per rule, but those of the card.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

use super::fixture::{
    LIMITS, carry_out, create, derived, explicit, explicit_in, foreign, id, merge, place, remove, session,
};
use super::*;
use crate::conclusion::{Confidence, Origin};
use crate::id::Seq;
use crate::run::Strength;
use Level::{Contradiction, Deductive, Explicit, Inductive};
use RemovalReason::{Contradicted, Duplicate, Superseded};

fn refused(desk: &Desk, operation: &Operation) -> Rejection {
    plan(operation, desk, &LIMITS, &place(1)).unwrap_err()
}

fn changes(desk: &Desk, operation: &Operation) -> Vec<Change> {
    carry_out(&mut desk.clone(), operation, &LIMITS, &place(1))
}

fn created(desk: &Desk, operation: &Operation) -> Conclusion {
    match changes(desk, operation).swap_remove(0) {
        Change::Created { conclusion } => conclusion,
        other => panic!("not created: {other:?}"),
    }
}

fn reinforced(change: &Change) -> (&ConclusionId, &Strength) {
    match change {
        Change::Reinforced { id, after, .. } => (id, after),
        other => panic!("not reinforced: {other:?}"),
    }
}

fn removed(changes: &[Change]) -> Vec<(&str, RemovalReason, Option<&ConclusionId>)> {
    changes
        .iter()
        .filter_map(|change| match change {
            Change::Removed {
                conclusion,
                reason,
                replaced_by,
            } => Some((conclusion.content.as_str(), *reason, replaced_by.as_ref())),
            _ => None,
        })
        .collect()
}

fn jobs() -> Desk {
    Desk::new([
        explicit(1, "Maya works at Acme"),
        explicit(2, "Maya works at Qualcomm"),
        explicit_in(2, 3, "Maya lives in Lima"),
    ])
}

#[test]
fn h1_the_outdated_goes_and_the_current_is_created_in_one_step() {
    let operation = create(Deductive, "Maya now works at Qualcomm", &[2], &[(1, Superseded)]);
    let steps = plan(&operation, &jobs(), &LIMITS, &place(1)).unwrap();
    assert_eq!(steps.len(), 1);
    let new = created(&jobs(), &operation);
    assert_eq!(
        removed(&steps[0].changes),
        [("Maya works at Acme", Superseded, Some(&new.id))]
    );
    assert!(
        matches!(steps[0].changes[0], Change::Created { .. }),
        "written before removed"
    );
}

#[test]
fn h2_an_implied_conclusion_carries_what_it_follows_from() {
    let new = created(&jobs(), &create(Deductive, "  Maya moved\0 ", &[2, 3], &[]));
    assert_eq!(new.content, "Maya moved");
    assert_eq!(new.sources, [id(2), id(3)]);
    assert_eq!((new.created_at, new.times_derived), (place(1).at, 1));
    assert_eq!(new.origin, Origin::Dream(place(1).run));
    assert_eq!(new.id.representation(), place(1).run.representation());
    let sessions: Vec<_> = new.support.iter().map(|s| (&s.session, s.messages.clone())).collect();
    assert_eq!(
        sessions,
        [(&session(1).uid, vec![Seq(2)]), (&session(2).uid, vec![Seq(3)])]
    );
}

#[test]
fn h3_a_contradiction_rests_on_two() {
    let both = created(&jobs(), &create(Contradiction, "Acme or Qualcomm?", &[1, 2], &[]));
    assert_eq!(both.sources, [id(1), id(2)]);
    let one = create(Contradiction, "Acme or Qualcomm?", &[1], &[]);
    assert_eq!(refused(&jobs(), &one), Rejection::Sources { needed: 2, found: 1 });
}

#[test]
fn h6_a_pattern_needs_two_distinct_sources_that_exist() {
    let pattern = |sources: &[u32]| create(Inductive, "Maya changes jobs", sources, &[]);
    for (sources, found) in [(&[][..], 0), (&[1], 1), (&[1, 1, 1], 1), (&[1, 77], 1)] {
        assert_eq!(
            refused(&jobs(), &pattern(sources)),
            Rejection::Sources { needed: 2, found }
        );
    }
    let new = created(&jobs(), &pattern(&[1, 77, 2, 1, 3]));
    assert_eq!(new.sources, [id(1), id(2), id(3)]);
    assert_eq!(new.confidence(), Some(Confidence::Medium), "computed, not claimed");
}

#[test]
fn a_deduction_needs_a_source_that_exists() {
    let operation = create(Deductive, "Maya moved", &[77], &[]);
    assert_eq!(refused(&jobs(), &operation), Rejection::Sources { needed: 1, found: 0 });
}

#[test]
fn a_dream_states_nothing_explicit() {
    assert_eq!(
        refused(&jobs(), &create(Explicit, "Maya said so", &[1], &[])),
        Rejection::Explicit
    );
}

#[test]
fn content_has_1_to_65535_characters() {
    let of = |content: &str| plan(&create(Deductive, content, &[1], &[]), &jobs(), &LIMITS, &place(1));
    let max = MAX_CONTENT_CHARS;
    assert_eq!(of(" \0\n"), Err(Rejection::Content { chars: 0, max }));
    assert!(of(&format!(" {} ", "ä".repeat(max))).is_ok());
    assert_eq!(
        of(&"ä".repeat(max + 1)),
        Err(Rejection::Content { chars: max + 1, max })
    );
}

#[test]
fn a_place_is_good_for_one_operation() {
    let mut desk = jobs();
    carry_out(
        &mut desk,
        &create(Deductive, "Maya moved", &[1], &[]),
        &LIMITS,
        &place(1),
    );
    let other = create(Deductive, "Maya stayed", &[1], &[]);
    assert!(matches!(refused(&desk, &other), Rejection::Taken(_)));
}

#[test]
fn h22_a_near_duplicate_names_what_stays_and_lends_it_its_support() {
    let mut desk = Desk::new([explicit(1, "Maya likes tea"), explicit_in(2, 2, "Maya likes tea a lot")]);
    let changes = carry_out(&mut desk, &merge(1, [2, 2, 77]), &LIMITS, &place(1));
    assert_eq!(removed(&changes), [("Maya likes tea a lot", Duplicate, Some(&id(1)))]);
    let (kept, strength) = reinforced(&changes[0]);
    assert_eq!((kept, strength.times_derived), (&id(1), 2));
    assert_eq!(strength.support.len(), 2, "both sessions");
    assert_eq!(strength.event_at, Time::from_seconds(2), "said again later");
}

#[test]
fn only_conclusions_of_one_level_are_merged_and_none_with_itself() {
    let desk = Desk::new([explicit(1, "a"), derived(2, Deductive, "a", &[1])]);
    assert_eq!(refused(&desk, &merge(1, [2])), Rejection::Level(id(2).to_string()));
    assert_eq!(refused(&desk, &merge(1, [2, 1])), Rejection::Itself(id(1).to_string()));
    assert_eq!(refused(&desk, &merge(77, [1])), Rejection::Unknown(id(77).to_string()));
    assert_eq!(refused(&desk, &merge(1, [77])), Rejection::Unknown(id(77).to_string()));
}

#[test]
fn what_stays_never_becomes_its_own_source() {
    let desk = Desk::new([
        explicit(1, "a"),
        derived(2, Deductive, "b", &[1]),
        derived(3, Deductive, "b indeed", &[1, 2]),
    ]);
    let merged = changes(&desk, &merge(2, [3]));
    assert_eq!(reinforced(&merged[0]).1.sources, [id(1)]);
    let restated = create(Deductive, "b", &[2], &[]);
    assert_eq!(refused(&desk, &restated), Rejection::Sources { needed: 1, found: 0 });
}

#[test]
fn nothing_replaces_itself() {
    let desk = Desk::new([explicit(1, "a"), derived(2, Deductive, "b", &[1])]);
    let itself = Rejection::Itself(id(2).to_string());
    assert_eq!(refused(&desk, &remove([1, 2], Some(2))), itself);
    assert_eq!(
        refused(&desk, &create(Deductive, "B", &[1], &[(2, Superseded)])),
        itself
    );
    assert_eq!(
        refused(&desk, &remove([1], Some(77))),
        Rejection::Unknown(id(77).to_string())
    );
}

#[test]
fn report_08_a_refused_creation_removes_nothing() {
    let junk = create(Deductive, "Maya moved", &[], &[(1, Superseded), (2, Superseded)]);
    assert!(plan(&junk, &jobs(), &LIMITS, &place(1)).is_err());
}

#[test]
fn report_10_the_same_in_five_sessions_becomes_one_with_five_sources() {
    let mut desk = Desk::new((1..=5).map(|n| explicit_in(n, n, "Maya likes tea")));
    carry_out(&mut desk, &merge(1, 2..=5), &LIMITS, &place(1));
    let left: Vec<_> = desk.conclusions().values().collect();
    assert_eq!((left.len(), left[0].times_derived, left[0].support.len()), (1, 5, 5));
}

#[test]
fn report_11_what_is_derived_is_as_recent_as_its_latest_source() {
    let mut desk = jobs();
    let new = created(&desk, &create(Deductive, "Maya moved", &[2, 1], &[]));
    assert_eq!(new.event_at, Time::from_seconds(2));
    carry_out(
        &mut desk,
        &create(Deductive, "Maya moved", &[2, 1], &[]),
        &LIMITS,
        &place(1),
    );
    carry_out(
        &mut desk,
        &create(Deductive, "Maya moved", &[3], &[]),
        &LIMITS,
        &place(2),
    );
    assert_eq!(
        desk.get(&new.id).unwrap().event_at,
        Time::from_seconds(3),
        "also of a later one"
    );
}

#[test]
fn report_16_a_contradicted_conclusion_goes_with_the_new_one_present() {
    let desk = Desk::new([
        explicit(1, "Maya loves Chinese food"),
        explicit(2, "Maya hates Chinese food"),
    ]);
    let operation = Operation::Remove {
        ids: vec![id(1)],
        reason: Contradicted,
        replaced_by: Some(id(2)),
    };
    assert_eq!(
        removed(&changes(&desk, &operation)),
        [("Maya loves Chinese food", Contradicted, Some(&id(2)))]
    );
}

#[test]
fn report_21_a_known_text_is_reinforced_not_repeated() {
    let mut desk = jobs();
    let first = created(&desk, &create(Deductive, "Maya moved", &[1], &[]));
    carry_out(
        &mut desk,
        &create(Deductive, "Maya moved", &[1], &[]),
        &LIMITS,
        &place(1),
    );
    assert_eq!(
        changes(&desk, &create(Deductive, " maya  MOVED", &[1], &[])),
        [],
        "nothing new"
    );

    let again = create(Deductive, "maya moved", &[1, 2], &[(3, Superseded)]);
    let changes = carry_out(&mut desk, &again, &LIMITS, &place(2));
    let (which, strength) = reinforced(&changes[0]);
    assert_eq!((which, strength.times_derived), (&first.id, 2));
    assert_eq!(strength.sources, [id(1), id(2)]);
    assert_eq!(removed(&changes), [("Maya lives in Lima", Superseded, Some(&first.id))]);

    let known = create(Deductive, "maya moved", &[1, 2], &[(1, Superseded)]);
    let changes = carry_out(&mut desk, &known, &LIMITS, &place(3));
    assert_eq!(changes.len(), 1, "adds nothing, but removes: {changes:?}");
    assert_eq!(removed(&changes), [("Maya works at Acme", Superseded, Some(&first.id))]);
}

#[test]
fn report_23_a_conclusion_of_another_representation_is_neither_read_nor_touched() {
    let foreign = vec![foreign()];
    let from_it = Operation::Create {
        level: Deductive,
        content: "Maya moved".to_owned(),
        sources: foreign.clone(),
        pattern: None,
        replaces: vec![],
    };
    assert!(matches!(refused(&jobs(), &from_it), Rejection::Sources { .. }));
    let gone = Operation::Remove {
        ids: foreign.clone(),
        reason: Superseded,
        replaced_by: Some(id(1)),
    };
    assert_eq!(refused(&jobs(), &gone), Rejection::Unknown(foreign[0].to_string()));
}

#[test]
fn a_run_may_remove_half_without_replacement_and_not_one_more() {
    let mut desk = Desk::new((1..=5).map(|n| explicit(n, &format!("fact {n}"))));
    assert_eq!(refused(&desk, &remove(1..=3, None)), Rejection::Shrink);
    assert_eq!(carry_out(&mut desk, &remove([1], None), &LIMITS, &place(1)).len(), 1);
    assert_eq!(carry_out(&mut desk, &remove([2], None), &LIMITS, &place(1)).len(), 1);
    assert_eq!(refused(&desk, &remove([3], None)), Rejection::Shrink);
    assert_eq!(
        carry_out(&mut desk, &remove([3, 4], Some(5)), &LIMITS, &place(1)).len(),
        2
    );
}

#[test]
fn the_permitted_share_is_rounded_down_after_rounding_errors() {
    let desk = Desk::new((0..100).map(|n| explicit(n, &format!("fact {n}"))));
    let with = |shrink: f64, n: u32| {
        let limits = Limits { shrink, ..LIMITS };
        plan(&remove(0..n, None), &desk, &limits, &place(1)).is_ok()
    };
    assert!(with(0.29, 29) && !with(0.29, 30));
    assert!(with(0.299, 29) && !with(0.299, 30));
    assert!(!with(0.0, 1) && !with(-1.0, 1) && !with(f64::NAN, 1) && with(7.0, 100));
}

#[test]
fn an_erased_text_returns_only_from_what_was_heard_later() {
    let dreamt_later = Conclusion {
        created_at: Time::from_seconds(50),
        ..derived(4, Deductive, "Maya is rich", &[1])
    };
    let mut desk = Desk::new([explicit(1, "a"), explicit(2, "b"), explicit(30, "c"), dreamt_later]);
    desk.tombstone_key = "key".to_owned();
    desk.tombstones
        .insert(tombstone("key", "Maya won the lottery"), Time::from_seconds(10));
    let from = |sources: &[u32]| create(Deductive, "maya won  the LOTTERY", sources, &[]);
    assert_eq!(refused(&desk, &from(&[1, 2])), Rejection::Erased);
    assert_eq!(
        refused(&desk, &from(&[4])),
        Rejection::Erased,
        "a dream's date is no later word"
    );
    assert_eq!(created(&desk, &from(&[1, 30])).sources, [id(1), id(30)]);
    assert_ne!(tombstone("key", "a"), tombstone("other key", "a"));
}

#[test]
fn a_large_merge_becomes_steps_that_each_add_up() {
    let mut desk = Desk::new((0..=50).map(|n| explicit_in(n, n, "Maya likes tea")));
    let steps = plan(&merge(0, 1..=50), &desk, &LIMITS, &place(1)).unwrap();
    let sizes: Vec<_> = steps.iter().map(|step| step.changes.len()).collect();
    assert_eq!(sizes, [20, 20, 13], "the one that stays, and 19, 19 and 12 others");
    for step in &steps {
        desk.apply_step(step);
        let kept = desk.get(&id(0)).unwrap();
        assert_eq!(kept.times_derived as usize, 52 - desk.conclusions().len());
        assert_eq!(kept.support.len(), 52 - desk.conclusions().len());
    }
    assert_eq!(desk.conclusions().len(), 1);
}

#[test]
fn a_large_replacement_creates_first_and_then_removes() {
    let desk = Desk::new((0..40).map(|n| explicit(n, &format!("fact {n}"))));
    let all: Vec<_> = (0..40).map(|n| (n, Superseded)).collect();
    let steps = plan(
        &create(Deductive, "All of it", &[0, 1], &all),
        &desk,
        &LIMITS,
        &place(1),
    )
    .unwrap();
    let sizes: Vec<_> = steps.iter().map(|step| step.changes.len()).collect();
    assert_eq!(sizes, [20, 20, 1]);
    assert!(matches!(steps[0].changes[0], Change::Created { .. }));
}

#[test]
fn a_step_holds_at_most_3_mb() {
    let long = |n: u32| explicit_in(n, n, &format!("{n} {}", "🍵".repeat(65_000)));
    let desk = Desk::new((0..30).map(long));
    let heavy = |step: &Step| -> usize {
        let touched = step.changes.iter().map(|change| match change {
            Change::Removed { conclusion, .. } => &conclusion.id,
            Change::Reinforced { id, .. } => id,
            other => panic!("{other:?}"),
        });
        touched.filter_map(|id| desk.get(id)).map(|c| c.content.len()).sum()
    };
    for operation in [merge(0, 1..30), remove(1..30, Some(0))] {
        let steps = plan(&operation, &desk, &LIMITS, &place(1)).unwrap();
        assert!(
            steps.iter().rev().skip(1).all(|step| heavy(step) > 2_500_000),
            "no smaller than need be"
        );
        assert!(steps.iter().all(|step| heavy(step) <= MAX_STEP_BYTES));
        assert!(steps.len() >= 3);
    }
}
