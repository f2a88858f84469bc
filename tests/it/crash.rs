//! The crash harness: the process dies at every call of an act that has an effect, before it takes effect and after; it
//! is started again, what was in flight comes back, and the end is the same as without the crash. No stored answer is
//! asked for twice (`design.md` section 11). The same for deletions is in `erasure/crashes.rs`, for messages that fail in
//! `ingest/failing.rs`, for requests with a key in `ingest/idempotency.rs`.

use std::collections::BTreeSet;
use std::time::Duration;

use reverie_core::conclusion::{CardEntry, Level, Pattern};
use reverie_core::reasoner::{ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason, Usage};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use crate::rig::{Fault, Rig};

mod acts;

use acts::Act;

pub(crate) const MESSAGES: &[&str] = &[
    "maya works at Intel",
    "maya lives in Porto",
    "maya paints on Sundays",
    "maya paints in the evenings",
    "maya works at Qualcomm",
    "maya owns a violin",
    "maya plays the violin",
];

/// Creates with a replacement, merges, removes, writes the card; then a pattern.
pub(crate) fn think(request: &ThinkRequest<'_>) -> Thought {
    let find = |text: &str| {
        request
            .conclusions
            .iter()
            .find(|c| c.content == text)
            .map(|c| c.id.clone())
    };
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 10,
        ..Usage::default()
    };
    let (Some(new), Some(first), Some(second)) = (
        find("maya works at Qualcomm"),
        find("maya paints on Sundays"),
        find("maya paints in the evenings"),
    ) else {
        return Thought {
            operations: Vec::new(),
            done: true,
            usage,
            ..Thought::default()
        };
    };
    let operations = match (request.phase, request.turn) {
        (Phase::Deduction, 0) => vec![
            Operation::Create {
                level: Level::Deductive,
                content: "maya now works at Qualcomm (formerly Intel)".into(),
                sources: vec![new.clone()],
                pattern: None,
                replaces: find("maya works at Intel")
                    .map(|old| (old, RemovalReason::Superseded))
                    .into_iter()
                    .collect(),
            },
            Operation::Merge {
                keep: find("maya plays the violin").unwrap(),
                duplicates: find("maya owns a violin").into_iter().collect(),
            },
        ],
        (Phase::Deduction, _) => vec![Operation::Card {
            entries: vec![CardEntry {
                text: "IDENTITY: works at Qualcomm".into(),
                conclusions: vec![new],
            }],
        }],
        (Phase::Card, _) => vec![Operation::Card {
            entries: vec![CardEntry {
                text: "IDENTITY: paints".into(),
                conclusions: vec![first],
            }],
        }],
        _ => vec![Operation::Create {
            level: Level::Inductive,
            content: "maya often paints".into(),
            sources: vec![first, second],
            pattern: Some(Pattern::Behavior),
            replaces: Vec::new(),
        }],
    };
    Thought {
        operations,
        done: request.phase != Phase::Deduction || request.turn > 0,
        usage,
        ..Thought::default()
    }
}

/// Whether a call changes anything, or costs something. To die at a read is to die before the next of these.
fn has_effect(call: &str) -> bool {
    !matches!(call, "GetItem" | "BatchGetItem" | "Query")
}

/// Whether an answer is lost when the process dies there: one that was given, and not stored.
fn loses_an_answer(made: &[String], call: usize, fault: Fault) -> bool {
    let asks = |call: usize| matches!(made[call].as_str(), "Derive" | "Think");
    (asks(call) && fault == Fault::DieAfter) || (call > 0 && asks(call - 1) && fault == Fault::DieBefore)
}

/// Compares two dumps, and shows the lines in which they differ.
fn assert_same(found: &str, expected: &str, what: &str) {
    let only = |one: &str, other: &str| {
        let other: BTreeSet<&str> = other.lines().collect();
        let only: Vec<_> = one.lines().filter(|line| !other.contains(line)).collect();
        only.join("\n")
    };
    let (more, less) = (only(found, expected), only(expected, found));
    assert!(found == expected, "{what}\nfound\n{more}\nexpected\n{less}");
}

