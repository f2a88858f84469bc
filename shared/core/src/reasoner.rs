//! The port behind which conclusions are derived and dreams think: the offline reasoner, or a language model.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conclusion::{CardEntry, Conclusion};
use crate::id::{PeerName, Seq};
use crate::message::Message;
use crate::run::{Phase, Usage};
use crate::summary::Kind;
use crate::time::Time;
use crate::toolbox::{Operation, Outcome};

/// A batch of one session's messages to derive conclusions from.
#[derive(Clone, Debug)]
pub struct DeriveRequest<'a> {
    /// The messages, in order.
    pub messages: &'a [Message],
    /// The peers about whom conclusions are wanted; facts about others are dropped.
    pub observed: &'a [PeerName],
    /// Users' instructions for the deriver, the same for all of the messages.
    pub instructions: Option<&'a str>,
}

/// One statement that a batch supports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The peer it is about.
    pub about: PeerName,
    /// The statement: atomic, self-contained, the peer's name as its subject.
    pub content: String,
    /// The messages of the batch that say so, at least one.
    pub messages: Vec<Seq>,
    /// The event time: when the latest of them was said.
    pub event_at: Time,
}

/// What a batch yielded. Stored before it is applied, so that no batch is ever derived twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// The statements, in the order of their messages.
    pub statements: Vec<Statement>,
    /// What it cost.
    pub usage: Usage,
}

/// One step of a phase's thinking: what the reasoner is shown.
#[derive(Clone, Debug)]
pub struct ThinkRequest<'a> {
    /// The phase; `Phase::Undo` is never asked.
    pub phase: Phase,
    /// The turn within the phase, from 0.
    pub turn: u32,
    /// Whose view it is.
    pub observer: &'a PeerName,
    /// Whom it is about.
    pub observed: &'a PeerName,
    /// Every conclusion of the representation, oldest first.
    pub conclusions: &'a [Conclusion],
    /// The card as it stands; `None` when there is none yet.
    pub card: Option<&'a [CardEntry]>,
    /// Whether the card may be written.
    pub card_allowed: bool,
    /// Users' instructions for dreams.
    pub instructions: Option<&'a str>,
    /// Users' instructions for the card, on top of those and within the kinds of entries that a card may have.
    pub card_instructions: Option<&'a str>,
    /// When the last dream that counts ended; what was made later is new to this one.
    pub last_dream_at: Option<Time>,
    /// Whether nothing was said or stated since a dream that ran whole, so that thinking again would find the same.
    pub nothing_new: bool,
    /// What the phase's earlier turns left to be remembered ([`Thought::memory`]), in order.
    pub earlier: &'a [Value],
    /// What became of the last turn's operations, in their order.
    pub outcomes: &'a [Outcome],
    /// The messages that the conclusions rest on.
    pub messages: &'a dyn Sources,
}

impl ThinkRequest<'_> {
    /// Whether the toolbox refused something that the last turn wanted.
    pub fn was_refused(&self) -> bool {
        self.outcomes
            .iter()
            .any(|outcome| matches!(outcome, Outcome::Refused(_)))
    }
}

/// Reads what the conclusions of the representation at hand rest on, and nothing else.
#[async_trait]
pub trait Sources: fmt::Debug + Send + Sync {
    /// The newest messages that support a conclusion, at most `limit`, oldest first. Those of sessions that are gone or
    /// being deleted are left out.
    async fn messages_of(&self, conclusion: &Conclusion, limit: usize) -> Result<Vec<Message>, ReasonerError>;
}

/// Where no messages can be read.
#[derive(Clone, Copy, Debug)]
pub struct NoSources;

#[async_trait]
impl Sources for NoSources {
    async fn messages_of(&self, _: &Conclusion, _: usize) -> Result<Vec<Message>, ReasonerError> {
        Ok(Vec::new())
    }
}

