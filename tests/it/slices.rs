//! A run that takes longer than one delivery may is handed on, and its end is the same.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::crash::{MESSAGES, think};
use crate::rig::{Faults, Rig, Scripted, TestClock, config};

/// A dream whose reasoner takes `minutes` for each thought; gives what it left, how often it was asked, and how many
/// messages it took.
async fn dream(minutes: u64) -> (Vec<String>, Value, usize, usize) {
    let clock: Arc<OnceLock<Arc<TestClock>>> = Arc::default();
    let ticking = Arc::clone(&clock);
    let asked = Arc::new(Scripted::thinking(move |request| {
        if let Some(clock) = ticking.get() {
            clock.pass(Duration::from_mins(minutes));
        }
        Ok(think(request))
    }));
    let rig = Rig::with(config(), Arc::clone(&asked) as _, Faults::none()).await;
    clock.set(Arc::clone(&rig.clock)).unwrap();
    let messages: Vec<Value> = MESSAGES
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text}))
        .collect();
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": messages }))
        .await;
    rig.settle().await;
    rig.faults.replan(|_, _| crate::rig::Fault::None);
    rig.advance(Duration::from_mins(61)).await;
    let mut run = rig.get("/v3/workspaces/w/dreams?observer=maya&observed=maya").await["items"][0].clone();
    assert_eq!(run["status"], "completed", "{run}");
    for key in ["id", "created_at", "started_at", "ended_at"] {
        run.as_object_mut().unwrap().remove(key);
    }
    let sent = rig.faults.calls().iter().filter(|call| *call == "SendMessage").count();
    (rig.texts("w", "maya", "maya").await, run, asked.thoughts(), sent)
}

#[tokio::test]
async fn a_run_that_crosses_its_slice_is_gone_on_with_by_another_delivery() {
    let (texts, run, asked, sent) = dream(0).await;
    assert_eq!(sent, 0);
    // Every thought takes longer than a slice: each answer is stored, and applied by the next delivery.
    let slow = dream(6).await;
    assert_eq!((&slow.0, &slow.1, slow.2), (&texts, &run, asked));
    assert!(slow.3 >= 3, "{} messages", slow.3);
}
