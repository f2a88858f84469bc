//! The reconciler: every few minutes it looks at what is due, whatever happened to queues and schedules.
//!
//! It re-queues what was lost, fires what should have fired, and frees what died. A tick's work is bounded in items and
//! in time, and nothing starves: what is looked at is put off first, each time for longer, so that it goes to the end of
//! the line whatever becomes of it; and the ticks begin with another kind and another shard each.

use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::due::{Due, DueKind, SHARDS, Taken};
use reverie_aws::table::erasure::Erasure;
use reverie_aws::table::representations::{LOOK_AT_DISABLED, Representation};
use reverie_aws::table::runs::{LEASE, Run};
use reverie_aws::table::summaries::LateSummary;
use reverie_aws::table::work::SessionWork;
use reverie_core::dreaming::Event;
use reverie_core::id::WorkspaceUid;
use reverie_core::run::Status;
use reverie_core::time::{Time, doubled};

use crate::machine::Caller;
use crate::{Engine, EngineError, Result};

/// How many items of one shard a tick looks at.
const PER_SHARD: usize = 25;
/// How many entries of one shard it reads: those that cannot even be put off are passed over.
const READ_PER_SHARD: usize = 4 * PER_SHARD;
/// How long a tick works at the most: well under the function's timeout.
const TICK: Duration = Duration::from_secs(45);
/// The longest that an item of which nothing comes is put off.
const LONGEST_PUT_OFF: Duration = Duration::from_mins(30);

/// What a tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Sessions whose wake-up was sent again.
    pub sessions: usize,
    /// Representations that were sent a look, or whose settings were looked at.
    pub representations: usize,
    /// Runs that were sent a message again.
    pub runs: usize,
    /// Ended runs whose texts were past retention, or which were looked at again.
    pub pruned: usize,
    /// Deletions whose letter was sent again.
    pub erasures: usize,
    /// Sessions that were woken for a summary that could not be made before.
    pub summaries: usize,
    /// Items that could not be dealt with, and shards that could not be read; the log names them, and they stay due.
    pub failed: usize,
}

/// A tick under way.
struct Tick {
    began: Time,
    /// Names the tick in deduplication ids: what was sent before and got lost is sent again.
    name: String,
    report: Report,
}

impl Engine {
    /// One tick. An error when nothing of the due index could be read.
    pub async fn reconcile(&self) -> Result<Report> {
        let began = self.now();
        let mut tick = Tick {
            began,
            name: format!("t{}", began.micros()),
            report: Report::default(),
        };
        let (kinds, shards) = self.order(began);
        let (mut read, mut unread) = (false, None);
        for kind in kinds {
            for shard in &shards {
                match self.table.due(kind, *shard, began, READ_PER_SHARD).await {
                    Ok(due) => {
                        read = true;
                        self.deal_with_shard(kind, &due, &mut tick).await;
                    }
                    Err(error) => {
                        let error = EngineError::from(error);
                        tick.failed(kind, &format!("shard {shard}"), &error);
                        unread = Some(error);
                    }
                }
            }
        }
        if let (false, Some(error)) = (read, unread) {
            return Err(error);
        }
        tick.report.log();
        Ok(tick.report)
    }

    /// The kinds and shards in the order of this tick.
    fn order(&self, began: Time) -> ([DueKind; DueKind::ALL.len()], Vec<u32>) {
        let every = self.config.reconcile_every.as_micros().max(1);
        let number = u128::try_from(began.micros()).unwrap_or_default() / every;
        let from = |many: usize| usize::try_from(number % many as u128).unwrap_or_default();
        let (mut kinds, mut shards) = (DueKind::ALL, (0..SHARDS).collect::<Vec<_>>());
        let (first_kind, first_shard) = (from(kinds.len()), from(shards.len()));
        kinds.rotate_left(first_kind);
        shards.rotate_left(first_shard);
        (kinds, shards)
    }

    async fn deal_with_shard(&self, kind: DueKind, all: &[Due], tick: &mut Tick) {
        let mut looked_at = 0;
        for due in all {
            if looked_at == PER_SHARD || self.now().since(tick.began) >= TICK {
                return;
            }
            let next = |looks| tick.began + self.put_off(kind, looks);
            let taken = match self.table.take_due(due, tick.began, next).await {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(error) => {
                    tick.failed(kind, &due.name(), &error.into());
                    continue;
                }
            };
            looked_at += 1;
            match self.deal_with(kind, due, taken, tick).await {
                Ok(()) => *tick.report.of(kind) += 1,
                Err(error) => tick.failed(kind, &due.name(), &error),
            }
        }
    }

