//! Dream runs: what a run is, and the record of what it changed.

use serde::{Deserialize, Serialize};

use crate::conclusion::{CardEntry, Conclusion, Level, Support};
use crate::id::{ConclusionId, RunId};
use crate::time::Time;

/// What a run does. Runs of different types never make each other a no-op (`design.md` section 4, rule 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DreamType {
    /// Deduction with the card, then induction.
    Omni,
    /// The card alone.
    CardRefresh,
    /// A whole omni run against a copy: recorded, nothing changed.
    DryRun,
    /// Takes another run's changes back.
    Undo,
}

impl DreamType {
    /// All four, in the order in which pending runs are started.
    pub const ALL: [Self; 4] = [Self::Undo, Self::Omni, Self::CardRefresh, Self::DryRun];

    /// The wire's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Omni => "omni",
            Self::CardRefresh => "card_refresh",
            Self::DryRun => "dry_run",
            Self::Undo => "undo",
        }
    }
}

/// Why a run exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The idle timer ran out.
    Idle,
    /// A request.
    Manual,
}

impl Trigger {
    /// The wire's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Manual => "manual",
        }
    }
}

/// Where a run stands. The last three are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Requested, not started.
    Pending,
    /// Claimed.
    Running,
    /// Ended well; single phases may have failed, the run names them.
    Completed,
    /// Every phase failed.
    Failed,
    /// Stopped by a user.
    Cancelled,
}

impl Status {
    /// The wire's word under `/v3`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the run has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The parts of a run, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Updates, implications, contradictions, the card.
    Deduction,
    /// Patterns.
    Induction,
    /// The one phase of a card refresh: the card alone.
    Card,
    /// The one phase of an undo run.
    Undo,
}

impl Phase {
    /// The word shown in status and errors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deduction => "deduction",
            Self::Induction => "induction",
            Self::Card => "card",
            Self::Undo => "undo",
        }
    }
}

/// Why a conclusion was removed (`design.md` section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// What it states has changed since.
    Superseded,
    /// Another conclusion says the same.
    Duplicate,
    /// Another conclusion says the opposite, and is to be believed.
    Contradicted,
    /// Anything else.
    Other,
}

impl RemovalReason {
    /// The wire's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Duplicate => "duplicate",
            Self::Contradicted => "contradicted",
            Self::Other => "other",
        }
    }
}

/// What of a conclusion a reinforcement changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strength {
    /// How often it was derived.
    pub times_derived: u32,
    /// The latest event time of all that it rests on: a later restatement makes it current again.
    pub event_at: Time,
    /// The conclusions it follows from.
    pub sources: Vec<ConclusionId>,
    /// The messages it rests on.
    pub support: Vec<Support>,
}

impl Strength {
    /// The values of a conclusion as it stands.
    pub fn of(conclusion: &Conclusion) -> Self {
        Self {
            times_derived: conclusion.times_derived,
            event_at: conclusion.event_at,
            sources: conclusion.sources.clone(),
            support: conclusion.support.clone(),
        }
    }

    /// Gives a conclusion these values.
    pub fn put_on(&self, conclusion: &mut Conclusion) {
        conclusion.times_derived = self.times_derived;
        conclusion.event_at = self.event_at;
        conclusion.sources.clone_from(&self.sources);
        conclusion.support.clone_from(&self.support);
    }
}

/// One change that a run made, as it is recorded and undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A conclusion was created, or, by an undo, restored.
    Created {
        /// The conclusion as stored.
        conclusion: Conclusion,
    },
    /// A conclusion was removed.
    Removed {
        /// The conclusion as it was.
        conclusion: Conclusion,
        /// Why.
        reason: RemovalReason,
        /// What stands in its place.
        replaced_by: Option<ConclusionId>,
    },
    /// A conclusion's strength changed.
    Reinforced {
        /// Which.
        id: ConclusionId,
        /// Its values before.
        before: Strength,
        /// Its values after.
        after: Strength,
    },
    /// The peer card was replaced. `None` is a card that never was.
    Card {
        /// The card before.
        before: Option<Vec<CardEntry>>,
        /// The card after.
        after: Option<Vec<CardEntry>>,
    },
}

impl Change {
    /// The conclusion that changes; `None` where it is the card.
    pub fn conclusion(&self) -> Option<&ConclusionId> {
        match self {
            Self::Created { conclusion } | Self::Removed { conclusion, .. } => Some(&conclusion.id),
            Self::Reinforced { id, .. } => Some(id),
            Self::Card { .. } => None,
        }
    }
}

/// Tokens that a run's models consumed; zero offline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    pub cache_read_input_tokens: u64,
    /// Tokens written to it.
    pub cache_creation_input_tokens: u64,
}

impl Usage {
    /// All tokens, read and written, cached or not: what a budget counts.
    pub fn total(&self) -> u64 {
        [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
    }
}

/// How a referenced conclusion stands when a run is read (seed 000, "How referenced conclusions resolve").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Still in the representation.
    Current {
        /// Its text.
        content: String,
        /// Its level.
        level: Level,
    },
    /// A dream removed it; the text as it was.
    Removed {
        /// Its text.
        content: String,
        /// Its level.
        level: Level,
        /// The run that removed it.
        removed_in_run: RunId,
    },
    /// Erased, or past retention.
    Unavailable,
}

/// Why a run could not be undone in full: a change that something later touched, left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The conclusion, or `None` for the card.
    pub conclusion: Option<ConclusionId>,
    /// What stood in the way, as a sentence fragment.
    pub reason: String,
}
