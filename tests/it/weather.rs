//! The whole job under what the embedded engine hides: conflicts, throttles, unprocessed items, stale index reads.
//! It may take longer; what comes out is the same.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{Faults, Rig, Scripted, config};

/// Posts in two sessions, dreams, and undoes; gives what stands after each.
async fn job(faults: Faults) -> Vec<Vec<String>> {
    let rig = Rig::with(
        config(),
        Arc::new(Scripted::thinking(|request| Ok(crate::crash::think(request)))),
        faults,
    )
    .await;
    for (session, texts) in [("s", &crate::crash::MESSAGES[..4]), ("t", &crate::crash::MESSAGES[4..])] {
        let messages: Vec<Value> = texts
            .iter()
            .map(|text| json!({"peer_id": "maya", "content": text}))
            .collect();
        patiently(
            &rig,
            "POST",
            &format!("/v3/workspaces/w/sessions/{session}/messages"),
            Some(json!({ "messages": messages })),
        )
        .await;
    }
    let mut seen = Vec::new();
    calm_down(&rig).await;
    seen.push(texts(&rig).await);
    rig.pass(Duration::from_secs(3700));
    calm_down(&rig).await;
    seen.push(texts(&rig).await);
    let runs = patiently(&rig, "GET", "/v3/workspaces/w/dreams?observer=maya&observed=maya", None).await;
    assert_eq!(runs["total"], 1, "{runs}");
    let run = runs["items"][0]["id"].as_str().unwrap().to_owned();
    patiently(&rig, "POST", &format!("/v3/workspaces/w/dreams/{run}/undo"), None).await;
    calm_down(&rig).await;
    seen.push(texts(&rig).await);
    seen
}

/// Calls until the answer is not "try again", as an SDK does.
async fn patiently(rig: &Rig, method: &str, path: &str, body: Option<Value>) -> Value {
    for _ in 0..20 {
        let (status, answer) = rig.call(method, path, body.clone()).await;
        if status.is_success() {
            return answer;
        }
        assert_eq!(status, 503, "{method} {path}: {answer}");
    }
    panic!("{method} {path} never succeeded");
}

/// Minutes pass, with a tick of the reconciler each, until nothing is left to do.
async fn calm_down(rig: &Rig) {
    for _ in 0..6 {
        rig.settle().await;
        rig.pass(Duration::from_secs(61));
        // A tick that fails is made good by the next.
        let _report = rig.engine.reconcile().await;
    }
    assert_eq!(
        patiently(rig, "GET", "/v3/workspaces/w/queue/status", None).await["pending_work_units"],
        0
    );
}

async fn texts(rig: &Rig) -> Vec<String> {
    let filters = json!({"filters": {"observer_id": "maya", "observed_id": "maya"}});
    let answer = patiently(rig, "POST", "/v3/workspaces/w/conclusions/list?size=100", Some(filters)).await;
    let mut texts: Vec<String> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["content"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    texts
}

// Waiting costs no time: the clock of the runtime jumps.
#[tokio::test(start_paused = true)]
async fn conflicts_throttles_leftovers_and_stale_reads_change_nothing_that_counts() {
    let calm = job(Faults::none()).await;
    assert_eq!(calm[0].len(), 7);
    assert_ne!(calm[0], calm[1]);
    assert_eq!(calm[0], calm[2]);
    for seed in 1..=8 {
        assert_eq!(job(Faults::weather(seed, 6)).await, calm, "seed {seed}");
    }
}
