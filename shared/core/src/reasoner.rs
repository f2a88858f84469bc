//! The port behind which conclusions are derived and dreams think: the offline reasoner, or a language model.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::conclusion::{CardEntry, Conclusion};
use crate::id::{PeerName, Seq};
use crate::message::Message;
use crate::run::{Phase, Usage};
use crate::summary::Kind;
use crate::time::Time;
use crate::toolbox::{Operation, Rejection};

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
    /// Operations of the previous turn that the toolbox refused, with their place in it and why.
    pub refused: &'a [(usize, Rejection)],
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

/// Why a reasoner gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReasonerError {
    /// Asking again later may help: a rate limit, a timeout, an overloaded provider.
    #[error("the reasoner is not available: {0}")]
    Transient(String),
    /// Asking again will not help: the answer does not have the agreed shape, the request is refused.
    #[error("the reasoner gave no usable answer: {0}")]
    Permanent(String),
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
#[error("the embedding model is not available: {0}")]
pub struct EmbedError(pub String);

/// Turns text into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model's id, stored beside every vector.
    fn model(&self) -> &str;

    /// One vector per text, in order.
    async fn embed(&self, texts: &[String]) -> Result<Vec<crate::conclusion::Embedding>, EmbedError>;
}
