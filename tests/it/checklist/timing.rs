//! What time means to the dreaming machine (`design.md` section 4, rules 2, 4, 7 and 9): arrival decides, activity
//! cannot starve a peer, and what is no activity schedules nothing.

use http::StatusCode;
use reverie_core::ports::QueueName;
use reverie_core::reasoner::{ReasonerError, Thought};
use serde_json::{Value, json};

use super::{HOUR, MINUTE, ask_for, facts, id, list, quiet, runs, say, scripted, state, status};
use crate::rig::{Rig, Scripted};

async fn say_dated(rig: &Rig, date: &str, texts: &[String]) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text, "created_at": date}))
        .collect();
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": messages }))
        .await
}

#[tokio::test]
async fn a_peer_that_never_goes_quiet_dreams_after_the_longest_deferral() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    for half_hours in 1..=47 {
        rig.advance(30 * MINUTE).await;
        say(&rig, "s", "maya", &["hello again"]).await;
        rig.settle().await;
        assert_eq!(runs(&rig).await.len(), 0, "after {half_hours} half hours");
    }
    rig.advance(29 * MINUTE).await;
    say(&rig, "s", "maya", &["hello again"]).await;
    rig.settle().await;
    assert_eq!(runs(&rig).await.len(), 0);
    rig.advance(2 * MINUTE).await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("completed")));
}

