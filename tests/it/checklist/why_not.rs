//! Why a representation does not dream (`design.md` section 4; report 24): every verdict is reached through the API,
//! and its sentence says what is the matter.

use std::sync::Arc;

use http::StatusCode;
use reverie_core::config::Config;
use reverie_core::ports::QueueName;
use reverie_core::reasoner::ReasonerError;
use reverie_core::settings::Defaults;
use serde_json::{Value, json};

use super::{HOUR, MINUTE, ask, deliver, facts, gated, quiet, runs, say, scripted, status};
use crate::rig::{Faults, Rig, Scripted, config};

/// The verdict, and a sentence with these words in it.
async fn says(rig: &Rig, verdict: &str, words: &[&str]) -> Value {
    let status = status(rig).await;
    assert_eq!(status["verdict"], verdict, "{status:#}");
    let sentence = status["sentence"].as_str().unwrap();
    for word in words {
        assert!(sentence.contains(word), "no {word:?} in {sentence:?}");
    }
    status
}

#[tokio::test]
async fn report_24_an_unknown_representation_says_so() {
    let rig = quiet().await;
    rig.post("/v3/workspaces/w/peers", json!({"id": "maya"})).await;
    let status = says(&rig, "unknown_representation", &["Nothing is known"]).await;
    assert_eq!((&status["enabled"], &status["last_run"]), (&json!(true), &Value::Null));
    // A peer or workspace that is not there is no representation to explain.
    for path in ["w/dreams/status?observer=nobody", "none/dreams/status?observer=maya"] {
        let (answered, _) = rig.call("GET", &format!("/v3/workspaces/{path}"), None).await;
        assert_eq!(answered, StatusCode::NOT_FOUND, "{path}");
    }
    let (answered, _) = rig.call("GET", "/v3/workspaces/w/dreams/status", None).await;
    assert_eq!(answered, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn report_24_too_few_conclusions_are_counted() {
    let rig = Rig::with(Config::default(), Arc::new(Scripted::idle()), Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..37)).await;
    rig.settle().await;
    let status = says(&rig, "below_threshold", &["37 of 50", "13 more"]).await;
    assert_eq!(
        (&status["new_conclusions"], &status["threshold"]),
        (&json!(37), &json!(50))
    );
    assert_eq!(
        (&status["enabled"], &status["timer_due_at"]),
        (&json!(true), &Value::Null)
    );
}

#[tokio::test]
async fn report_24_disabled_names_the_level_that_decided() {
    let off = json!({"dream": {"enabled": false}});
    for (workspace, session, by) in [
        (Some(&off), None, "workspace"),
        (None, Some(&off), "session"),
        (None, None, "global"),
    ] {
        let defaults = Defaults {
            dream: false,
            ..Defaults::default()
        };
        let rig = Rig::with(
            Config { defaults, ..config() },
            Arc::new(Scripted::idle()),
            Faults::none(),
        )
        .await;
        if let Some(configuration) = workspace {
            rig.post("/v3/workspaces", json!({"id": "w", "configuration": configuration}))
                .await;
        }
        if let Some(configuration) = session {
            rig.post(
                "/v3/workspaces/w/sessions",
                json!({"id": "s", "configuration": configuration}),
            )
            .await;
        }
        say(&rig, "s", "maya", &facts(0..5)).await;
        rig.settle().await;
        let status = says(&rig, "disabled", &["disabled", by, "5 of 5"]).await;
        assert_eq!((&status["enabled"], &status["decided_by"]), (&json!(false), &json!(by)));
    }
}

#[tokio::test]
async fn report_24_waiting_for_idle_says_until_when() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(20 * MINUTE).await;
    let status = says(
        &rig,
        "waiting_for_idle",
        &["quiet for 1 hour", "40 minutes", "2026-01-01T01:00:00Z"],
    )
    .await;
    assert_eq!(status["last_activity"], "2026-01-01T00:00:00Z");
    assert_eq!(status["timer_due_at"], "2026-01-01T01:00:00Z");
}

#[tokio::test]
async fn report_24_cooling_down_says_until_when() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(HOUR).await;
    say(&rig, "s", "maya", &facts(5..10)).await;
    rig.settle().await;
    rig.advance(2 * HOUR).await;
    let status = says(
        &rig,
        "cooling_down",
        &["cooldown of 8 hours", "6 hours", "2026-01-01T09:00:00Z"],
    )
    .await;
    assert_eq!(status["cooldown_until"], "2026-01-01T09:00:00Z");
    assert_eq!(status["last_run"]["status"], "completed");
}

#[tokio::test]
async fn report_24_waiting_for_ingest_holds_the_dream_until_all_is_heard() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.pass(10 * MINUTE);
    say(&rig, "s", "maya", &facts(5..6)).await;
    // Ingest does not come to it; the dream queue is served.
    rig.pass(61 * MINUTE);
    for _ in 0..4 {
        rig.queues.tick().await.unwrap();
        while let Some(handled) = deliver(&rig, QueueName::Dreams).await {
            assert!(handled);
        }
        let status = says(&rig, "waiting_for_ingest", &["still to be reasoned over"]).await;
        assert_eq!(status["ingest_lagging"], true);
        assert_eq!(runs(&rig).await.len(), 0);
        rig.pass(MINUTE);
    }
    rig.settle().await;
    rig.advance(MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
    assert_eq!(status(&rig).await["new_conclusions"], 0, "the dream saw all six");
}

#[tokio::test]
async fn report_24_backing_off_says_that_it_failed() {
    let rig = scripted(Scripted::thinking(|_| {
        Err(ReasonerError::permanent("no JSON".to_owned()))
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(HOUR).await;
    let status = says(&rig, "backing_off", &["the last dream failed", "2 hours"]).await;
    assert_eq!(status["back_off_until"], "2026-01-01T03:00:00Z");
    assert_eq!(status["last_run"]["status"], "failed");
    assert!(status["last_run"]["error"].as_str().unwrap().contains("no JSON"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn report_24_queued_and_running_name_the_run() {
    let (reasoner, gate) = gated();
    let rig = Arc::new(scripted(reasoner).await);
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    let run = runs(&rig).await[0]["id"].as_str().unwrap().to_owned();
    let status = says(&rig, "queued", &["omni", &run]).await;
    assert_eq!(status["pending"], json!([{"id": run, "dream_type": "omni"}]));
    let executor = tokio::spawn({
        let rig = Arc::clone(&rig);
        async move { rig.settle().await }
    });
    gate.reached();
    rig.pass(MINUTE);
    let status = says(&rig, "running", &["omni", &run, "1 minute"]).await;
    assert_eq!(status["running"]["id"], json!(run));
    assert_eq!(
        (&status["running"]["phase"], &status["running"]["turn"]),
        (&json!("deduction"), &json!(0))
    );
    assert_eq!(
        (&status["running"]["trigger"], &status["pending"]),
        (&json!("manual"), &json!([]))
    );
    gate.open();
    executor.await.unwrap();
    says(&rig, "below_threshold", &["0 of 5"]).await;
}
