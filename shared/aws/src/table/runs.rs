//! Dream runs: the run, the record of what it changed, and what its reasoner answered.
//!
//! | item | key | due index |
//! |---|---|---|
//! | run: lease, fence, progress, counts | `R#<representation id>` / `RUN#<run id>` | `run` at the end of its lease, or a minute after its request |
//! | change: one row per conclusion and operation | `D#<run id>` / `R#<place>` | – |
//! | checkpoint: a turn's answer, until the run ends | `D#<run id>` / `K#<turn>#<part>` | – |
//!
//! Every transaction of a run updates the run's item under its fence and status, so that a paused, duplicated or revived
//! executor, and one whose run was cancelled, can do no harm. Places sort in the order of the changes.

use std::collections::HashMap;
use std::time::Duration;

use reverie_core::conclusion::{CardEntry, Conclusion, Level, SessionRef};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, RunId, WorkspaceUid};
use reverie_core::run::{Conflict, DreamType, Phase, RemovalReason, Status, Strength, Trigger, Usage};
use reverie_core::time::Time;
use reverie_core::toolbox::Rejection;
use serde::{Deserialize, Serialize};

use super::due::{DueKind, due_key};
use super::expression::{Condition, n, s};
use super::messages::{packed, unpacked};
use super::representations::partition;
use super::{Key, Query, Result, Table, TableError, Write, from_item, to_item, with_due};
use aws_sdk_dynamodb::types::AttributeValue;

/// How long a claim holds without renewal.
pub const LEASE: Duration = Duration::from_mins(2);
/// How often a pruned run is looked at, whether anything of it is left.
const LOOK_AT_PRUNED: Duration = Duration::from_hours(24);
/// The most bytes of a turn's answer, before compression: what one transaction takes even where that gains nothing.
const LARGEST_CHECKPOINT: usize = 3_000_000;
/// How many stored answers the transaction that ends a run may forget, beside its other writes.
const CHECKPOINTS_AT_ONCE: usize = 80;
/// How long a pending run may wait before the reconciler sends its message again.
const PENDING_PATIENCE: Duration = Duration::from_mins(1);

/// Where a run stands: what is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The phase: an index into the run's phases.
    pub phase: u32,
    /// The turn, counted over the whole run.
    pub turn: u32,
    /// The turn within the phase.
    pub phase_turn: u32,
    /// The next operation of the turn's answer.
    pub operation: u32,
    /// The next step of that operation.
    pub step: u32,
}

/// A dream run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id, which names the representation.
    pub id: RunId,
    /// Its workspace.
    pub workspace_uid: WorkspaceUid,
    /// Whose view.
    pub observer: PeerName,
    /// Of whom.
    pub observed: PeerName,
    /// What it does.
    pub dream_type: DreamType,
    /// Why it exists.
    pub trigger: Trigger,
    /// Where it stands.
    pub status: Status,
    /// When it was requested, or claimed.
    pub created_at: Time,
    /// When it was claimed.
    pub started_at: Option<Time>,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// Conclusions created, gross.
    pub created_count: u32,
    /// Conclusions removed, gross.
    pub removed_count: u32,
    /// Conclusions reinforced, gross.
    pub reinforced_count: u32,
    /// Whether it changed the card.
    pub peer_card_updated: bool,
    /// When the texts of its record are past retention; known once it has ended.
    #[serde(default)]
    pub prune_at: Option<Time>,
    /// When they went.
    pub pruned_at: Option<Time>,
    /// When a pruned run is looked at again, whether anything of it is left.
    #[serde(default)]
    pub look_at: Option<Time>,
    /// The conclusions it created that were left when its texts went.
    #[serde(default)]
    pub kept: Vec<ConclusionId>,
    /// Until when DynamoDB keeps those texts at the longest; `None`: nothing is recorded, and the run goes when it ends.
    #[serde(default)]
    pub texts_until: Option<Time>,
    /// What its reasoner consumed.
    pub usage: Usage,
    /// What went wrong, per phase, and notes such as an exhausted budget.
    pub errors: Vec<String>,
    /// Phases that failed.
    pub failed_phases: Vec<Phase>,
    /// Whether a card refresh starts from nothing instead of from the card as it stands.
    #[serde(default)]
    pub rebuild: bool,
    /// The run that it takes back.
    pub undo_of: Option<RunId>,
    /// The run that took it back.
    pub undone_by: Option<RunId>,
    /// What an undo had to leave as it is.
    pub conflicts: Vec<Conflict>,
    /// The session it was requested for: its settings decide.
    pub session: Option<SessionRef>,
    /// Raised by every takeover.
    pub fence: u64,
    /// Raised by every write: who read version n writes n + 1 or nothing.
    #[serde(default)]
    pub version: u64,
    /// Takeovers since the last progress.
    #[serde(default)]
    pub takeovers: u32,
    /// Until when the executor holds it.
    pub lease_until: Option<Time>,
    /// What is committed.
    pub progress: Progress,
    /// Conclusions at the claim: what the shrink guard measures by.
    pub total_at_claim: u64,
    /// Removed so far without a replacement.
    pub removed_unreplaced: u64,
    /// Transient failures since the last progress.
    pub attempts: u32,
    /// How the operations of the current phase have fared.
    #[serde(default)]
    pub tally: Tally,
    /// What the toolbox refused of the turn at hand, by place: the next turn is shown it, after a crash, too. May quote
    /// text, and goes when the run ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(usize, Rejection)>,
}

