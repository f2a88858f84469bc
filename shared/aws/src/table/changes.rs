//! A run's changes and their record, in one transaction (checklist H24).
//!
//! A step of the toolbox becomes: the run's next state under its fence, the representation's next edition with the count
//! of its conclusions, each change, and each change's row.

use std::collections::HashMap;

use reverie_core::run::{Change, DreamType, RemovalReason, Strength};
use reverie_core::time::Time;
use reverie_core::toolbox::Step;

use super::conclusions::{self, Grave};
use super::runs::{Progress, Row, Run, expiry, put_row, update};
use super::{Key, Result, Table, TableError, Write, packs, representations};

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is done and recorded.
    Done,
    /// The run is no longer ours: cancelled, ended, or taken over.
    Lost,
    /// Something that the step rests on has changed: read it again and plan anew.
    Stale,
}

impl Table {
    /// Commits one step, planned on this edition of the representation and this revision of its card (0 for none).
    /// A dry run records the changes and makes none.
    pub async fn commit_step(
        &self,
        before: &Run,
        after: &Run,
        step: &Step,
        edition: u64,
        card_revision: u64,
        now: Time,
    ) -> Result<Committed> {
        let dry = before.dream_type == DreamType::DryRun;
        let live = if dry { 0 } else { added(step) };
        let mut writes = vec![
            update(before, after)?,
            representations::edit(&before.representation(), edition, live),
        ];
        if !dry {
            writes.extend(effects(before, step, card_revision, now)?);
            let made = step.changes.iter().filter_map(|change| match change {
                Change::Created { conclusion } => Some(&conclusion.id),
                _ => None,
            });
            let late: Vec<_> = made.filter(|id| packs::is_late(id, now)).collect();
            writes.extend(self.end_packs(&before.representation(), &late).await?);
        }
        if before.is_recorded() {
            for (place, change) in step.changes.iter().enumerate() {
                writes.push(put_row(before, place, &row(change, dry))?);
            }
        }
        match self.transact(&writes).await {
            Ok(()) => Ok(Committed::Done),
            Err(TableError::Condition(places)) if places.contains(&0) => Ok(Committed::Lost),
            Err(TableError::Condition(_)) => Ok(Committed::Stale),
            Err(error) => Err(error),
        }
    }
}

fn effects(run: &Run, step: &Step, card_revision: u64, now: Time) -> Result<Vec<Write>> {
    let mut writes = Vec::new();
    // Two texts of one step may share a guard, and a transaction touches an item once: the last holder stands.
    let mut guards: HashMap<Key, Write> = HashMap::new();
    for change in &step.changes {
        match change {
            Change::Created { conclusion } => {
                writes.push(conclusions::create(conclusion)?);
                if run.dream_type == DreamType::Undo {
                    writes.push(conclusions::exhume(&conclusion.id));
                }
                if conclusions::is_guarded(conclusion) {
                    guards.insert(
                        conclusions::own_guard(conclusion),
                        conclusions::put_guard(conclusion, &conclusion.id),
                    );
                }
            }
            Change::Removed {
                conclusion,
                reason,
                replaced_by,
            } => {
                let grave = Grave {
                    conclusion: conclusion.clone(),
                    reason: *reason,
                    replaced_by: replaced_by.clone(),
                    run: run.id.clone(),
                    removed_at: now,
                };
                if run.is_recorded() {
                    writes.extend(conclusions::bury(&grave, expiry(run))?);
                } else {
                    writes.push(conclusions::discard(&conclusion.id));
                }
                if let (RemovalReason::Duplicate, Some(holder)) = (reason, replaced_by)
                    && conclusions::is_guarded(conclusion)
                {
                    guards.insert(
                        conclusions::own_guard(conclusion),
                        conclusions::put_guard(conclusion, holder),
                    );
                }
            }
            Change::Reinforced { id, before, after } => writes.push(conclusions::strengthen(id, before, after)?),
            Change::Card { after, .. } => {
                writes.push(representations::put_card(
                    &run.representation(),
                    after.as_deref(),
                    card_revision,
                )?);
            }
        }
    }
    writes.extend(guards.into_values());
    Ok(writes)
}

/// How many conclusions more there are after a step.
fn added(step: &Step) -> i64 {
    let by = |change: &Change| match change {
        Change::Created { .. } => 1,
        Change::Removed { .. } => -1,
        Change::Reinforced { .. } | Change::Card { .. } => 0,
    };
    step.changes.iter().map(by).sum()
}

fn row(change: &Change, dry: bool) -> Row {
    match change {
        Change::Created { conclusion } => Row::Created {
            id: conclusion.id.clone(),
            level: conclusion.level,
            strength: Strength::of(conclusion),
            planned: dry.then(|| Box::new(conclusion.clone())),
        },
        Change::Removed {
            conclusion,
            reason,
            replaced_by,
        } => Row::Removed {
            id: conclusion.id.clone(),
            level: conclusion.level,
            strength: Strength::of(conclusion),
            reason: *reason,
            replaced_by: replaced_by.clone(),
        },
        Change::Reinforced { id, before, after } => Row::Reinforced {
            id: id.clone(),
            before: before.clone(),
            after: after.clone(),
        },
        Change::Card { before, after } => Row::Card {
            before: before.clone(),
            after: after.clone(),
        },
    }
}

impl Progress {
    /// After one more step of the same operation.
    #[must_use]
    pub fn next_step(self) -> Self {
        Self {
            step: self.step + 1,
            ..self
        }
    }

    /// At the next operation.
    #[must_use]
    pub fn next_operation(self) -> Self {
        Self {
            operation: self.operation + 1,
            step: 0,
            ..self
        }
    }

    /// At the next turn.
    #[must_use]
    pub fn next_turn(self) -> Self {
        Self {
            turn: self.turn + 1,
            phase_turn: self.phase_turn + 1,
            operation: 0,
            step: 0,
            ..self
        }
    }

    /// At the next phase.
    #[must_use]
    pub fn next_phase(self) -> Self {
        Self {
            phase: self.phase + 1,
            turn: self.turn + 1,
            phase_turn: 0,
            operation: 0,
            step: 0,
        }
    }
}
