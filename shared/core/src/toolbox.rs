//! The toolbox: the only way in which a dream changes a representation. It, not a prompt, enforces the rules
//! (`design.md` section 6).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::conclusion::{CardEntry, Conclusion, Level, Pattern};
use crate::id::{ConclusionId, RunId};
use crate::run::{Change, RemovalReason};
use crate::time::Time;

/// What a reasoner asks for. One operation becomes one transaction, or several that are each valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Operation {
    /// States a new conclusion, and removes what it replaces in the same transaction.
    Create {
        /// Deductive, inductive or contradiction; explicit is refused.
        level: Level,
        /// The statement.
        content: String,
        /// What it follows from.
        sources: Vec<ConclusionId>,
        /// The kind of pattern, for inductive ones.
        pattern: Option<Pattern>,
        /// The conclusions that it makes untrue or superfluous, and why.
        replaces: Vec<(ConclusionId, RemovalReason)>,
    },
    /// Keeps one conclusion and removes its duplicates, which reinforce it.
    Merge {
        /// The one that stays.
        keep: ConclusionId,
        /// The ones that go, with `keep` as their replacement.
        duplicates: Vec<ConclusionId>,
    },
    /// Removes conclusions.
    Remove {
        /// Which.
        ids: Vec<ConclusionId>,
        /// Why.
        reason: RemovalReason,
        /// What stands in their place, if anything.
        replaced_by: Option<ConclusionId>,
    },
    /// Replaces the peer card.
    Card {
        /// The whole new card.
        entries: Vec<CardEntry>,
    },
}

/// Why an operation was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Rejection {
    /// Dreams do not state explicit conclusions.
    #[error("a dream may not create an explicit conclusion")]
    Explicit,
    /// The content is empty once trimmed, or too long.
    #[error("the content has {chars} characters; 1 to {max} are allowed")]
    Content {
        /// How many it has.
        chars: usize,
        /// How many it may have.
        max: usize,
    },
    /// Too few distinct, existing sources.
    #[error("a conclusion of this level needs {needed} sources of this representation, {found} were given")]
    Sources {
        /// How many the level needs.
        needed: usize,
        /// How many of those named exist here.
        found: usize,
    },
    /// A named conclusion is not in this representation.
    #[error("no conclusion {0} in this representation")]
    Unknown(String),
    /// A conclusion would replace itself, or be its own duplicate.
    #[error("{0} cannot stand in for itself")]
    Itself(String),
    /// Equal text was erased through the API after its sources were received.
    #[error("this text was erased by its owner")]
    Erased,
    /// The run would have removed too much of the representation without replacing it.
    #[error("the run would remove more than the permitted share of the representation")]
    Shrink,
    /// The card is not to be written, or no entry of it was acceptable.
    #[error("the peer card was left as it is: {0}")]
    Card(String),
}

/// The bounds that the toolbox keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The share of the representation, as it was at the claim, that one run may remove without replacement: 0 to 1.
    pub shrink: f64,
    /// Whether the card may be written.
    pub card_allowed: bool,
}

/// The representation as the toolbox sees it. The caller applies each step to it once the step is committed.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    /// The live conclusions.
    pub conclusions: BTreeMap<ConclusionId, Conclusion>,
    /// The card; `None` when there never was one.
    pub card: Option<Vec<CardEntry>>,
    /// Normalised texts that were erased through the API, as their tombstones' keyed digests, and when.
    pub tombstones: BTreeMap<String, Time>,
    /// The workspace's key for those digests.
    pub tombstone_key: String,
    /// How many conclusions there were when the run was claimed.
    pub total_at_claim: u64,
    /// How many this run has removed so far without a replacement.
    pub removed_unreplaced: u64,
}

/// Where in a run an operation stands: ids of what it creates come from here, so that repeating it changes nothing.
#[derive(Clone, Debug)]
pub struct Place {
    /// The run.
    pub run: RunId,
    /// When the run was claimed; the time part of created ids and `created_at` of what is created.
    pub at: Time,
    /// The turn, counted over the whole run.
    pub turn: u32,
    /// The operation's place in the turn.
    pub call: u32,
}

/// Changes that belong into one transaction: at most 20 conclusions touched and 3 MB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The changes, in order.
    pub changes: Vec<Change>,
}
