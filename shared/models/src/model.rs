//! The trait that the agents stand on.

use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;

use crate::conversation::{Request, Response};
use crate::error::ModelError;

/// A language model: one model of one provider, with its retries, or several of them behind each other.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Asks and waits for the whole answer. Waits and retries are inside; an error is what is left after them.
    async fn complete(&self, request: &Request) -> Result<Response, ModelError>;

    /// Asks and gives the answer as it is written. Until its first event the call is retried as in
    /// [`LanguageModel::complete`]; what breaks later is an event of the stream. Dropping the stream ends the call.
    async fn stream(&self, request: &Request) -> Result<ResponseStream, ModelError>;
}

/// An answer as it is written: texts, then one [`StreamEvent::Done`], or an error, after which nothing comes.
pub type ResponseStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ModelError>> + Send>>;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// More text; never empty.
    Text(String),
    /// The end, with the whole answer: its text again, calls of tools, why it stopped, what it cost.
    Done(Response),
}
