//! From a message to a conclusion.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use reverie_core::reasoner::ReasonerError;
use serde_json::json;

use crate::rig::{
    Scripted,
    reasoner::verbatim,
    steps::{MINUTE, created, facts, id, offline, quiet, say, say_in, scripted, texts},
};

#[tokio::test]
async fn report_03_a_batch_whose_reasoner_fails_is_tried_again_and_never_done_with_nothing_saved() {
    for error in [
        || ReasonerError::transient("429".to_owned()),
        || ReasonerError::permanent("junk".to_owned()),
    ] {
        let failures = Arc::new(AtomicUsize::new(3));
        let left = Arc::clone(&failures);
        let rig = scripted(Scripted::idle().deriving(move |request| {
            match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
                Ok(_) => Err(error()),
                Err(_) => Ok(verbatim(request)),
            }
        }))
        .await;
        say(&rig, "s", "maya", &facts(0..3)).await;
        rig.settle().await;
        while failures.load(Ordering::Relaxed) > 0 {
            assert_eq!(texts(&rig).await, [""; 0]);
            assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["pending_work_units"], 1);
            rig.pass(10 * MINUTE);
            rig.engine.reconcile().await.unwrap();
            rig.settle().await;
        }
        rig.advance(10 * MINUTE).await;
        assert_eq!(texts(&rig).await, facts(0..3));
        assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["pending_work_units"], 0);
    }
}

#[tokio::test]
async fn report_04_one_short_message_is_derived_at_once() {
    let rig = offline().await;
    say(&rig, "s", "maya", &["I live in Lisbon."]).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, ["maya lives in Lisbon."]);
}

#[tokio::test]
async fn report_06_what_an_assistant_says_about_the_user_is_no_fact_about_the_assistant() {
    let rig = offline().await;
    let observed = json!({"id": "assistant", "configuration": {"observe_me": true}});
    rig.post("/v3/workspaces/w/peers", observed).await;
    let members =
        json!({"id": "s", "peers": {"user": {"observe_others": true}, "assistant": {"observe_others": true}}});
    rig.post("/v3/workspaces/w/sessions", members).await;
    say(
        &rig,
        "s",
        "assistant",
        &["You live in Lima.", "So you work at Intel, and your wife is a nurse."],
    )
    .await;
    say(&rig, "s", "user", &["Yes, right."]).await;
    rig.settle().await;
    for observer in ["assistant", "user"] {
        assert_eq!(rig.texts("w", observer, "assistant").await, [""; 0]);
    }
    // What it says of itself is one.
    say(&rig, "s", "assistant", &["I live in a data centre."]).await;
    rig.settle().await;
    assert_eq!(
        rig.texts("w", "user", "assistant").await,
        ["assistant lives in a data centre."]
    );
    assert_eq!(rig.texts("w", "assistant", "user").await, [""; 0]);
}

#[tokio::test]
async fn report_15_ids_of_every_allowed_form_work_end_to_end() {
    let long = "a".repeat(512);
    let dashes = format!("-_-{}-_-", "x-".repeat(40));
    for (name, other) in [
        ("vt-firmware", "b0a7c1d2-3e4f-4a5b-8c6d-7e8f9a0b1c2d"),
        ("0b0a7c1d-3e4f-4a5b-8c6d-7e8f9a0b1c2d", "vt-firmware"),
        ("-", "_"),
        (&"y".repeat(64), &"z".repeat(65)),
        (&dashes, &dashes),
        (&long, &long),
    ] {
        let rig = scripted(Scripted::thinking(|request| Ok(crate::crash::think(request)))).await;
        let base = format!("/v3/workspaces/{name}");
        let members = json!({"id": other, "peers": {(other): {}, "observer-1": {"observe_others": true}}});
        rig.post(&format!("{base}/sessions"), members).await;
        say_in(&rig, name, other, other, crate::crash::MESSAGES).await;
        assert_eq!(rig.settle().await, 0);
        for observer in [other, "observer-1"] {
            assert_eq!(
                rig.texts(name, observer, other).await.len(),
                crate::crash::MESSAGES.len(),
                "{name}"
            );
        }
        // Fired by its schedule, not asked for.
        rig.advance(61 * MINUTE).await;
        for observer in [other, "observer-1"] {
            let found = rig
                .get(&format!("{base}/dreams?observer={observer}&observed={other}"))
                .await;
            let run = &found["items"][0];
            assert_eq!(
                (&found["total"], &run["trigger"], &run["status"]),
                (&json!(1), &json!("idle"), &json!("completed")),
                "{name}"
            );
            assert_eq!(run["created_count"], 2);
            let run = id(run);
            assert_eq!(created(&rig.get(&format!("{base}/dreams/{run}")).await).len(), 2);
            let card = rig.get(&format!("{base}/peers/{observer}/card?target={other}")).await;
            assert_eq!(card["peer_card"], json!(["IDENTITY: works at Qualcomm"]));
            rig.post(&format!("{base}/dreams/{run}/undo"), json!({})).await;
            rig.settle().await;
            assert_eq!(
                rig.texts(name, observer, other).await.len(),
                crate::crash::MESSAGES.len()
            );
            let why = rig
                .get(&format!("{base}/dreams/status?observer={observer}&observed={other}"))
                .await;
            assert_eq!(why["verdict"], "below_threshold");
        }
    }
    // What is not allowed is refused, and never dropped.
    let rig = quiet().await;
    for name in ["a b", "ä", "a/b", &"a".repeat(513), ""] {
        let (status, _) = rig.call("POST", "/v3/workspaces", Some(json!({ "id": name }))).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{name}");
    }
}
