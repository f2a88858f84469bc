//! A model behind a wire: what every dialect must tell, and the client that asks with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::stream;
use serde_json::Value;

use crate::conversation::{OutputSchema, Request, Response};
use crate::endpoint::{Attempts, Call, Endpoint, Misread};
use crate::error::{ModelError, PermanentFault};
use crate::fault::Failure;
use crate::framing::Framing;
use crate::model::{LanguageModel, ResponseStream, StreamEvent};
use crate::reading::Reading;

/// One dialect: how a request is written and an answer is read.
pub(crate) trait Wire: Send + Sync + 'static {
    /// The request as a call; `stream` wants the answer in parts.
    fn call(&self, request: &Request, manner: Manner, stream: bool) -> Call;

    /// Reads a whole answer.
    fn read(&self, answer: &Value) -> Result<Response, Misread>;

    /// How the parts of an answer are told apart.
    fn framing(&self) -> Framing;

    /// Puts the parts of an answer together.
    fn collector(&self) -> Box<dyn Collector>;
}

/// Puts the parts of one answer together, so that it is read like one that came whole.
pub(crate) trait Collector: Send {
    /// Takes a part; gives the text that it adds.
    fn take(&mut self, part: Value) -> Result<String, Misread>;

    /// Whether the answer has come to its own end.
    fn is_whole(&self) -> bool;

    /// The answer as it would have come whole.
    fn answer(&mut self) -> Value;
}

/// What a server turned out not to understand, and how it is said instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// The schema of the answer stands in the instructions, since the server enforces none.
    pub(crate) schema_as_text: bool,
    /// `max_tokens` and `max_completion_tokens` change places.
    pub(crate) other_max_tokens: bool,
}

/// One model.
pub(crate) struct Client<W> {
    model: String,
    wire: Arc<W>,
    endpoint: Endpoint,
    schema_as_text: AtomicBool,
    other_max_tokens: AtomicBool,
}

impl<W: Wire> Client<W> {
    pub(crate) fn new(model: impl Into<String>, wire: W, endpoint: Endpoint, manner: Manner) -> Self {
        Self {
            model: model.into(),
            wire: Arc::new(wire),
            endpoint,
            schema_as_text: AtomicBool::new(manner.schema_as_text),
            other_max_tokens: AtomicBool::new(manner.other_max_tokens),
        }
    }

    fn manner(&self) -> Manner {
        Manner {
            schema_as_text: self.schema_as_text.load(Ordering::Relaxed),
            other_max_tokens: self.other_max_tokens.load(Ordering::Relaxed),
        }
    }

    /// The server refused a request. Whether it may understand another manner, which is kept for all later requests.
    fn learn(&self, error: &ModelError, request: &Request, manner: Manner) -> bool {
        let ModelError::Permanent {
            fault: PermanentFault::InvalidRequest,
            origin,
        } = error
        else {
            return false;
        };
        let said = [origin.code.as_deref(), origin.providers_words()].map(Option::unwrap_or_default);
        let said = said.join(" ").to_lowercase();
        let mentions = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let schema = ["output_config", "output_format", "response_format", "json_schema"];
        let (learnt, what) = if request.output.is_some() && !manner.schema_as_text && mentions(&schema) {
            (&self.schema_as_text, "the schema stands in the instructions")
        } else if !manner.other_max_tokens && mentions(&["max_completion_tokens"]) {
            (&self.other_max_tokens, "the limit of tokens has its other name")
        } else {
            return false;
        };
        learnt.store(true, Ordering::Relaxed);
        tracing::info!(
            model.id = self.model,
            "the server does not take a parameter: {what} from now on"
        );
        true
    }

    /// One attempt at a stream: up to its first event.
    async fn open(&self, call: &Call, body: &str) -> Result<(StreamEvent, Reading<W>), Failure> {
        let sent = self.endpoint.send(call, body).await?;
        let mut reading = Reading::new(Arc::clone(&self.wire), sent, self.endpoint.service()).await?;
        match reading.next().await? {
            Some(first) => Ok((first, reading)),
            None => Err(Reading::<W>::broken()),
        }
    }

    async fn open_with_retries(&self, call: &Call) -> Result<(StreamEvent, Reading<W>), ModelError> {
        let body = call.body.to_string();
        let mut attempts = Attempts::new(&self.endpoint, &self.model);
        loop {
            match attempts.within(self.open(call, &body)).await {
                Ok(opened) => return Ok(opened),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }
}

#[async_trait]
impl<W: Wire> LanguageModel for Client<W> {
    async fn complete(&self, request: &Request) -> Result<Response, ModelError> {
        loop {
            let manner = self.manner();
            let call = self.wire.call(request, manner, false);
            match self
                .endpoint
                .call(&self.model, &call, |answer| self.wire.read(answer))
                .await
            {
                // It ends: each thing is learnt once.
                Err(error) if self.learn(&error, request, manner) => {}
                answer => return answer,
            }
        }
    }

    async fn stream(&self, request: &Request) -> Result<ResponseStream, ModelError> {
        loop {
            let manner = self.manner();
            let call = self.wire.call(request, manner, true);
            match self.open_with_retries(&call).await {
                Ok((first, reading)) => return Ok(events(self.model.clone(), first, reading)),
                Err(error) if self.learn(&error, request, manner) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn events<W: Wire>(model: String, first: StreamEvent, reading: Reading<W>) -> ResponseStream {
    Box::pin(stream::try_unfold(
        (model, Some(first), reading),
        |(model, first, mut reading)| async move {
            if let Some(first) = first {
                return Ok(Some((first, (model, None, reading))));
            }
            match reading.next().await {
                Ok(event) => Ok(event.map(|event| (event, (model, None, reading)))),
                Err(failure) => Err(failure.into_error(&model, reading.now())),
            }
        },
    ))
}

/// The instruction that stands for a schema which the server does not enforce.
pub(crate) fn schema_instruction(output: &OutputSchema) -> String {
    format!(
        "Answer with one JSON value and nothing else: no prose, no code fence. It must be valid under this JSON schema:\n{}",
        output.schema
    )
}
