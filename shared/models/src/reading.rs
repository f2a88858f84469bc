//! An answer that comes in parts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response as HttpResponse;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reverie_core::time::Time;

use crate::endpoint::{LARGEST_ANSWER, Misread, Sent, Service, next_chunk, parse, whole};
use crate::error::{PermanentFault, TransientFault};
use crate::fault::{Failure, refusal};
use crate::framing::{Frame, Frames};
use crate::model::StreamEvent;
use crate::secret::Secret;
use crate::wire::{Collector, Wire};

/// Longest time that an answer may take to be written.
const LONGEST: Duration = Duration::from_mins(10);

/// Reads one answer as it comes.
pub(crate) struct Reading<W> {
    wire: Arc<W>,
    response: HttpResponse,
    secret: Option<Secret>,
    headers: HeaderMap,
    frames: Frames,
    collector: Box<dyn Collector>,
    ready: VecDeque<StreamEvent>,
    is_over: bool,
    bytes: usize,
    service: Service,
    deadline: Time,
}

impl<W: Wire> Reading<W> {
    /// Of an answer whose status says that it is one. A server that gives it whole though it was asked for parts is
    /// understood.
    pub(crate) async fn new(wire: Arc<W>, sent: Sent, service: &Service) -> Result<Self, Failure> {
        let Sent { response, secret } = sent;
        let headers = response.headers().clone();
        let is_whole = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with("application/json"));
        let mut reading = Self {
            frames: Frames::new(wire.framing()),
            collector: wire.collector(),
            ready: VecDeque::new(),
            is_over: false,
            bytes: 0,
            service: service.clone(),
            deadline: service.pace.now() + LONGEST,
            wire,
            response,
            secret,
            headers,
        };
        if is_whole {
            let read = reading.read_whole().await;
            read.map_err(|failure| failure.without(reading.secret.as_ref()))?;
        }
        Ok(reading)
    }

    /// The next event; none after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamEvent>, Failure> {
        let event = self.event().await;
        event.map_err(|failure| failure.without(self.secret.as_ref()))
    }

    async fn event(&mut self) -> Result<Option<StreamEvent>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.frames.next()? {
                Some(Frame::Part(part)) => {
                    let text = self.collector.take(part).map_err(misread)?;
                    if !text.is_empty() {
                        self.ready.push_back(StreamEvent::Text(text));
                    }
                    if self.frames.ends_with_answer() && self.collector.is_whole() {
                        self.finish()?;
                    }
                }
                Some(Frame::Error(body)) => return Err(refusal(None, &self.headers, &body, self.now())),
                Some(Frame::End) => self.finish()?,
                None => self.read_more().await?,
            }
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.service.pace.now()
    }

    /// The answer ended before its end.
    pub(crate) fn broken() -> Failure {
        Failure::plain(TransientFault::Broken, "the stream ended before the answer did")
    }

    async fn read_more(&mut self) -> Result<(), Failure> {
        let late = |_| Failure::plain(TransientFault::Timeout, "no part of the answer came in time");
        let gap = self.service.limits.gap.min(self.deadline.since(self.now()));
        let chunk = tokio::time::timeout(gap, next_chunk(&mut self.response))
            .await
            .map_err(late)??;
        let Some(chunk) = chunk else { return self.finish() };
        self.bytes += chunk.len();
        if self.bytes > LARGEST_ANSWER {
            return Err(Failure::plain(
                PermanentFault::BadAnswer,
                format!("larger than {LARGEST_ANSWER} bytes"),
            ));
        }
        self.frames.push(&chunk);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if !self.collector.is_whole() {
            return Err(Self::broken());
        }
        let answer = self.wire.read(&self.collector.answer()).map_err(misread)?;
        self.ready.push_back(StreamEvent::Done(answer));
        self.is_over = true;
        Ok(())
    }

    async fn read_whole(&mut self) -> Result<(), Failure> {
        let bytes = whole(&mut self.response, LARGEST_ANSWER).await?;
        let answer = parse(&bytes, &self.headers, self.now())?;
        let answer = self.wire.read(&answer).map_err(misread)?;
        let text = answer.text();
        if !text.is_empty() {
            self.ready.push_back(StreamEvent::Text(text));
        }
        self.ready.push_back(StreamEvent::Done(answer));
        self.is_over = true;
        Ok(())
    }
}

fn misread(Misread(what): Misread) -> Failure {
    Failure::plain(PermanentFault::BadAnswer, what)
}
