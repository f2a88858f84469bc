//! Why the engine could not do what it was asked.

use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::failures::FailureKind;
use reverie_aws::table::sessions::SessionError;
use reverie_core::ports::PortError;
use reverie_core::reasoner::{EmbedError, ReasonerError};
use reverie_core::settings::DecidedBy;

/// An engine call failed. Nothing that was accepted is lost: a handler's message comes back.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The table failed.
    #[error("the table failed")]
    Table(#[from] TableError),
    /// A session or its members could not be changed.
    #[error("the session could not be changed")]
    Session(#[from] SessionError),
    /// A queue or the scheduler failed.
    #[error("a queue or the scheduler failed")]
    Port(#[from] PortError),
    /// The reasoner failed.
    #[error("the reasoner failed")]
    Reasoner(#[from] ReasonerError),
    /// The reasoner failed, and would fail again: it is the messages' fault.
    #[error("the reasoner cannot deal with the messages")]
    AtFault {
        /// In which way.
        kind: FailureKind,
        /// How it failed.
        #[source]
        source: ReasonerError,
    },
    /// The embedding model failed.
    #[error("the embedding model failed")]
    Embed(#[from] EmbedError),
    /// A queue message is not one of ours.
    #[error("the queue message cannot be read")]
    Letter(#[source] serde_json::Error),
    /// What was named is not there.
    #[error("{what} {name} not found")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Dreams are off, and this level says so.
    #[error("dreams are disabled by the {}", .0.as_str())]
    DreamsDisabled(DecidedBy),
    /// What was sent cannot be stored.
    #[error("{0} is too large")]
    TooLarge(&'static str),
    /// The session is being deleted.
    #[error("session {0} is being deleted")]
    SessionGone(String),
    /// The idempotency key came with another request before.
    #[error("the idempotency key was used with another request")]
    KeyReused,
    /// The same request was answered before, and what it made is gone.
    #[error("what the same request made has been deleted")]
    AnswerGone,
    /// A batch or a run waits before it is tried again.
    #[error("waiting {} s before the next attempt", .0.as_secs())]
    Later(Duration),
}

impl EngineError {
    /// How long the message should wait before it is delivered again; `None` leaves it to the queue.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Later(delay) => Some(*delay),
            // Waiting makes nobody able to read it, and its group waits as long.
            Self::Letter(_) => Some(Duration::from_secs(5)),
            _ => None,
        }
    }
}
