//! What Reverie's handlers do: post messages, ingest them, dream, undo, reconcile, and tell how things stand.
//!
//! The table is the truth; a queue message is only a hint to look. Every entry point starts by reading state, decides
//! from it, and succeeds quietly when there is nothing to do (`design.md` section 2). The Lambdas and the local program
//! run this very code.

use std::sync::Arc;

use reverie_aws::table::Table;
use reverie_core::config::Config;
use reverie_core::dreaming::Timings;
use reverie_core::id::IdSource;
use reverie_core::ports::{Clock, Queues, Schedules};
use reverie_core::reasoner::{Embedder, Reasoner};
use reverie_core::time::Time;

mod conclude;
mod dream;
mod erase;
mod error;
mod ingest;
#[cfg(feature = "lambda")]
pub mod lambda;
mod letters;
mod machine;
mod post;
mod reconcile;
mod search;
mod status;

pub use conclude::{Found, NewConclusion};
pub use dream::read::{CardChange, CreatedDetail, RemovedDetail, RunDetail, SourceDetail};
pub use dream::request::{Keyed, NewDream, NotCancellable, NotUndoable, Scheduled};
pub use erase::NotDeleted;
pub use error::EngineError;
pub use post::{NewMessage, Posted};
pub use reconcile::Report;
pub use status::{DreamStatus, QueueStatus, SessionUnits, Units};

/// Result of an engine call.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// What an engine is made of.
#[allow(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct EngineParts {
    /// The table.
    pub table: Arc<Table>,
    /// The queues.
    pub queues: Arc<dyn Queues>,
    /// The one-off schedules.
    pub schedules: Arc<dyn Schedules>,
    /// Who derives and thinks.
    pub reasoner: Arc<dyn Reasoner>,
    /// Who makes vectors.
    pub embedder: Arc<dyn Embedder>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// The deployment's settings.
    pub config: Config,
}

/// The engine: every behaviour of Reverie behind its handlers. One per process.
#[allow(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct Engine {
    table: Arc<Table>,
    queues: Arc<dyn Queues>,
    schedules: Arc<dyn Schedules>,
    reasoner: Arc<dyn Reasoner>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    config: Config,
    timings: Timings,
}

impl Engine {
    /// Puts an engine together.
    pub fn new(parts: EngineParts) -> Self {
        let EngineParts {
            table,
            queues,
            schedules,
            reasoner,
            embedder,
            clock,
            ids,
            config,
        } = parts;
        let timings = Timings::of(&config);
        Self {
            table,
            queues,
            schedules,
            reasoner,
            embedder,
            clock,
            ids,
            config,
            timings,
        }
    }

    /// The table, for reads that need no engine.
    pub fn table(&self) -> &Table {
        &self.table
    }

    fn now(&self) -> Time {
        self.clock.now()
    }
}