/// How the operations of a phase have fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Carried out, or with nothing left to change.
    pub carried_out: u32,
    /// Refused by the toolbox.
    pub refused: u32,
}

impl Run {
    /// Its representation.
    pub fn representation(&self) -> RepresentationId {
        self.id.representation()
    }

    /// The same with its lease until then.
    #[must_use]
    pub fn leased_until(&self, until: Time) -> Self {
        Self {
            lease_until: Some(until),
            ..self.clone()
        }
    }

    /// Whether it records what it changes.
    pub fn is_recorded(&self) -> bool {
        self.texts_until.is_some()
    }

    /// Whether it has changed anything so far; a dry run, whether it would have.
    pub fn changed_anything(&self) -> bool {
        self.created_count + self.removed_count + self.reinforced_count > 0 || self.peer_card_updated
    }

    /// When the texts of its record went, or should have: what was removed and the card are then gone for every reader,
    /// whether the reconciler has come by or not.
    pub fn pruned(&self, now: Time) -> Option<Time> {
        self.pruned_at.or(self.prune_at.filter(|at| *at <= now))
    }
}

/// One change, as it is recorded: ids, and text only where nothing else keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Row {
    /// A conclusion was created or restored.
    Created {
        /// Which.
        id: ConclusionId,
        /// Its level.
        level: Level,
        /// Its strength as created.
        strength: Strength,
        /// The conclusion, where it is stored nowhere else: in a dry run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        planned: Option<Box<Conclusion>>,
    },
    /// A conclusion was removed; its text is in its grave.
    Removed {
        /// Which.
        id: ConclusionId,
        /// Its level.
        level: Level,
        /// Its strength as removed.
        strength: Strength,
        /// Why.
        reason: RemovalReason,
        /// What stands in its place.
        replaced_by: Option<ConclusionId>,
    },
    /// A conclusion's strength changed.
    Reinforced {
        /// Which.
        id: ConclusionId,
        /// Before.
        before: Strength,
        /// After.
        after: Strength,
    },
    /// The card changed.
    Card {
        /// Before; `None` when there was none.
        before: Option<Vec<CardEntry>>,
        /// After.
        after: Option<Vec<CardEntry>>,
    },
}

/// The stored answers of a run.
#[derive(Clone, Debug)]
pub struct Checkpoints(pub(crate) Vec<Key>);

pub(crate) fn run_key(id: &RunId) -> Key {
    Key::new(partition(&id.representation()), format!("RUN#{id}"))
}

pub(crate) fn record(run: &RunId) -> String {
    format!("D#{run}")
}

fn row_key(run: &RunId, progress: Progress, place: usize) -> Key {
    let Progress {
        turn, operation, step, ..
    } = progress;
    Key::new(record(run), format!("R#{turn:04}#{operation:06}#{step:04}#{place:04}"))
}

/// Records a change at its place; repeating it changes nothing. Rows that hold text, or say what a text was, expire.
pub(crate) fn put_row(run: &Run, place: usize, row: &Row) -> Result<Write> {
    let mut item = to_item(&row_key(&run.id, run.progress, place), "change", row)?;
    if !matches!(row, Row::Created { planned: None, .. }) {
        item.extend(expiry(run));
    }
    Ok(Write::put(item))
}

/// The time to live of a run's texts: the last resort, days after the reconciler should have removed them.
pub(crate) fn expiry(run: &Run) -> Option<(String, AttributeValue)> {
    run.texts_until
        .map(|until| (super::schema::key::TTL.to_owned(), n(until.seconds())))
}

fn item(run: &Run) -> Result<super::Item> {
    let item = to_item(&run_key(&run.id), "run", run)?;
    let due = match run.status {
        Status::Pending => Some(run.created_at + PENDING_PATIENCE),
        Status::Running => run.lease_until,
        Status::Completed | Status::Failed | Status::Cancelled => {
            let at = run.look_at.or(run.prune_at);
            return Ok(match at {
                Some(at) => with_due(item, &due_key(DueKind::Prune, run.id.as_str(), at)),
                None => item,
            });
        }
    };
    Ok(match due {
        Some(at) => with_due(item, &due_key(DueKind::Run, run.id.as_str(), at)),
        None => item,
    })
}

