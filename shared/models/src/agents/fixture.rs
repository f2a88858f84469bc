//! Small memories, calls, and a model that says what it is told to, for the tests of the agents.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use reverie_core::conclusion::{Conclusion, Level, Origin, SessionRef, Support};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, Seq, SessionName, SessionUid, WorkspaceUid};
use reverie_core::message::Message;
use reverie_core::offline::StaticEmbedder;
use reverie_core::run::Usage;
use reverie_core::time::Time;
use serde_json::{Map, Value};

use crate::conversation::{Content, Request, Response, StopReason, ToolInput, ToolUse};
use crate::error::ModelError;
use crate::model::{LanguageModel, ResponseStream};

/// 2026-03-01T00:00:00Z.
const START: i64 = 1_772_323_200;

pub(super) fn day(number: usize) -> Time {
    Time::from_seconds(START + 86_400 * i64::try_from(number).unwrap())
}

pub(super) fn sam() -> PeerName {
    PeerName::trusted("sam")
}

/// Explicit conclusions about sam, one a day.
pub(super) fn stating(texts: &[&str]) -> Vec<Conclusion> {
    let representation = RepresentationId::of(&WorkspaceUid::trusted("w"), &sam(), &sam());
    let session = SessionUid::trusted("session");
    (0..)
        .zip(texts)
        .map(|(number, text)| Conclusion {
            id: ConclusionId::new(&representation, day(number), &[text, &number.to_string()]),
            content: (*text).to_owned(),
            level: Level::Explicit,
            session: Some(SessionRef {
                uid: session.clone(),
                name: SessionName::trusted("s"),
            }),
            created_at: day(number),
            event_at: day(number),
            times_derived: 1,
            sources: Vec::new(),
            support: vec![Support {
                session: session.clone(),
                messages: vec![Seq(number as u64 + 1)],
            }],
            pattern: None,
            origin: Origin::Deriver,
            embedding: Some(StaticEmbedder::load().unwrap().vector(text)),
        })
        .collect()
}

pub(super) fn said(number: u64, peer: &str, content: &str) -> Message {
    let at = Time::from_seconds(START + 3_600 * i64::try_from(number).unwrap());
    Message {
        seq: Seq(100 + number),
        peer: PeerName::trusted(peer),
        content: content.to_owned(),
        metadata: Map::new(),
        configuration: None,
        created_at: at,
        arrived_at: at,
        tokens: 10,
    }
}

pub(super) fn call(name: &str, arguments: &Value) -> ToolUse {
    ToolUse {
        id: format!("call-{name}"),
        name: name.to_owned(),
        input: ToolInput::parse(&arguments.to_string()),
    }
}

/// An answer that calls tools.
pub(super) fn calling(calls: &[(&str, Value)]) -> Response {
    let uses = (0..).zip(calls).map(|(number, (name, arguments)): (usize, _)| {
        Content::ToolUse(ToolUse {
            id: format!("c{number}"),
            ..call(name, arguments)
        })
    });
    Response {
        content: uses.collect(),
        stop: StopReason::ToolUse,
        ..saying("")
    }
}

/// An answer of text.
pub(super) fn saying(text: &str) -> Response {
    Response {
        model: "scripted".to_owned(),
        content: if text.is_empty() {
            Vec::new()
        } else {
            vec![Content::text(text)]
        },
        stop: StopReason::EndTurn,
        usage: Usage {
            input_tokens: 100,
            output_tokens: 10,
            ..Usage::default()
        },
    }
}

/// Gives its answers in order, and keeps what it was asked.
#[derive(Default)]
pub(super) struct Scripted {
    answers: Mutex<VecDeque<Response>>,
    asked: Mutex<Vec<Request>>,
}

impl Scripted {
    pub(super) fn new(answers: impl IntoIterator<Item = Response>) -> Self {
        Self {
            answers: Mutex::new(answers.into_iter().collect()),
            asked: Mutex::default(),
        }
    }

    pub(super) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl LanguageModel for Scripted {
    async fn complete(&self, request: &Request) -> Result<Response, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        Ok(self.answers.lock().unwrap().pop_front().unwrap())
    }

    async fn stream(&self, _: &Request) -> Result<ResponseStream, ModelError> {
        panic!("dreams do not stream")
    }
}

/// The result of a future that never waits.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ready) => ready,
        Poll::Pending => panic!("it waits"),
    }
}
