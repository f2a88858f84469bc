//! The ports to the world: the clock, the queues, the one-off schedules.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::time::Time;

mod limits;

pub use limits::Refused;

/// Tells the time; tests set it.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Time;
}

/// The two FIFO queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueName {
    /// Sessions to derive from, and representations whose timer is to be set.
    Ingest,
    /// Dreams to look at, to run, or to go on with.
    Dreams,
}

impl QueueName {
    /// The word in names and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Dreams => "dreams",
        }
    }
}

/// A hint to look. The body carries ids and generations, never user text; group and deduplication id have at most 128
/// characters of the id alphabet and punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Messages of one group are handled in order, one at a time.
    pub group: String,
    /// Names the state that caused the message: equal ids of a group within five minutes are one message.
    pub deduplication: String,
    /// Canonical JSON.
    pub body: String,
}

/// The port failed; trying again may help.
#[derive(Debug, thiserror::Error)]
#[error("{what} failed")]
pub struct PortError {
    /// Which call.
    pub what: &'static str,
    /// Its cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Sends to the FIFO queues. A letter is durable once the call returns.
#[async_trait]
pub trait Queues: Send + Sync {
    /// Sends one letter.
    async fn send(&self, queue: QueueName, letter: Letter) -> Result<(), PortError>;
}

/// A one-off schedule that sends a letter to a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Its name: at most 64 characters of `[0-9a-zA-Z-_.]`, unique per representation and generation.
    pub name: String,
    /// When it fires; AWS fires within the minute after.
    pub at: Time,
    /// The queue that it sends to.
    pub queue: QueueName,
    /// The group of the letter. Its deduplication id is the digest of the body (content-based deduplication).
    pub group: String,
    /// The body of the letter.
    pub body: String,
}

/// Creates and deletes one-off schedules. Durable once the call returns.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Creates a schedule; one of the same name already there is success, and is left as it is.
    async fn create(&self, schedule: Schedule) -> Result<(), PortError>;

    /// Deletes a schedule; none there is success.
    async fn delete(&self, name: &str) -> Result<(), PortError>;
}
