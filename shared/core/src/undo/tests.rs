//! One example per rule of undo, and what holds for every sequence of runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::conclusion::Level;
use crate::run::RemovalReason::Superseded;
use crate::toolbox::fixture::{
    Draft, LIMITS, any_desk, any_draft, carry_out, create, derived, entry, explicit, explicit_in, id, merge, place,
    remove,
};
use crate::toolbox::{MAX_STEP_CONCLUSIONS, Operation};

fn desk() -> Desk {
    Desk::new([
        explicit(1, "Maya works at Acme"),
        explicit(2, "Maya works at Qualcomm"),
        explicit_in(2, 3, "Maya lives in Lima"),
        explicit_in(3, 4, "Maya lives in Lima"),
    ])
}

/// Carries operations out as one run, and gives its record.
fn run(desk: &mut Desk, number: u32, operations: &[Operation]) -> Vec<Change> {
    let mut record = Vec::new();
    for (call, operation) in (0..).zip(operations) {
        let mut place = place(number);
        place.call = call;
        record.extend(carry_out(desk, operation, &LIMITS, &place));
    }
    record
}

/// Carries an undo out, and gives its changes and its conflicts.
fn undo(desk: &mut Desk, number: u32, record: &[Change]) -> (Vec<Change>, Vec<Conflict>) {
    let plan = plan(record, place(number).at, desk);
    for step in &plan.steps {
        desk.apply_step(step);
    }
    let changes = plan.steps.into_iter().flat_map(|step| step.changes).collect();
    (changes, plan.conflicts)
}

fn holds_the_same(a: &Desk, b: &Desk) -> bool {
    a.conclusions() == b.conclusions() && a.card == b.card
}

fn reasons(conflicts: &[Conflict]) -> Vec<(Option<&ConclusionId>, &str)> {
    conflicts
        .iter()
        .map(|c| (c.conclusion.as_ref(), c.reason.as_str()))
        .collect()
}

fn set_card(text: &str) -> Operation {
    Operation::Card {
        entries: vec![entry(text, &[2])],
    }
}

#[test]
fn report_22_undo_restores_all_that_a_dream_removed() {
    let mut now = Desk::new((0..30).map(|n| explicit(n, &format!("fact {n}"))));
    let start = now.clone();
    let record = run(&mut now, 1, &[remove(0..15, None), remove(15..29, Some(29))]);
    assert_eq!(record.len(), 29);
    let plan = plan(&record, place(1).at, &now);
    assert!(plan.steps.iter().all(|step| step.changes.len() <= MAX_STEP_CONCLUSIONS));
    assert_eq!(undo(&mut now, 1, &record).1, []);
    assert!(holds_the_same(&now, &start));
}

#[test]
fn undo_takes_back_every_kind_of_change_once() {
    let mut now = desk();
    let start = now.clone();
    let operations = [
        create(Level::Deductive, "Maya left Acme", &[2], &[(1, Superseded)]),
        merge(3, [4]),
        set_card("IDENTITY: Maya"),
    ];
    let record = run(&mut now, 1, &operations);
    assert_eq!(record.len(), 5);
    assert_eq!(undo(&mut now, 1, &record).1, []);
    assert!(holds_the_same(&now, &start));
    assert_eq!(
        undo(&mut now, 1, &record),
        (vec![], vec![]),
        "a second time changes nothing"
    );
}

#[test]
fn an_undo_can_be_undone() {
    let mut now = desk();
    let record = run(&mut now, 1, &[merge(3, [4]), set_card("IDENTITY: Maya")]);
    let dreamt = now.clone();
    let back = undo(&mut now, 1, &record).0;
    assert_eq!(undo(&mut now, 2, &back).1, []);
    assert!(holds_the_same(&now, &dreamt));
}

#[test]
fn several_changes_to_one_conclusion_are_taken_back_together() {
    let mut now = desk();
    now.apply(&Change::Created {
        conclusion: derived(5, Level::Deductive, "Maya moves", &[1]),
    });
    let start = now.clone();
    let made = |call: u32| {
        let place = place(1);
        let seed = [place.run.as_str(), "0", &call.to_string()];
        ConclusionId::new(&place.run.representation(), place.at, &seed)
    };
    let gone = Operation::Remove {
        ids: vec![made(2)],
        reason: Superseded,
        replaced_by: Some(id(2)),
    };
    let operations = [
        create(Level::Deductive, "Maya moves", &[2], &[]),
        create(Level::Deductive, "Maya moves", &[3], &[]),
        create(Level::Deductive, "Maya travels", &[1], &[]),
        create(Level::Deductive, "Maya travels", &[2], &[]),
        gone,
        set_card("IDENTITY: Maya"),
        set_card("IDENTITY: Maya Quispe"),
        remove([5], Some(1)),
    ];
    let record = run(&mut now, 1, &operations);
    assert_eq!(
        record.len(),
        8,
        "twice reinforced, then removed; created, reinforced and removed; the card twice"
    );
    let (changes, conflicts) = undo(&mut now, 1, &record);
    assert_eq!((changes.len(), conflicts), (2, vec![]), "one conclusion and the card");
    assert!(holds_the_same(&now, &start));
}

