//! The crash harness: the process dies at every call of an ingest, a dream and an undo, before the call takes effect
//! and after; it is started again, what was in flight comes back, and the end is the same as without the crash. No
//! stored answer is asked for twice (`design.md` section 11).

use std::sync::Arc;
use std::time::Duration;

use reverie_core::conclusion::{CardEntry, Level, Pattern};
use reverie_core::reasoner::{ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason, Usage};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use crate::rig::{Fault, Faults, Rig, Scripted, config};

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

fn reasoner() -> Arc<Scripted> {
    Arc::new(Scripted::thinking(|request| Ok(think(request))))
}

async fn rig(reasoner: &Arc<Scripted>) -> Rig {
    Rig::with(config(), Arc::clone(reasoner) as _, Faults::none()).await
}

async fn post(rig: &Rig) {
    let messages: Vec<Value> = MESSAGES
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text}))
        .collect();
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": messages }))
        .await;
}

async fn newest_run(rig: &Rig) -> String {
    rig.get("/v3/workspaces/w/dreams?observer=maya&observed=maya").await["items"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// What is disturbed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Ingest,
    Dream,
    Undo,
}

/// Brings a fresh rig to where the act begins.
async fn before(act: Act, rig: &Rig) {
    post(rig).await;
    if act == Act::Ingest {
        return;
    }
    rig.settle().await;
    if act == Act::Undo {
        rig.advance(Duration::from_secs(3601)).await;
        let run = newest_run(rig).await;
        let (status, _) = rig
            .call("POST", &format!("/v3/workspaces/w/dreams/{run}/undo"), None)
            .await;
        assert_eq!(status, 202);
        return;
    }
    rig.pass(Duration::from_secs(3601));
}

async fn undisturbed(act: Act) -> (String, usize, usize) {
    let asked = reasoner();
    let rig = rig(&asked).await;
    before(act, &rig).await;
    rig.faults.replan(|_, _| Fault::None);
    rig.fix_ids();
    assert_eq!(rig.settle().await, 0);
    (
        rig.fingerprint().await,
        rig.faults.calls().len(),
        asked.derivations() + asked.thoughts(),
    )
}

async fn every_crash(act: Act) {
    let (expected, calls, asked_once) = undisturbed(act).await;
    assert!(calls > 10, "{act:?} makes {calls} calls");
    for call in 0..calls {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let asked = reasoner();
            let rig = rig(&asked).await;
            before(act, &rig).await;
            rig.fix_ids();
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            rig.settle().await;
            assert!(rig.faults.is_dead(), "{act:?} has no call {call}");
            let made = rig.faults.calls();
            let last = made[call].clone();
            let rig = rig.restart().await;
            rig.fix_ids();
            rig.settle().await;
            assert_eq!(
                rig.fingerprint().await,
                expected,
                "{act:?}: {fault:?} at call {call}, {last}"
            );
            // Only an answer that was lost before it could be stored is asked for again.
            let asks = |call: usize| matches!(made[call].as_str(), "Derive" | "Think");
            let lost =
                (asks(call) && fault == Fault::DieAfter) || (call > 0 && asks(call - 1) && fault == Fault::DieBefore);
            let asked = asked.derivations() + asked.thoughts();
            assert_eq!(
                asked,
                asked_once + usize::from(lost),
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
    let asked = reasoner();
    let calm = rig(&asked).await;
    before(act, &calm).await;
    calm.faults.replan(|_, _| Fault::None);
    calm.settle().await;
    let (expected, calls) = (seen(&calm).await, calm.faults.calls().len());
    for call in 0..calls {
        for fault in [Fault::Fail, Fault::Lose] {
            let rig = rig(&reasoner()).await;
            before(act, &rig).await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            rig.settle().await;
            rig.faults.replan(|_, _| Fault::None);
            // What waits for its next delivery, for the end of a lease, or for the reconciler.
            for _ in 0..2 {
                rig.advance(Duration::from_secs(121)).await;
            }
            rig.engine.reconcile().await.unwrap();
            rig.settle().await;
            assert_eq!(seen(&rig).await, expected, "{act:?}: {fault:?} at call {call}");
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
async fn an_undo_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Undo).await;
}
