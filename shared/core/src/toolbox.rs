//! The toolbox: the only way in which a dream changes a representation. It, not a prompt, enforces the rules
//! (`design.md` section 6).
//!
//! [`plan`] turns what a reasoner asks for into steps, or says why not; the caller commits each step as one transaction
//! and then applies it to the [`Desk`]. Planning the same operation at the same [`Place`] again yields what is still to
//! be done of it: nothing, once every step is committed.

mod card;
mod create;
mod desk;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod laws;
mod outcome;
mod remove;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::conclusion::{CardEntry, Conclusion, Level, Pattern};
use crate::id::{ConclusionId, RunId};
use crate::run::{Change, RemovalReason};
use crate::time::Time;

pub use create::{MAX_CONTENT_CHARS, tombstone};
pub use outcome::{Outcome, outcome};
pub(crate) use step::pack;
pub use step::{MAX_STEP_BYTES, MAX_STEP_CONCLUSIONS};

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
    /// Only conclusions of one level are duplicates of each other.
    #[error("{0} is not of the same level as the conclusion to keep")]
    Level(String),
    /// The caller gave the same place to two different operations.
    #[error("another operation of the run already created {0}")]
    Taken(String),
    /// The run would have removed too much of the representation without replacing it.
    #[error("the run would remove more than the permitted share of the representation")]
    Shrink,
    /// The card is not to be written, or no entry of it was acceptable. Quotes entries, so it is not for the log.
    #[error("the peer card was left as it is: {0}")]
    Card(String),
}

/// The bounds that the toolbox keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The share of the representation, as it was at the claim, that one run may remove without replacement: 0 to 1.
    /// The number that it permits is rounded down: half of 3 is 1, half of 1 is none.
    pub shrink: f64,
    /// Whether the card may be written.
    pub card_allowed: bool,
}

/// The representation as the toolbox sees it. The caller applies each step to it once the step is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desk {
    /// The live conclusions.
    conclusions: BTreeMap<ConclusionId, Conclusion>,
    /// The same by level and normalised text, so that equals are found without reading all.
    texts: BTreeMap<(Level, String), BTreeSet<ConclusionId>>,
    /// The card; `None` when there never was one.
    pub card: Option<Vec<CardEntry>>,
    /// Normalised texts that were erased through the API, as their [`tombstone`]s, and when.
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

/// Turns an operation into the steps that carry it out, in order; no steps when nothing is left to change.
///
/// Pure: nothing is changed until the caller applies the steps. Ids that name no live conclusion are passed over; the
/// operation is refused when what remains does not satisfy the rules of `design.md` section 6.
pub fn plan(operation: &Operation, desk: &Desk, limits: &Limits, place: &Place) -> Result<Vec<Step>, Rejection> {
    match operation {
        Operation::Create {
            level,
            content,
            sources,
            pattern,
            replaces,
        } => create::plan(*level, content, sources, *pattern, replaces, desk, place),
        Operation::Merge { keep, duplicates } => remove::merge(keep, duplicates, desk),
        Operation::Remove {
            ids,
            reason,
            replaced_by,
        } => remove::remove(ids, *reason, replaced_by.as_ref(), desk, limits),
        Operation::Card { entries } => card::plan(entries, desk, limits),
    }
}