#[test]
fn what_a_run_left_as_it_was_is_nothing_to_undo() {
    let mut now = desk();
    let conclusion = now.get(&id(1)).unwrap().clone();
    let record = [removal(&conclusion), Change::Created { conclusion }];
    run(&mut now, 2, &[remove([1], Some(2))]);
    assert_eq!(undo(&mut now, 1, &record), (vec![], vec![]));
}

#[test]
fn what_was_reinforced_since_stays() {
    let mut now = desk();
    let record = run(
        &mut now,
        1,
        &[create(Level::Deductive, "Maya moves", &[1], &[]), merge(3, [4])],
    );
    let Change::Created { conclusion: made } = &record[0] else {
        panic!("not created");
    };
    run(&mut now, 2, &[create(Level::Deductive, "Maya moves", &[2], &[])]);
    // The deriver heard it once more.
    let mut heard = now.get(&id(3)).unwrap().clone();
    heard.times_derived += 1;
    now.apply(&Change::Created { conclusion: heard });
    let (changes, conflicts) = undo(&mut now, 1, &record);
    let expected = [
        (Some(&id(3)), "it was changed since"),
        (Some(&made.id), "it was changed since"),
    ];
    assert_eq!(reasons(&conflicts), expected);
    assert!(matches!(&changes[..], [Change::Created { conclusion }] if conclusion.id == id(4)));
}

#[test]
fn what_is_gone_since_needs_no_removal_but_cannot_be_weakened() {
    let mut now = desk();
    let record = run(
        &mut now,
        1,
        &[create(Level::Deductive, "Maya moves", &[1], &[]), merge(3, [4])],
    );
    let erase = |now: &mut Desk, id: &ConclusionId| {
        let conclusion = now.get(id).unwrap().clone();
        now.apply(&removal(&conclusion));
    };
    let Change::Created { conclusion: made } = &record[0] else {
        panic!("not created");
    };
    erase(&mut now, &made.id);
    erase(&mut now, &id(3));
    let (_, conflicts) = undo(&mut now, 1, &record);
    assert_eq!(reasons(&conflicts), [(Some(&id(3)), "it was removed since")]);
}

#[test]
fn an_equal_conclusion_made_since_is_a_conflict() {
    let mut now = desk();
    let record = run(&mut now, 1, &[remove([1, 3], Some(2))]);
    let later = |place: u32, n: u32, text: &str| Change::Created {
        conclusion: explicit_in(place, n, text),
    };
    now.apply(&later(1, 20_000, "maya works  at ACME"));
    now.apply(&later(7, 20_001, "Maya lives in Lima"));
    let (changes, conflicts) = undo(&mut now, 1, &record);
    assert_eq!(
        reasons(&conflicts),
        [(Some(&id(1)), "an equal conclusion was made since")]
    );
    assert_eq!(changes.len(), 1, "one of another session is none: {changes:?}");
}

#[test]
fn an_equal_conclusion_that_stood_beside_it_before_the_run_is_no_conflict() {
    let mut now = Desk::new([1, 2, 3].map(|n| explicit(n, "Maya likes tea")));
    let start = now.clone();
    let record = run(&mut now, 1, &[merge(1, [2]), remove([3], None)]);
    assert_eq!(undo(&mut now, 1, &record).1, []);
    assert!(holds_the_same(&now, &start));
}

#[test]
fn what_makes_room_for_a_restored_equal_goes_in_the_same_step() {
    let mut now = Desk::new((1..60).map(|n| match n {
        59 => derived(n, Level::Deductive, "Maya moves", &[1]),
        n => explicit(n, &format!("fact {n}")),
    }));
    let start = now.clone();
    let operations = [
        remove([59], Some(1)),
        create(Level::Deductive, "maya MOVES", &[1], &[]),
        // So many that the pair would straddle the end of the first step.
        remove(2..21, Some(1)),
    ];
    let record = run(&mut now, 1, &operations);
    let plan = plan(&record, place(1).at, &now);
    assert_eq!(plan.conflicts, []);
    let both = |step: &Step| {
        let (mut restored, mut removed) = (false, false);
        for change in &step.changes {
            match change {
                Change::Created { conclusion } if conclusion.id == id(59) => restored = true,
                Change::Removed { .. } => removed = true,
                _ => assert!(!removed, "restored before removed"),
            }
        }
        restored && removed
    };
    assert_eq!(plan.steps.iter().filter(|step| both(step)).count(), 1);
    undo(&mut now, 1, &record);
    assert!(holds_the_same(&now, &start));
}

