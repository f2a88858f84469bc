//! What tests do again and again: say something, ask for a dream, let days pass, and look at what came of it.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use http::StatusCode;
use reverie_core::config::Config;
use reverie_core::offline::Offline;
use reverie_core::ports::QueueName;
use reverie_core::reasoner::Thought;
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use super::{Faults, Rig, Scripted, config};

pub(crate) const MINUTE: Duration = Duration::from_mins(1);
pub(crate) const HOUR: Duration = Duration::from_hours(1);

/// A rig whose reasoner takes every message for a fact and thinks nothing: what counts is when it is asked.
pub(crate) async fn quiet() -> Rig {
    scripted(Scripted::idle()).await
}

/// A rig with a reasoner of one's own.
pub(crate) async fn scripted(reasoner: Scripted) -> Rig {
    Rig::with(config(), Arc::new(reasoner), Faults::none()).await
}

/// The offline reasoner, which dreams only when it is asked to.
pub(crate) async fn offline() -> Rig {
    let config = Config {
        threshold: 10_000,
        ..config()
    };
    Rig::with(config, Arc::new(Offline), Faults::none()).await
}

/// Says one thing a day, each in a session of its own.
pub(crate) async fn days(rig: &Rig, said: &[&str]) {
    for (day, text) in said.iter().enumerate() {
        say(rig, &format!("day{day}-{}", rig.now().micros()), "maya", &[text]).await;
        assert_eq!(rig.settle().await, 0);
        rig.pass(24 * HOUR);
    }
}

/// An answer after which the phase is over.
pub(crate) fn thought(operations: Vec<Operation>) -> Thought {
    Thought {
        operations,
        done: true,
        ..Thought::default()
    }
}

/// Facts that are all different.
pub(crate) fn facts(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("maya noted fact {number}")).collect()
}

/// A peer says something in a session of workspace `w`, in one POST.
pub(crate) async fn say(rig: &Rig, session: &str, peer: &str, texts: &[impl AsRef<str>]) -> Value {
    say_in(rig, "w", session, peer, texts).await
}

pub(crate) async fn say_in(rig: &Rig, workspace: &str, session: &str, peer: &str, texts: &[impl AsRef<str>]) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .map(|text| json!({"peer_id": peer, "content": text.as_ref()}))
        .collect();
    let path = format!("/v3/workspaces/{workspace}/sessions/{session}/messages");
    rig.post(&path, json!({ "messages": messages })).await
}

/// States conclusions through the API.
pub(crate) async fn state(rig: &Rig, observer: &str, observed: &str, texts: &[impl AsRef<str>]) -> Vec<String> {
    for peer in [observer, observed] {
        rig.post("/v3/workspaces/w/peers", json!({ "id": peer })).await;
    }
    let mut ids = Vec::new();
    for chunk in texts.chunks(100) {
        let stated: Vec<Value> = chunk
            .iter()
            .map(|text| json!({"content": text.as_ref(), "observer_id": observer, "observed_id": observed}))
            .collect();
        let answer = rig
            .post("/v3/workspaces/w/conclusions", json!({ "conclusions": stated }))
            .await;
        ids.extend(list(&answer).iter().map(id));
    }
    ids
}

/// Asks for a dream of one's own representation.
pub(crate) async fn ask(rig: &Rig, peer: &str) -> StatusCode {
    ask_for(rig, json!({ "observer": peer })).await.0
}

pub(crate) async fn ask_for(rig: &Rig, body: Value) -> (StatusCode, Value) {
    rig.call("POST", "/v3/workspaces/w/schedule_dream", Some(body)).await
}

/// A dream of maya's own representation, asked for and run; what it changed.
pub(crate) async fn dream(rig: &Rig) -> Value {
    assert_eq!(ask(rig, "maya").await, StatusCode::NO_CONTENT);
    assert_eq!(rig.settle().await, 0);
    newest(rig).await
}

/// The dreams of maya's own representation, newest first.
pub(crate) async fn runs(rig: &Rig) -> Vec<Value> {
    listed(rig, "observer=maya&observed=maya").await
}

