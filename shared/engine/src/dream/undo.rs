//! Taking a run back: its record, read as changes, and the steps that undo them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::runs::Row;
use reverie_core::conclusion::keep_support;
use reverie_core::id::{ConclusionId, RunId, SessionUid};
use reverie_core::run::{Change, Strength};
use reverie_core::undo;

use super::run::{Executor, QUEUE_ATTEMPTS, REPLANS, Stop};
use crate::Result;

/// How long an undo waits while a session that its record names is being deleted.
const AFTER_ERASURE: Duration = Duration::from_secs(5);

/// A run's record as changes.
pub(super) struct Record {
    pub(super) changes: Vec<Change>,
    /// Whether a session that it names is being deleted.
    being_erased: bool,
}

impl Executor<'_> {
    pub(super) async fn undo(&mut self) -> Result<(), Stop> {
        let Some(target_id) = self.run.undo_of.clone() else {
            return Ok(());
        };
        let Some(target) = self.engine.table.run(&target_id).await? else {
            return Ok(());
        };
        let claimed_at = target.started_at.unwrap_or(target.created_at);
        for attempt in 0..REPLANS {
            let record = self.changes_of(&target_id).await?;
            if record.being_erased {
                // What the desk shows of the session is on its way out: its deletion first.
                let times = self.run.takeovers + 1;
                let mut after = self.run.leased_until(self.engine.now() + AFTER_ERASURE);
                if times > QUEUE_ATTEMPTS {
                    // However long the deletion takes, to wait for it is no death of the run.
                    after.takeovers = 0;
                }
                self.store(&after).await?;
                return Err(Stop::to_wait(times, AFTER_ERASURE));
            }
            let plan = undo::plan(&record.changes, claimed_at, &self.desk);
            self.run.conflicts = plan.conflicts;
            let Some(stale) = self.commit_all(plan.steps).await? else {
                return Ok(());
            };
            self.catch_up(&stale, attempt).await?;
        }
        Err(TableError::Conflict.into())
    }

    /// A run's record as changes. What was erased since cannot be told and is left out, and so is what only sessions
    /// support that are deleted: it is not to come back.
    pub(super) async fn changes_of(&self, run: &RunId) -> Result<Record> {
        let table = &self.engine.table;
        let rows = table.rows(run).await?;
        let ids: Vec<ConclusionId> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Created { id, .. } | Row::Removed { id, .. } => Some(id.clone()),
                Row::Reinforced { .. } | Row::Card { .. } => None,
            })
            .collect();
        let known = table.live_or_buried(&ids).await?;
        let sessions: HashSet<&SessionUid> = rows
            .iter()
            .flat_map(|row| match row {
                Row::Created { strength, .. } | Row::Removed { strength, .. } => vec![strength],
                Row::Reinforced { before, after, .. } => vec![before, after],
                Row::Card { .. } => Vec::new(),
            })
            .flat_map(|strength| &strength.support)
            .filter(|part| !part.is_stated())
            .map(|part| &part.session)
            .collect();
        let states = table.session_states(sessions.iter().copied()).await?;
        let is_there = |session: &SessionUid| states.get(session).is_some_and(|state| state.alive);
        let being_erased = states.values().any(|state| !state.alive);
        let kept = |mut strength: Strength| {
            let lost = keep_support(&mut strength.support, is_there);
            (strength, lost)
        };
        let mut planned = HashMap::new();
        let mut changes = Vec::new();
        for row in rows.iter().cloned() {
            match row {
                Row::Created {
                    id,
                    strength,
                    planned: dry,
                    ..
                } => {
                    if let Some(dry) = &dry {
                        planned.insert(id.clone(), (**dry).clone());
                    }
                    let Some(mut conclusion) = dry.map(|dry| *dry).or_else(|| known.get(&id).cloned()) else {
                        continue;
                    };
                    kept(strength).0.put_on(&mut conclusion);
                    changes.push(Change::Created { conclusion });
                }
                Row::Removed {
                    id,
                    strength,
                    reason,
                    replaced_by,
                    ..
                } => {
                    let (strength, lost) = kept(strength);
                    let Some(mut conclusion) = known.get(&id).or_else(|| planned.get(&id)).cloned() else {
                        continue;
                    };
                    if lost {
                        continue;
                    }
                    strength.put_on(&mut conclusion);
                    changes.push(Change::Removed {
                        conclusion,
                        reason,
                        replaced_by,
                    });
                }
                Row::Reinforced { id, before, after } => {
                    let ((before, lost), (after, _)) = (kept(before), kept(after));
                    if !lost {
                        changes.push(Change::Reinforced { id, before, after });
                    }
                }
                Row::Card { before, after } => changes.push(Change::Card { before, after }),
            }
        }
        Ok(Record { changes, being_erased })
    }
}