/// What the reasoner wants done. Stored before its first effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thought {
    /// The operations, in order.
    pub operations: Vec<Operation>,
    /// Whether the phase is over once they are done.
    pub done: bool,
    /// What it cost.
    pub usage: Usage,
    /// What the reasoner must remember of this turn for the next: stored with the answer, given back as it is. Null
    /// where it remembers nothing.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub memory: Value,
}

/// A stretch of a session to summarise.
#[derive(Clone, Debug)]
pub struct SummaryRequest<'a> {
    /// Which of the session's two summaries.
    pub kind: Kind,
    /// The summary of everything before the messages, which the new one carries on; `None` for the first.
    pub previous: Option<&'a str>,
    /// The messages since, in order.
    pub messages: &'a [Message],
    /// The most tokens that the summary may have.
    pub max_tokens: u32,
    /// Users' instructions for summaries.
    pub instructions: Option<&'a str>,
}

/// What a session has been about up to a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The text; not blank.
    pub content: String,
    /// What it cost.
    pub usage: Usage,
}

/// Why a reasoner gave no answer. What it says is shown and logged, so it quotes neither what was asked nor what was
/// answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReasonerError {
    /// Asking again later may help: a rate limit, a timeout, an overloaded provider.
    #[error("the reasoner is not available: {reason}")]
    Transient {
        /// What went wrong.
        reason: String,
        /// Not before then, where the provider said so.
        retry_at: Option<Time>,
    },
    /// Asking the same again will not help: the answer does not have the agreed shape, the request is refused.
    #[error("the reasoner gave no usable answer: {reason}")]
    Permanent {
        /// What went wrong.
        reason: String,
        /// What the useless answers cost.
        usage: Usage,
    },
    /// Nothing is answered, whatever is asked, before somebody changes something: the key, a permission, the bill, the
    /// model's name.
    #[error("the reasoner cannot be asked: {reason}")]
    Setup {
        /// What went wrong.
        reason: String,
    },
}

impl ReasonerError {
    /// A failure that may pass; when is not known.
    pub fn transient(reason: impl Into<String>) -> Self {
        Self::Transient {
            reason: reason.into(),
            retry_at: None,
        }
    }

    /// A failure that stays; what it cost is not known.
    pub fn permanent(reason: impl Into<String>) -> Self {
        Self::Permanent {
            reason: reason.into(),
            usage: Usage::default(),
        }
    }

    /// Whether it is the fault of what was asked or answered, not of the world around it.
    pub const fn is_permanent(&self) -> bool {
        matches!(self, Self::Permanent { .. })
    }

    /// How long to wait, from `now`, before asking again, where the provider said so.
    pub fn retry_after(&self, now: Time) -> Option<Duration> {
        match self {
            Self::Transient { retry_at: Some(at), .. } => Some(at.since(now)),
            _ => None,
        }
    }
}

/// Derives conclusions, summarises sessions and thinks in dreams.
#[async_trait]
pub trait Reasoner: Send + Sync {
    /// Whether asking costs enough that messages are better gathered into batches first (`design.md` section 5, "Gate").
    fn wants_batches(&self) -> bool {
        false
    }

    /// Derives statements from a batch.
    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError>;

    /// Summarises a session once more: what its previous summary says, and the messages since.
    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError>;

    /// Takes one turn of a dream's phase.
    async fn think(&self, request: ThinkRequest<'_>) -> Result<Thought, ReasonerError>;
}

/// Why no vector came back.
#[derive(Debug, thiserror::Error)]
#[error("the embedding model is not available: {reason}")]
pub struct EmbedError {
    /// What went wrong.
    pub reason: String,
    /// Whether too much was asked for at once: then no text is at fault.
    pub busy: bool,
}

impl EmbedError {
    /// A failure that may be a text's fault, or the model's.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            busy: false,
        }
    }
}

/// Turns text into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model's id, stored beside every vector.
    fn model(&self) -> &str;

    /// One vector per text, in order.
    async fn embed(&self, texts: &[String]) -> Result<Vec<crate::conclusion::Embedding>, EmbedError>;
}