/// A new run.
pub(crate) fn create(run: &Run) -> Result<Write> {
    Ok(Write::put(item(run)?).if_absent())
}

/// Forgets a run that ends without a record, provided that fence and status are what they were when it was read.
pub(crate) fn remove(before: &Run) -> Write {
    Write::delete(run_key(&before.id)).when(held(before))
}

/// The answer that lies in these items.
fn joined<T: serde::de::DeserializeOwned>(parts: &[super::Item]) -> Result<T> {
    let text = parts.iter().map(unpacked::<String>).collect::<Result<String>>()?;
    serde_json::from_str(&text).map_err(|source| TableError::Malformed {
        key: parts.first().map(|part| Key::of(part).text()).unwrap_or_default(),
        source: Box::new(source),
    })
}

fn held(before: &Run) -> Condition {
    Condition::All(vec![
        Condition::Equals("fence", n(before.fence)),
        Condition::Equals("status", s(before.status.as_str())),
        Condition::Equals("version", n(before.version)),
    ])
}

/// The run's next state, provided that fence and status are what they were when it was read.
pub(crate) fn update(before: &Run, after: &Run) -> Result<Write> {
    let after = Run {
        version: before.version + 1,
        ..after.clone()
    };
    Ok(Write::put(item(&after)?).when(held(before)))
}

impl Table {
    /// A run.
    pub async fn run(&self, id: &RunId) -> Result<Option<Run>> {
        self.get_as(&run_key(id)).await
    }

    /// A representation's runs, newest first.
    pub async fn runs(&self, representation: &RepresentationId, limit: Option<usize>) -> Result<Vec<Run>> {
        let mut query = Query::of(partition(representation)).prefix("RUN#").reverse(true);
        if let Some(limit) = limit {
            query = query.limit(limit);
        }
        self.query(query).await?.into_iter().map(from_item).collect()
    }

    /// What a run changed, in order.
    pub async fn rows(&self, run: &RunId) -> Result<Vec<Row>> {
        self.query(Query::of(record(run)).prefix("R#"))
            .await?
            .into_iter()
            .map(from_item)
            .collect()
    }

    /// Takes a run over whose lease has run out. `None` when it has not, or somebody else was faster.
    pub async fn take_over(&self, run: &Run, now: Time) -> Result<Option<Run>> {
        let mut taken = run.clone();
        taken.fence += 1;
        taken.takeovers += 1;
        taken.lease_until = Some(now + LEASE);
        self.update_run(run, &taken).await
    }