pub(crate) async fn listed(rig: &Rig, query: &str) -> Vec<Value> {
    let answer = rig.get(&format!("/v3/workspaces/w/dreams?size=100&{query}")).await;
    list(&answer["items"])
}

pub(crate) async fn detail(rig: &Rig, run: &str) -> Value {
    rig.get(&format!("/v3/workspaces/w/dreams/{run}")).await
}

/// Everything that the newest dream of maya's own representation changed.
pub(crate) async fn newest(rig: &Rig) -> Value {
    let runs = runs(rig).await;
    assert!(!runs.is_empty(), "there is no dream");
    detail(rig, &id(&runs[0])).await
}

/// Why maya's own representation does not dream.
pub(crate) async fn status(rig: &Rig) -> Value {
    rig.get("/v3/workspaces/w/dreams/status?observer=maya").await
}

/// Maya's own view of herself, as text.
pub(crate) async fn texts(rig: &Rig) -> Vec<String> {
    rig.texts("w", "maya", "maya").await
}

pub(crate) async fn card(rig: &Rig) -> Value {
    rig.get("/v3/workspaces/w/peers/maya/card").await["peer_card"].clone()
}

pub(crate) fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap().clone()
}

pub(crate) fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

pub(crate) fn strings(value: &Value) -> Vec<String> {
    list(value)
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// The texts of what a dream created, in order.
pub(crate) fn created(detail: &Value) -> Vec<String> {
    let text = |created: &Value| created["conclusion"]["content"].as_str().unwrap_or("-").to_owned();
    list(&detail["created"]).iter().map(text).collect()
}

/// The texts of what a dream removed, in order.
pub(crate) fn removed(detail: &Value) -> Vec<String> {
    let text = |removed: &Value| removed["content"].as_str().unwrap_or("-").to_owned();
    list(&detail["removed"]).iter().map(text).collect()
}

/// The id of the conclusion of maya's own view that says so.
pub(crate) async fn id_of(rig: &Rig, text: &str) -> String {
    let all = rig.conclusions("w", "maya", "maya").await;
    let found = all.iter().find(|conclusion| conclusion["content"] == text);
    id(found.unwrap_or_else(|| panic!("no conclusion says {text:?}: {all:#?}")))
}

/// Hands out one message of a queue and has it handled; `None` when there is none.
pub(crate) async fn deliver(rig: &Rig, queue: QueueName) -> Option<bool> {
    let delivery = rig.queues.receive(queue, 2 * MINUTE).await.unwrap()?;
    let handled = match queue {
        QueueName::Ingest => rig.engine.handle_ingest(&delivery.body).await,
        QueueName::Dreams => rig.engine.handle_dream(&delivery.body).await,
    };
    if handled.is_ok() {
        rig.queues.delete(queue, &delivery.receipt).await.unwrap();
    }
    Some(handled.is_ok())
}

/// The other end of a reasoner that waits for leave.
pub(crate) struct Gate {
    thinking: mpsc::Receiver<()>,
    leave: mpsc::Sender<()>,
}

/// A reasoner that stops in its first thought until it is let go on; then it thinks nothing. For tests on several
/// threads.
pub(crate) fn gated() -> (Scripted, Gate) {
    let (started, thinking) = mpsc::channel();
    let (leave, wait) = mpsc::channel::<()>();
    let reasoner = Scripted::thinking(move |_| {
        let _nobody_waits = started.send(());
        // Once the other end is gone, nothing is waited for.
        tokio::task::block_in_place(|| _ = wait.recv());
        Ok(Thought {
            done: true,
            ..Thought::default()
        })
    });
    (reasoner, Gate { thinking, leave })
}

impl Gate {
    /// Returns when the reasoner has been asked.
    pub(crate) fn reached(&self) {
        tokio::task::block_in_place(|| self.thinking.recv_timeout(Duration::from_secs(10))).unwrap();
    }

    /// Lets it, and whoever asks later, go on.
    pub(crate) fn open(self) {
        drop(self.leave);
    }
}