async fn every_crash(act: Act) {
    let (rig, asked) = act.begin().await;
    act.go(&rig).await;
    let (expected, calls) = (act.end(&rig).await, rig.faults.calls());
    let asked_once = asked.derivations() + asked.thoughts();
    let mut sites: Vec<usize> = (0..calls.len()).filter(|call| has_effect(&calls[*call])).collect();
    assert!(sites.len() >= act.least(), "{act:?}: {calls:?}");
    if act == Act::Tick {
        // Its calls are of few kinds: the first of each kind and what comes before and after it, and a third of the rest.
        let mut seen = BTreeSet::new();
        let around = |call: usize| {
            (
                call.checked_sub(1).map(|before| &calls[before]),
                &calls[call],
                calls.get(call + 1),
            )
        };
        sites.retain(|call| seen.insert(around(*call)) || call % 3 == 0);
    }
    for call in sites {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let (rig, asked) = act.begin().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            act.go(&rig).await;
            assert!(rig.faults.is_dead(), "{act:?} has no call {call}");
            let made = rig.faults.calls();
            let last = &made[call];
            let rig = rig.restart().await;
            rig.fix_ids();
            act.go(&rig).await;
            assert_same(
                &act.end(&rig).await,
                &expected,
                &format!("{act:?}: {fault:?} at call {call}, {last}"),
            );
            // Only an answer that was lost before it could be stored is asked for again.
            assert_eq!(
                asked.derivations() + asked.thoughts(),
                asked_once + usize::from(loses_an_answer(&made, call, fault)),
                "{act:?}: {fault:?} at call {call}, {last}: times asked"
            );
        }
    }
}

/// What a person sees in the end: texts, card, and what the newest run says it did.
async fn seen(rig: &Rig) -> Value {
    let mut texts = rig.texts("w", "maya", "maya").await;
    texts.sort();
    let runs = rig.get("/v3/workspaces/w/dreams?observer=maya&observed=maya").await;
    let mut shown = Vec::new();
    for run in runs["items"].as_array().unwrap() {
        let detail = rig
            .get(&format!("/v3/workspaces/w/dreams/{}", run["id"].as_str().unwrap()))
            .await;
        let texts = |list: &str, path: &str| -> Vec<Value> {
            detail[list]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry.pointer(path).unwrap().clone())
                .collect()
        };
        let keys = [
            "status",
            "created_count",
            "removed_count",
            "reinforced_count",
            "peer_card_updated",
            "peer_card",
            "usage",
        ];
        let counts: Vec<_> = keys.iter().map(|key| detail[*key].clone()).collect();
        let created = texts("created", "/conclusion/content");
        shown.push(json!([
            counts,
            created,
            texts("removed", "/content"),
            texts("removed", "/reason")
        ]));
    }
    let card = rig.get("/v3/workspaces/w/peers/maya/card").await;
    let work = rig.get("/v3/workspaces/w/queue/status").await["total_work_units"].clone();
    json!([texts, shown, card, work])
}

/// A call fails, or its answer is lost, and the process lives on: what was in flight is tried again.
async fn every_failure(act: Act) {
    let (calm, _) = act.begin().await;
    act.go(&calm).await;
    let (expected, calls) = (seen(&calm).await, calm.faults.calls());
    for (call, name) in calls.iter().enumerate() {
        // Of reads every fourth: one that fails leaves nothing behind that the next would not.
        if !has_effect(name) && call % 4 != 0 {
            continue;
        }
        // To lose what was read is to fail at reading it.
        let faults = if has_effect(name) {
            vec![Fault::Fail, Fault::Lose]
        } else {
            vec![Fault::Fail]
        };
        for fault in faults {
            let (rig, _) = act.begin().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            act.go(&rig).await;
            rig.faults.replan(|_, _| Fault::None);
            // What waits for its next delivery, for the end of a lease, or for the reconciler.
            for _ in 0..2 {
                rig.advance(Duration::from_secs(121)).await;
            }
            rig.engine.reconcile().await.unwrap();
            rig.settle().await;
            assert_eq!(seen(&rig).await, expected, "{act:?}: {fault:?} at call {call}, {name}");
        }
    }
}

#[tokio::test]
async fn an_ingest_whose_calls_fail_or_lose_their_answers_ends_the_same() {
    every_failure(Act::Ingest).await;
}

#[tokio::test]
async fn a_dream_whose_calls_fail_or_lose_their_answers_ends_the_same() {
    every_failure(Act::Dream).await;
}

#[tokio::test]
async fn an_undo_whose_calls_fail_or_lose_their_answers_ends_the_same() {
    every_failure(Act::Undo).await;
}

#[tokio::test]
async fn an_ingest_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Ingest).await;
}

#[tokio::test]
async fn a_dream_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Dream).await;
}

#[tokio::test]
async fn a_dream_that_mends_what_was_refused_and_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Mend).await;
}

#[tokio::test]
async fn a_dream_that_is_handed_on_from_slice_to_slice_and_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Slices).await;
}

#[tokio::test]
async fn a_dry_run_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::DryRun).await;
}

#[tokio::test]
async fn a_rebuilt_card_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::CardRefresh).await;
}

#[tokio::test]
async fn a_cancelled_dream_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Cancel).await;
}

#[tokio::test]
async fn an_undo_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Undo).await;
}

#[tokio::test]
async fn a_pruned_record_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Prune).await;
}

#[tokio::test]
async fn a_tick_of_the_reconciler_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Tick).await;
}