    /// Writes a run's next state on its own; `None` when somebody else has it, or it has ended.
    pub async fn update_run(&self, before: &Run, after: &Run) -> Result<Option<Run>> {
        match self.transact(&[update(before, after)?]).await {
            Ok(()) => Ok(Some(Run {
                version: before.version + 1,
                ..after.clone()
            })),
            Err(TableError::Condition(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A turn's stored answer.
    pub async fn checkpoint<T: serde::de::DeserializeOwned>(&self, run: &RunId, turn: u32) -> Result<Option<T>> {
        let parts = self
            .query(Query::of(record(run)).prefix(format!("K#{turn:04}#")))
            .await?;
        if parts.is_empty() {
            return Ok(None);
        }
        Ok(Some(joined(&parts)?))
    }

    /// The stored answers of some turns, in order.
    pub async fn earlier_checkpoints<T: serde::de::DeserializeOwned>(
        &self,
        run: &RunId,
        turns: std::ops::Range<u32>,
    ) -> Result<Vec<T>> {
        let (low, high) = (format!("K#{:04}", turns.start), format!("K#{:04}", turns.end));
        let parts = self.query(Query::of(record(run)).between(low, high)).await?;
        let turn = |item: &super::Item| Key::of(item).sk.split('#').nth(1).map(str::to_owned);
        parts.chunk_by(|a, b| turn(a) == turn(b)).map(joined).collect()
    }

    /// Stores a turn's answer under the run's fence, before its first effect. Long answers lie in several items, written
    /// in one transaction with the run's.
    pub async fn store_checkpoint<T: Serialize + Sync>(
        &self,
        before: &Run,
        after: &Run,
        answer: &T,
    ) -> Result<Option<Run>> {
        /// Characters per part: under an item's limit even where compression gains nothing.
        const PART: usize = 90_000;
        let text = serde_json::to_string(answer).map_err(|source| TableError::Call {
            what: "encode an answer",
            source: Box::new(source),
        })?;
        if text.len() > LARGEST_CHECKPOINT {
            return Err(TableError::TooLarge("the reasoner's answer"));
        }
        let characters: Vec<char> = text.chars().collect();
        let parts: Vec<String> = characters.chunks(PART).map(|part| part.iter().collect()).collect();
        let turn = before.progress.turn;
        let mut writes = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let key = Key::new(record(&before.id), format!("K#{turn:04}#{place:04}"));
            writes.push(Write::put(packed(&key, "checkpoint", part)?));
        }
        writes.push(update(before, after)?);
        match self.transact(&writes).await {
            Ok(()) => Ok(Some(Run {
                version: before.version + 1,
                ..after.clone()
            })),
            Err(TableError::Condition(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A run's stored answers, to be forgotten in the transaction that ends it: they hold text. When there are more than
    /// one transaction takes, the oldest go at once; nothing asks for them any more.
    pub async fn checkpoints(&self, run: &RunId) -> Result<Checkpoints> {
        let parts = self.query(Query::of(record(run)).prefix("K#")).await?;
        let mut keys: Vec<Key> = parts.iter().map(Key::of).collect();
        let last = keys.split_off(keys.len().saturating_sub(CHECKPOINTS_AT_ONCE));
        for chunk in keys.chunks(super::TRANSACTION_ITEMS) {
            let deletes: Vec<_> = chunk.iter().cloned().map(Write::delete).collect();
            self.transact(&deletes).await?;
        }
        Ok(Checkpoints(last))
    }

    /// The rows of a representation's runs that hold text themselves: cards, and what dry runs planned.
    pub(crate) async fn recorded_texts(&self, representation: &RepresentationId) -> Result<Vec<(Key, Row)>> {
        let mut texts = Vec::new();
        for run in self.runs(representation, None).await? {
            if !run.peer_card_updated && run.dream_type != DreamType::DryRun {
                continue;
            }
            for item in self.query(Query::of(record(&run.id)).prefix("R#")).await? {
                let key = Key::of(&item);
                let row = from_item(item)?;
                if matches!(row, Row::Card { .. } | Row::Created { planned: Some(_), .. }) {
                    texts.push((key, row));
                }
            }
        }
        Ok(texts)
    }

    /// The runs among `ids` that exist.
    pub async fn runs_by_id(&self, ids: impl IntoIterator<Item = &RunId>) -> Result<HashMap<RunId, Run>> {
        let items = self.get_many(ids.into_iter().map(run_key)).await?;
        items
            .into_values()
            .map(|item| from_item::<Run>(item).map(|run| (run.id.clone(), run)))
            .collect()
    }

    /// Removes what is past retention: the texts of what the run removed, the rows that say so, the card; then the run
    /// itself, when nothing that it created is left. May stop anywhere and be done again.
    pub async fn prune_run(&self, run: &Run, now: Time) -> Result<()> {
        let items = self.query(Query::of(record(&run.id)).prefix("R#")).await?;
        let mut created = Vec::new();
        let mut removed = Vec::new();
        let mut rows = Vec::new();
        for item in items {
            let key = Key::of(&item);
            match from_item(item)? {
                Row::Created { id, planned: None, .. } => created.push((key, id)),
                Row::Removed { id, .. } => {
                    removed.push(id);
                    rows.push(key);
                }
                _ => rows.push(key),
            }
        }
        let ids: Vec<ConclusionId> = created.iter().map(|(_, id)| id.clone()).collect();
        let live = self.conclusions_by_id(&ids).await?;
        rows.extend(
            created
                .iter()
                .filter(|(_, id)| !live.contains_key(id))
                .map(|(key, _)| key.clone()),
        );
        let mut deletes = self.graves_of(&run.id, &removed).await?;
        deletes.extend(rows.into_iter().map(Write::delete));
        for chunk in deletes.chunks(super::TRANSACTION_ITEMS) {
            match self.transact(chunk).await {
                Ok(()) => {}
                // A grave has become another run's: one by one, and that one not.
                Err(TableError::Condition(_)) => {
                    for delete in chunk {
                        match self.transact(std::slice::from_ref(delete)).await {
                            Ok(()) | Err(TableError::Condition(_)) => {}
                            Err(error) => return Err(error),
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let mut kept: Vec<ConclusionId> = created
            .into_iter()
            .map(|(_, id)| id)
            .filter(|id| live.contains_key(id))
            .collect();
        kept.dedup();
        let last = if kept.is_empty() {
            remove(run)
        } else {
            let pruned_at = run.pruned(now).or(Some(now));
            {
                let look_at = Some(now + LOOK_AT_PRUNED);
                let pruned = Run {
                    pruned_at,
                    look_at,
                    kept,
                    ..run.clone()
                };
                update(run, &pruned)?
            }
        };
        match self.transact(&[last]).await {
            Ok(()) | Err(TableError::Condition(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
