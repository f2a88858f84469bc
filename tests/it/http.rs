//! The wire: every endpoint through the real router, in a tree that mirrors the URLs (`docs/wire.md`).
//!
//! A test plays calls and compares what was said, word for word, with a snapshot beside it. Clock and ids of the rig are
//! fixed, so nothing is redacted; every script is played twice to prove it. A changed or missing snapshot fails
//! unless `INSTA_UPDATE` says otherwise.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use reverie_core::reasoner::ReasonerError;
use serde_json::{Value, json};

use crate::crash;
use crate::rig::reasoner::verbatim;
use crate::rig::{Faults, Rig, Scripted, config};

mod bad_input;
mod card;
mod conclusions;
mod context;
mod coverage;
mod dreams;
mod filters;
mod limits;
mod messages;
mod peers;
mod queue;
mod random;
mod representation;
mod sessions;
mod unknown;
mod workspaces;

/// One call and its answer.
#[derive(Debug, PartialEq)]
struct Exchange {
    call: String,
    body: Option<Value>,
    status: u16,
    answer: Value,
}

impl Exchange {
    fn shown(&self) -> Value {
        let mut request = json!({ "call": self.call });
        if let Some(body) = &self.body {
            request["body"] = body.clone();
        }
        json!({"request": request, "response": {"status": self.status, "body": self.answer}})
    }
}

/// A rig, and what was said to it.
struct Tape {
    rig: Rig,
    said: Vec<Exchange>,
}

impl Tape {
    async fn new() -> Self {
        // Dreams as the crash harness does: creates with a replacement, merges, writes the card, finds a pattern.
        // Of what is illegible nothing is derived.
        let reasoner = Scripted::thinking(|request| Ok(crash::think(request))).deriving(|request| {
            if request.messages.iter().any(|message| message.content == "illegible") {
                return Err(ReasonerError::permanent("no usable answer".to_owned()));
            }
            Ok(verbatim(request))
        });
        let rig = Rig::with(config(), Arc::new(reasoner), Faults::none()).await;
        Self { rig, said: Vec::new() }
    }

    /// Calls below `/v3/workspaces`, and records it.
    async fn call(&mut self, method: &str, path: &str, body: Option<Value>) -> Value {
        let path = format!("/v3/workspaces{path}");
        let (status, answer) = self.rig.call(method, &path, body.clone()).await;
        let call = format!("{method} {path}");
        self.said.push(Exchange {
            call,
            body,
            status: status.as_u16(),
            answer: answer.clone(),
        });
        answer
    }

    /// Sends text as it is, and records it.
    async fn raw(&mut self, method: &str, path: &str, text: &str) {
        let path = format!("/v3/workspaces{path}");
        let request = Request::builder()
            .method(method)
            .uri(&path)
            .body(Body::from(text.to_owned()))
            .unwrap();
        let (status, answer) = self.rig.send(request).await;
        let (call, body) = (format!("{method} {path}"), Some(text.into()));
        self.said.push(Exchange {
            call,
            body,
            status: status.as_u16(),
            answer,
        });
    }

    async fn get(&mut self, path: &str) -> Value {
        self.call("GET", path, None).await
    }

    async fn post(&mut self, path: &str, body: Value) -> Value {
        self.call("POST", path, Some(body)).await
    }

    /// As `post`, with an idempotency key.
    async fn keyed(&mut self, path: &str, key: &str, body: Value) {
        let path = format!("/v3/workspaces{path}");
        let (status, answer) = self.rig.keyed(&path, key, &body).await;
        let call = format!("POST {path}");
        self.said.push(Exchange {
            call,
            body: Some(json!({"Idempotency-Key": key, "": body})),
            status: status.as_u16(),
            answer,
        });
    }

    /// As `post`, but the body is too large to be recorded.
    async fn post_large(&mut self, path: &str, body: Value) {
        self.post(path, body).await;
        self.said.last_mut().unwrap().body = Some("(large)".into());
    }

    async fn put(&mut self, path: &str, body: Value) -> Value {
        self.call("PUT", path, Some(body)).await
    }

    async fn delete(&mut self, path: &str) -> Value {
        self.call("DELETE", path, None).await
    }

    /// Forgets what was said: it was only the way to what counts.
    fn silence(&mut self) {
        self.said.clear();
    }

    /// A second passes, so that times tell what was first.
    fn tick(&self) {
        self.rig.pass(Duration::from_secs(1));
    }

    /// Maya says what makes a dream worth it, in session `s` of workspace `w`; it is derived, and the timer is armed.
    async fn told(&mut self) {
        let messages: Vec<Value> = crash::MESSAGES
            .iter()
            .map(|text| json!({"peer_id": "maya", "content": text}))
            .collect();
        self.post("/w/sessions/s/messages", json!({ "messages": messages }))
            .await;
        self.rig.settle().await;
        self.silence();
    }

    /// Maya has said it, and an hour later a dream has come; gives its id.
    async fn dreamed(&mut self) -> String {
        self.told().await;
        self.rig.advance(Duration::from_secs(3601)).await;
        let runs = self.get("/w/dreams?observer=maya&observed=maya").await;
        self.silence();
        text(&runs["items"][0]["id"])
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Plays a script in two fresh worlds; what was said must be the same.
async fn play(script: impl AsyncFn(&mut Tape)) -> Vec<Value> {
    let mut first = Tape::new().await;
    script(&mut first).await;
    let mut second = Tape::new().await;
    script(&mut second).await;
    assert_eq!(first.said, second.said, "the same calls were answered differently");
    for said in &first.said {
        let of_contract = match said.status {
            400..=499 => said.answer["detail"].is_string() || said.answer["detail"].is_array(),
            status => status < 400,
        };
        assert!(of_contract, "{said:?}");
    }
    first.said.iter().map(Exchange::shown).collect()
}