#[tokio::test]
async fn a_date_in_the_future_delays_nothing() {
    let rig = quiet().await;
    say_dated(&rig, "2099-01-01T00:00:00Z", &facts(0..5)).await;
    rig.settle().await;
    assert_eq!(status(&rig).await["last_activity"], "2026-01-01T00:00:00Z");
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn an_import_of_old_conversations_is_activity_now() {
    let rig = quiet().await;
    say_dated(&rig, "2019-05-01T00:00:00Z", &facts(0..5)).await;
    rig.settle().await;
    assert_eq!(
        runs(&rig).await.len(),
        0,
        "not at once, as if the peer had been quiet for years"
    );
    assert_eq!(status(&rig).await["timer_due_at"], "2026-01-01T01:00:00Z");
    // More of it puts the dream off, whatever its dates.
    rig.advance(59 * MINUTE).await;
    say_dated(&rig, "2018-05-01T00:00:00Z", &facts(5..6)).await;
    rig.settle().await;
    rig.advance(59 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 0);
    rig.advance(MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
    // The dates themselves are kept.
    let kept = rig.post("/v3/workspaces/w/sessions/s/messages/list", json!({})).await;
    assert_eq!(kept["items"][0]["created_at"], "2019-05-01T00:00:00Z");
}

#[tokio::test]
async fn conclusions_made_through_the_api_count_and_wait_from_when_they_met_the_threshold() {
    let rig = quiet().await;
    state(&rig, "maya", "maya", &facts(0..4)).await;
    rig.advance(10 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 0);
    state(&rig, "maya", "maya", &facts(4..5)).await;
    rig.settle().await;
    rig.advance(59 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 0);
    rig.advance(2 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn deletions_do_not_subtract_from_the_count() {
    let rig = quiet().await;
    let ids = state(&rig, "maya", "maya", &facts(0..5)).await;
    for id in &ids[1..] {
        rig.ok("DELETE", &format!("/v3/workspaces/w/conclusions/{id}"), None)
            .await;
    }
    assert_eq!(status(&rig).await["new_conclusions"], 5);
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn report_12_edits_of_metadata_schedule_and_put_off_nothing() {
    let rig = quiet().await;
    let posted = say(&rig, "s", "maya", &facts(0..5)).await;
    for number in 0..30 {
        rig.post("/v3/workspaces/w/sessions", json!({"id": format!("s{number}")}))
            .await;
    }
    rig.settle().await;
    rig.advance(59 * MINUTE).await;
    let before = status(&rig).await;
    let edit = json!({"metadata": {"read": true}});
    for message in list(&posted) {
        let path = format!("/v3/workspaces/w/sessions/s/messages/{}", id(&message));
        let edited = rig.ok("PUT", &path, Some(edit.clone())).await;
        assert_eq!(edited["metadata"], edit["metadata"]);
    }
    for number in 0..30 {
        rig.ok(
            "PUT",
            &format!("/v3/workspaces/w/sessions/s{number}"),
            Some(edit.clone()),
        )
        .await;
    }
    for path in [
        "/v3/workspaces/w",
        "/v3/workspaces/w/peers/maya",
        "/v3/workspaces/w/sessions/s",
    ] {
        rig.ok("PUT", path, Some(edit.clone())).await;
    }
    for queue in [QueueName::Ingest, QueueName::Dreams] {
        assert_eq!(rig.queues.counts(queue).await.unwrap().waiting, 0, "{queue:?}");
    }
    assert_eq!(status(&rig).await, before);
    rig.advance(MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1, "due as it was before the edits");
    // Nor do they make a new one due.
    for message in list(&posted) {
        let path = format!("/v3/workspaces/w/sessions/s/messages/{}", id(&message));
        rig.ok("PUT", &path, Some(json!({"metadata": {"read": false}}))).await;
    }
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn a_failed_dream_moves_neither_count_nor_cooldown_and_is_tried_again_later_and_later() {
    let rig = scripted(Scripted::thinking(|_| {
        Err(ReasonerError::permanent("no JSON".to_owned()))
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    // Once, then after 2 h, then after 4 h more: a back-off, not a cooldown and not a loop.
    for (hours, expected) in [(1, 1), (1, 1), (1, 2), (3, 2), (1, 3)] {
        rig.advance(hours * HOUR).await;
        let ran = runs(&rig).await;
        assert_eq!(ran.len(), expected);
        assert_eq!(ran[0]["status"], "failed");
        assert!(ran[0]["error"].as_str().unwrap().contains("no JSON"));
        let status = status(&rig).await;
        assert_eq!(
            (&status["new_conclusions"], &status["cooldown_until"]),
            (&json!(5), &Value::Null)
        );
    }
}

#[tokio::test]
async fn what_a_dream_creates_counts_for_no_later_dream() {
    let mut turn = 0;
    let rig = scripted(Scripted::thinking(move |request| {
        turn += 1;
        let sources = vec![request.conclusions[0].id.clone()];
        let operations = (0..10).map(|number| reverie_core::toolbox::Operation::Create {
            level: reverie_core::conclusion::Level::Deductive,
            content: format!("maya implies {turn} {number}"),
            sources: sources.clone(),
            pattern: None,
            replaces: Vec::new(),
        });
        Ok(Thought {
            operations: operations.collect(),
            done: true,
            ..Thought::default()
        })
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await[0]["created_count"], 20);
    assert_eq!(status(&rig).await["new_conclusions"], 0);
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn a_card_refresh_and_a_dry_run_move_neither_count_nor_timer() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    let before = status(&rig).await;
    let refresh = json!({"observer": "maya", "observed": "maya", "dream_type": "card_refresh"});
    assert_eq!(ask_for(&rig, refresh).await.0, StatusCode::NO_CONTENT);
    rig.settle().await;
    assert_eq!(
        ask_for(&rig, json!({"observer": "maya", "dry_run": true})).await.0,
        StatusCode::ACCEPTED
    );
    rig.settle().await;
    assert_eq!(runs(&rig).await.len(), 2);
    let after = status(&rig).await;
    for gate in ["verdict", "new_conclusions", "cooldown_until", "timer_due_at"] {
        assert_eq!(after[gate], before[gate], "{gate}");
    }
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 3);
}

#[tokio::test]
async fn dreams_turned_off_while_the_timer_runs_do_not_run_and_come_back_without_traffic() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    let switch = async |enabled: bool| {
        let body = json!({"configuration": {"dream": {"enabled": enabled}}});
        rig.ok("PUT", "/v3/workspaces/w", Some(body)).await;
    };
    switch(false).await;
    rig.advance(2 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 0);
    assert_eq!(status(&rig).await["verdict"], "disabled");
    // The reconciler sees the switch, whether or not anything else happens.
    rig.engine.reconcile().await.unwrap();
    rig.settle().await;
    switch(true).await;
    for _ in 0..4 {
        rig.advance(5 * MINUTE).await;
        rig.engine.reconcile().await.unwrap();
    }
    rig.settle().await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["trigger"]), (1, &json!("idle")));
}