    /// For how long an item that was looked at is put off, should nothing come of it.
    fn put_off(&self, kind: DueKind, looks: u32) -> Duration {
        let every = self.config.reconcile_every;
        if kind == DueKind::Disabled {
            return LOOK_AT_DISABLED;
        }
        doubled(every, looks, LONGEST_PUT_OFF.max(every))
    }

    async fn deal_with(&self, kind: DueKind, due: &Due, taken: Taken, tick: &Tick) -> Result<()> {
        match kind {
            DueKind::Session => self.wake_again(&due.workspace(), &taken.read()?, &tick.name).await,
            DueKind::Timer => {
                let Representation { id, state, .. } = taken.read()?;
                let generation = state.timer.map_or(0, |timer| timer.generation);
                self.send_look(&id, generation, Some(&tick.name)).await
            }
            DueKind::Disabled => {
                let Representation { id, .. } = taken.read()?;
                self.advance(&id, &Event::SettingsChanged, &[], Caller::Handler).await?;
                Ok(())
            }
            DueKind::Run => self.nudge(&taken.read()?, &tick.name).await,
            DueKind::Prune => Ok(self.table.prune_run(&taken.read()?, tick.began).await?),
            DueKind::Erase => {
                let erasure: Erasure = taken.read()?;
                self.send_erasure(&erasure, Some(&tick.name)).await
            }
            DueKind::Summary => self.wake_for_summary(&taken.read()?, &tick.name).await,
        }
    }

    /// Wakes ingest for a session whose summary could not be made before.
    async fn wake_for_summary(&self, late: &LateSummary, tick: &str) -> Result<()> {
        let state = self.table.session_state(&late.uid).await?;
        let last = state.map(|state| state.last_seq).unwrap_or_default();
        self.wake(&late.workspace, &late.session, &late.uid, last, Some(tick))
            .await
    }

    /// Wakes ingest for a session once more.
    async fn wake_again(&self, workspace: &WorkspaceUid, work: &SessionWork, tick: &str) -> Result<()> {
        let Some(state) = self.table.session_state(&work.uid).await?.filter(|state| state.alive) else {
            return Ok(self.table.forget_session(workspace, &work.uid).await?);
        };
        self.wake(&work.workspace, &work.session, &work.uid, state.last_seq, Some(tick))
            .await
    }

    /// Frees the leases of an executor that is known to be dead: of the only process there is.
    pub async fn release_leases(&self) -> Result<usize> {
        let now = self.now();
        let mut released = 0;
        for shard in 0..SHARDS {
            for due in self.table.due(DueKind::Run, shard, now + LEASE, usize::MAX).await? {
                let run: Run = match self.table.read_due(&due).await {
                    Ok(Some(run)) => run,
                    Ok(None) => continue,
                    Err(error @ TableError::Malformed { .. }) => {
                        tracing::error!(
                            item = due.name(),
                            error = &error as &dyn std::error::Error,
                            "a run cannot be read"
                        );
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                if run.status == Status::Running && run.lease_until.is_some_and(|until| until > now) {
                    let after = run.leased_until(now);
                    released += usize::from(self.table.update_run(&run, &after).await?.is_some());
                }
            }
        }
        Ok(released)
    }
}

impl Tick {
    fn failed(&mut self, kind: DueKind, item: &str, error: &EngineError) {
        self.report.failed += 1;
        tracing::warn!(
            kind = kind.as_str(),
            item,
            error = error as &dyn std::error::Error,
            "an item could not be reconciled; it stays due"
        );
    }
}

impl Report {
    fn of(&mut self, kind: DueKind) -> &mut usize {
        match kind {
            DueKind::Session => &mut self.sessions,
            DueKind::Timer | DueKind::Disabled => &mut self.representations,
            DueKind::Run => &mut self.runs,
            DueKind::Prune => &mut self.pruned,
            DueKind::Erase => &mut self.erasures,
            DueKind::Summary => &mut self.summaries,
        }
    }

    fn log(&self) {
        if *self != Self::default() {
            tracing::info!(
                sessions = self.sessions,
                representations = self.representations,
                runs = self.runs,
                pruned = self.pruned,
                erasures = self.erasures,
                summaries = self.summaries,
                failed = self.failed,
                "reconciled"
            );
        }
    }
}