#[test]
fn an_erased_text_is_not_restored() {
    let mut now = desk();
    let record = run(&mut now, 1, &[merge(3, [4])]);
    let stone = tombstone(&now.tombstone_key, "maya lives in lima");
    now.tombstones.insert(stone.clone(), place(2).at);
    assert_eq!(
        reasons(&plan(&record, place(1).at, &now).conflicts),
        [(Some(&id(4)), "its text was erased")]
    );
    now.tombstones.insert(stone, Time::from_seconds(3));
    assert_eq!(
        plan(&record, place(1).at, &now).conflicts,
        [],
        "it was heard after an earlier erasure"
    );
}

#[test]
fn a_card_that_was_changed_since_stays() {
    let mut now = desk();
    let record = run(&mut now, 1, &[set_card("IDENTITY: Maya")]);
    let dreamt = now.card.replace(vec![entry("IDENTITY: May", &[])]);
    assert_eq!(undo(&mut now, 1, &record).0, []);
    assert_eq!(
        reasons(&plan(&record, place(1).at, &now).conflicts),
        [(None, "the card was changed since")]
    );
    now.card = dreamt;
    assert_eq!(undo(&mut now, 1, &record).1, []);
    assert_eq!(now.card, None, "there was none before");
}

fn any_runs() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    vec(vec(any_draft(), 0..6), 1..5)
}

/// Carries drafts out as one run, each on the desk as it then is.
fn dream(desk: &mut Desk, number: u32, drafts: &[Draft]) -> Vec<Change> {
    desk.removed_unreplaced = 0;
    desk.total_at_claim = desk.conclusions().len() as u64;
    let mut record = Vec::new();
    for (call, draft) in (0..).zip(drafts) {
        let mut place = place(number);
        place.call = call;
        record.extend(carry_out(desk, &draft.on(desk), &LIMITS, &place));
    }
    record
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn undoing_every_run_newest_first_restores_everything(desk in any_desk(), runs in any_runs()) {
        let mut desk = desk;
        let mut past = Vec::new();
        for (number, drafts) in (1..).zip(&runs) {
            let before = desk.clone();
            past.push((number, before, dream(&mut desk, number, drafts)));
        }
        for (number, before, record) in past.iter().rev() {
            let (_, conflicts) = undo(&mut desk, *number, record);
            prop_assert_eq!(conflicts, []);
            prop_assert!(holds_the_same(&desk, before));
            prop_assert_eq!(undo(&mut desk, *number, record), (vec![], vec![]));
        }
    }

    #[test]
    fn an_undo_that_was_cut_short_is_completed_by_planning_it_again(
        desk in any_desk(),
        drafts in vec(any_draft(), 1..6),
        done in 0..3_usize,
    ) {
        let mut now = desk.clone();
        let record = dream(&mut now, 1, &drafts);
        let whole = plan(&record, place(1).at, &now);
        for step in whole.steps.iter().take(done) {
            prop_assert!(step.changes.len() <= MAX_STEP_CONCLUSIONS + 1, "the card is no conclusion");
            let removals_last = step.changes.is_sorted_by_key(|change| matches!(change, Change::Removed { .. }));
            prop_assert!(removals_last);
            now.apply_step(step);
        }
        prop_assert_eq!(undo(&mut now, 1, &record).1, []);
        prop_assert!(holds_the_same(&now, &desk));
    }

    #[test]
    fn undoing_an_older_run_spares_what_a_newer_one_made(
        desk in any_desk(),
        older in vec(any_draft(), 1..6),
        newer in vec(any_draft(), 1..6),
    ) {
        let mut desk = desk;
        let old_record = dream(&mut desk, 1, &older);
        let between = desk.clone();
        let new_record = dream(&mut desk, 2, &newer);
        let now = desk.clone();
        let (_, conflicts) = undo(&mut desk, 1, &old_record);
        for change in &new_record {
            let touched = match change {
                Change::Created { conclusion } => &conclusion.id,
                Change::Reinforced { id, .. } => id,
                Change::Removed { .. } | Change::Card { .. } => continue,
            };
            prop_assert_eq!(desk.get(touched), now.get(touched), "made or reinforced by the newer run");
        }
        if now.card != between.card {
            prop_assert_eq!(&desk.card, &now.card);
        }
        for change in &old_record {
            let (id, undone) = match change {
                Change::Created { conclusion } => (&conclusion.id, desk.get(&conclusion.id).is_none()),
                Change::Removed { conclusion, .. } => {
                    let own = old_record
                        .iter()
                        .any(|c| matches!(c, Change::Created { conclusion: made } if made.id == conclusion.id));
                    (&conclusion.id, own || desk.get(&conclusion.id).is_some())
                }
                Change::Reinforced { .. } | Change::Card { .. } => continue,
            };
            let listed = conflicts.iter().any(|c| c.conclusion.as_ref() == Some(id));
            prop_assert!(undone != listed, "undone or listed: {id}");
        }
        let again = undo(&mut desk, 1, &old_record);
        prop_assert_eq!(again, (vec![], conflicts), "a second time changes nothing and lists the same");
    }
}
