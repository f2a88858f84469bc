//! Undo and cancel (`design.md` section 6): what a dream changed is taken back, never by force.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::StatusCode;
use reverie_core::conclusion::{CardEntry, Level};
use reverie_core::reasoner::{ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use super::{
    MINUTE, ask, card, created, deliver, detail, dream, facts, gated, id, id_of, list, quiet, runs, say, scripted,
    status, texts,
};
use crate::crash::{MESSAGES, think};
use crate::rig::{Rig, Scripted};

/// Asks for an undo; status and answer.
async fn ask_undo(rig: &Rig, run: &str) -> (StatusCode, Value) {
    rig.call("POST", &format!("/v3/workspaces/w/dreams/{run}/undo"), None)
        .await
}

/// Undoes a run; the undo run's detail.
async fn undo(rig: &Rig, run: &str) -> Value {
    let (status, answer) = ask_undo(rig, run).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
    assert_eq!(rig.settle().await, 0);
    let undone = detail(rig, &id(&answer)).await;
    assert_eq!(
        (&undone["dream_type"], &undone["undo_of"]),
        (&json!("undo"), &json!(run))
    );
    undone
}

async fn cancel(rig: &Rig, run: &str) -> (StatusCode, Value) {
    rig.call("POST", &format!("/v3/workspaces/w/dreams/{run}/cancel"), None)
        .await
}

/// The second and third dream: the card is replaced, what the first made is replaced and reinforced, half is merged.
fn think_on(request: &ThinkRequest<'_>, dream: u32) -> Vec<Operation> {
    let find = |text: &str| {
        request
            .conclusions
            .iter()
            .find(|found| found.content.starts_with(text))
            .map(|found| found.id.clone())
    };
    let create = |content: String, of: &str, replaces: Vec<_>| Operation::Create {
        level: Level::Deductive,
        content,
        sources: find(of).into_iter().collect(),
        pattern: None,
        replaces,
    };
    let replaced = find("maya now works").map(|old| (old, RemovalReason::Superseded));
    let entry = CardEntry {
        text: format!("IDENTITY: as of dream {dream}"),
        conclusions: find("maya lives in Porto").into_iter().collect(),
    };
    vec![
        create(
            format!("maya now works at Apple, dream {dream}"),
            "maya works at Qualcomm",
            replaced.into_iter().collect(),
        ),
        create(
            "maya is in Portugal".into(),
            if dream == 2 {
                "maya lives in Porto"
            } else {
                "maya plays the violin"
            },
            Vec::new(),
        ),
        Operation::Remove {
            ids: find("maya often paints").into_iter().collect(),
            reason: RemovalReason::Other,
            replaced_by: None,
        },
        Operation::Card { entries: vec![entry] },
    ]
}

async fn several_dreams() -> Rig {
    let mut dreams = 0;
    let rig = scripted(Scripted::thinking(move |request| {
        dreams += u32::from(request.phase == Phase::Deduction && request.turn == 0);
        if dreams == 1 {
            return Ok(think(request));
        }
        let operations = if request.phase == Phase::Deduction {
            think_on(request, dreams)
        } else {
            Vec::new()
        };
        Ok(Thought {
            operations,
            done: true,
            ..Thought::default()
        })
    }))
    .await;
    say(&rig, "s", "maya", MESSAGES).await;
    rig.settle().await;
    rig
}

async fn stands(rig: &Rig) -> (Vec<Value>, Value) {
    (rig.conclusions("w", "maya", "maya").await, card(rig).await)
}

#[tokio::test]
async fn dreams_undone_newest_first_leave_what_was_before_the_first() {
    let rig = several_dreams().await;
    let mut before = Vec::new();
    let mut dreams = Vec::new();
    for _ in 0..3 {
        before.push(stands(&rig).await);
        rig.pass(MINUTE);
        dreams.push(id(&dream(&rig).await));
    }
    for (first, second) in [(0, 1), (1, 2)] {
        assert_ne!(before[first], before[second]);
    }
    assert_ne!(stands(&rig).await, before[2]);
    for (run, before) in dreams.iter().zip(&before).rev() {
        rig.pass(MINUTE);
        let undone = undo(&rig, run).await;
        assert_eq!(
            (&undone["status"], &undone["conflicts"]),
            (&json!("completed"), &json!([]))
        );
        assert_eq!(stands(&rig).await, *before);
    }
    // Each undo is a run of its own, recorded as any other.
    let runs = runs(&rig).await;
    assert_eq!(runs.len(), 6);
    let first_undo = detail(&rig, &id(&runs[0])).await;
    assert!(
        created(&first_undo).contains(&"maya works at Intel".to_owned()),
        "{first_undo:#}"
    );
    assert_eq!(first_undo["peer_card"]["after"], Value::Null);
}

#[tokio::test]
async fn an_undo_can_be_undone() {
    let rig = several_dreams().await;
    let run = id(&dream(&rig).await);
    let after = stands(&rig).await;
    rig.pass(MINUTE);
    let undone = undo(&rig, &run).await;
    rig.pass(MINUTE);
    undo(&rig, &id(&undone)).await;
    assert_eq!(stands(&rig).await, after);
}

#[tokio::test]
async fn undoing_twice_answers_the_same_run_and_changes_nothing_more() {
    let rig = several_dreams().await;
    let run = id(&dream(&rig).await);
    let (_, first) = ask_undo(&rig, &run).await;
    // While it is pending, and when it has ended.
    assert_eq!(ask_undo(&rig, &run).await, (StatusCode::ACCEPTED, first.clone()));
    rig.settle().await;
    let undone = stands(&rig).await;
    assert_eq!(ask_undo(&rig, &run).await, (StatusCode::ACCEPTED, first));
    rig.settle().await;
    assert_eq!(stands(&rig).await, undone);
    assert_eq!(runs(&rig).await.len(), 2);
}

#[tokio::test]
async fn an_undo_while_another_is_pending_is_a_conflict() {
    let rig = several_dreams().await;
    let first = id(&dream(&rig).await);
    let second = id(&dream(&rig).await);
    ask_undo(&rig, &second).await;
    assert_eq!(ask_undo(&rig, &first).await.0, StatusCode::CONFLICT);
    rig.settle().await;
    assert_eq!(ask_undo(&rig, &first).await.0, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn what_was_touched_since_is_listed_and_left() {
    let rig = several_dreams().await;
    let first = dream(&rig).await;
    let kept = id_of(&rig, "maya plays the violin").await;
    let removed = list(&first["removed"]);
    let old = removed
        .iter()
        .find(|removed| removed["content"] == "maya works at Intel")
        .map(id)
        .unwrap();
    rig.pass(MINUTE);
    // What the dream had reinforced is said once more, what it had removed is said anew, and the card is written.
    say(&rig, "s", "maya", &["maya plays the violin", "maya works at Intel"]).await;
    rig.settle().await;
    let by_hand = json!({"peer_card": ["IDENTITY: by hand"]});
    rig.ok("PUT", "/v3/workspaces/w/peers/maya/card", Some(by_hand.clone()))
        .await;
    rig.pass(MINUTE);
    let undone = undo(&rig, &id(&first)).await;
    assert_eq!(undone["status"], "completed");
    let conflicts: BTreeMap<Option<String>, String> = list(&undone["conflicts"])
        .iter()
        .map(|conflict| {
            (
                conflict["conclusion"].as_str().map(str::to_owned),
                conflict["reason"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        (Some(kept), "it was changed since".to_owned()),
        (Some(old), "an equal conclusion was made since".to_owned()),
        (None, "the card was changed since".to_owned()),
    ];
    assert_eq!(conflicts, expected.into());
    // What nothing had touched is back; what something had is as that left it.
    let mut texts = texts(&rig).await;
    texts.sort();
    let mut expected = MESSAGES.to_vec();
    expected.sort_unstable();
    assert_eq!(texts, expected);
    assert_eq!(card(&rig).await, by_hand["peer_card"]);
}

#[tokio::test]
async fn what_a_later_dream_took_away_again_needs_no_undoing() {
    let rig = several_dreams().await;
    let before = texts(&rig).await;
    let first = dream(&rig).await;
    let second = dream(&rig).await;
    assert!(super::removed(&second).contains(&"maya often paints".to_owned()));
    let undone = undo(&rig, &id(&first)).await;
    // Both conclusions that the first had created are gone already; only the card is the second's.
    assert_eq!(
        undone["conflicts"],
        json!([{"conclusion": null, "reason": "the card was changed since"}])
    );
    let mut expected = before;
    expected.extend([
        "maya now works at Apple, dream 2".to_owned(),
        "maya is in Portugal".to_owned(),
    ]);
    expected.sort();
    let mut texts = texts(&rig).await;
    texts.sort();
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn an_erased_text_is_not_brought_back_by_an_undo() {
    let rig = several_dreams().await;
    let run = dream(&rig).await;
    let erased = list(&run["removed"])
        .iter()
        .find(|removed| removed["content"] == "maya works at Intel")
        .map(id)
        .unwrap();
    rig.ok("DELETE", &format!("/v3/workspaces/w/conclusions/{erased}"), None)
        .await;
    undo(&rig, &id(&run)).await;
    let texts = texts(&rig).await;
    assert!(!texts.contains(&"maya works at Intel".to_owned()), "{texts:?}");
    assert!(texts.contains(&"maya owns a violin".to_owned()), "{texts:?}");
    assert_eq!(rig.conclusions("w", "maya", "maya").await.len(), 6);
}

#[tokio::test]
async fn an_undone_dream_is_not_dreamt_again_at_once() {
    let rig = several_dreams().await;
    rig.advance(61 * MINUTE).await;
    let run = id(&runs(&rig).await[0]);
    undo(&rig, &run).await;
    assert_eq!(status(&rig).await["verdict"], "below_threshold");
    rig.advance(30 * super::HOUR).await;
    assert_eq!(runs(&rig).await.len(), 2);
}

#[tokio::test]
async fn a_pending_dream_is_cancelled_at_once() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    ask(&rig, "maya").await;
    let run = id(&runs(&rig).await[0]);
    assert_eq!(ask_undo(&rig, &run).await.0, StatusCode::CONFLICT, "it has not ended");
    let (answered, body) = cancel(&rig, &run).await;
    assert_eq!(
        (answered, &body["status"], &body["started_at"]),
        (StatusCode::OK, &json!("cancelled"), &Value::Null)
    );
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "cancelled");
    assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["total_work_units"], 0);
    assert_eq!(cancel(&rig, &run).await.0, StatusCode::CONFLICT);
    // It stands in the way of no other.
    assert_eq!(dream(&rig).await["status"], "completed");
    assert_eq!(cancel(&rig, &id(&runs(&rig).await[0])).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_cancelled_pending_request_leaves_what_was_due_due() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    ask(&rig, "maya").await;
    let run = id(&runs(&rig).await[0]);
    cancel(&rig, &run).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    let ran = runs(&rig).await;
    assert_eq!(
        (ran.len(), &ran[0]["trigger"], &ran[0]["status"]),
        (2, &json!("idle"), &json!("completed"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_running_dream_is_cancelled_at_once_and_its_executor_does_no_more() {
    let (reasoner, gate) = gated();
    let rig = Arc::new(scripted(reasoner).await);
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    ask(&rig, "maya").await;
    let executor = tokio::spawn({
        let rig = Arc::clone(&rig);
        async move { rig.settle().await }
    });
    gate.reached();
    let run = id(&runs(&rig).await[0]);
    assert_eq!(ask_undo(&rig, &run).await.0, StatusCode::CONFLICT, "it is running");
    let (answered, body) = cancel(&rig, &run).await;
    assert_eq!((answered, &body["status"]), (StatusCode::OK, &json!("cancelled")));
    gate.open();
    assert_eq!(executor.await.unwrap(), 0);
    let ended = runs(&rig).await;
    assert_eq!((ended.len(), &ended[0]["status"]), (1, &json!("cancelled")));
    // A dream cancelled while it ran moves count and cooldown: else it is done again at once.
    let status = status(&rig).await;
    assert_eq!(
        (&status["verdict"], &status["new_conclusions"]),
        (&json!("below_threshold"), &json!(0))
    );
    assert!(!status["cooldown_until"].is_null());
    assert_eq!(cancel(&rig, &run).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn what_a_cancelled_dream_had_committed_stays_and_can_be_undone() {
    // Its reasoner stops answering after the first turn, so that the run waits in the middle.
    let rig = scripted(Scripted::thinking(|request| match (request.phase, request.turn) {
        (Phase::Deduction, 0) => Ok(think(request)),
        _ => Err(reverie_core::reasoner::ReasonerError::transient(
            "overloaded".to_owned(),
        )),
    }))
    .await;
    say(&rig, "s", "maya", MESSAGES).await;
    rig.settle().await;
    let before = stands(&rig).await;
    ask(&rig, "maya").await;
    assert_eq!(deliver(&rig, reverie_core::ports::QueueName::Dreams).await, Some(false));
    let run = id(&runs(&rig).await[0]);
    let (answered, _) = cancel(&rig, &run).await;
    assert_eq!(answered, StatusCode::OK);
    let cancelled = detail(&rig, &run).await;
    assert_eq!(
        (&cancelled["status"], &cancelled["created_count"]),
        (&json!("cancelled"), &json!(1))
    );
    assert_ne!(stands(&rig).await, before);
    rig.advance(10 * MINUTE).await;
    assert_eq!(detail(&rig, &run).await["status"], "cancelled");
    undo(&rig, &run).await;
    assert_eq!(stands(&rig).await, before);
}
