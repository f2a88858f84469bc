//! From a POST of messages to conclusions (`design.md` section 5): keys that make a POST safe to repeat, who is observed
//! and what is reasoned over, when a model is asked, and what becomes of messages that cannot be derived from.

use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::Rig;

mod batches;
mod failing;
mod gate;
mod idempotency;
mod observed;
mod summaries;

const MESSAGES: &str = "/v3/workspaces/w/sessions/s/messages";

fn said(texts: &[impl AsRef<str>]) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text.as_ref()}))
        .collect();
    json!({ "messages": messages })
}

async fn texts(rig: &Rig) -> Vec<String> {
    rig.texts("w", "maya", "maya").await
}

async fn total(rig: &Rig) -> Value {
    rig.post(&format!("{MESSAGES}/list"), json!({})).await["total"].clone()
}

/// Time passes as it does on a server: the queues deliver, and the reconciler ticks every five minutes.
async fn time_passes(rig: &Rig, minutes: u64) {
    for minute in 1..=minutes {
        rig.advance(Duration::from_mins(1)).await;
        if minute % 5 == 0 {
            rig.engine.reconcile().await.unwrap();
            rig.settle().await;
        }
    }
}

async fn queue(rig: &Rig) -> Value {
    rig.get("/v3/workspaces/w/queue/status").await
}

/// The messages that could not be derived from: what they say, and why.
async fn failed(rig: &Rig) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    let answer = rig.get("/v3/workspaces/w/queue/failed").await;
    for item in answer["items"].as_array().unwrap() {
        let path = format!("{MESSAGES}/{}", item["message_id"].as_str().unwrap());
        let text = rig.get(&path).await["content"].as_str().unwrap().to_owned();
        failed.push((text, item["error"].as_str().unwrap().to_owned()));
    }
    failed
}

#[tokio::test]
async fn a_hundred_peers_can_speak_in_one_post() {
    let rig = Rig::new().await;
    for _ in 0..2 {
        let messages: Vec<Value> = (0..100)
            .map(|number| json!({"peer_id": format!("peer{number}"), "content": "I work at Intel."}))
            .collect();
        let body = json!({ "messages": messages });
        let (status, answer) = rig.keyed(MESSAGES, &rig.now().to_string(), &body).await;
        assert_eq!(status, 201, "{answer}");
        rig.settle().await;
        rig.pass(Duration::from_mins(10));
    }
    assert_eq!(total(&rig).await, 200);
    assert_eq!(rig.texts("w", "peer99", "peer99").await.len(), 1);
    let status = rig.get("/v3/workspaces/w/dreams/status?observer=peer99").await;
    assert_eq!(status["last_activity"], "2026-01-01T00:10:00Z");
}
