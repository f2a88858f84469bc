//! The reconciler: every few minutes it looks at what is due, whatever happened to queues and schedules.
//!
//! It re-queues what was lost, fires what should have fired, and frees what died. A bounded number of items per kind
//! and shard, oldest first; each is looked at by a message of its own, and is due again only later, so that one that
//! fails starves nobody.

use reverie_aws::table::TableError;
use reverie_aws::table::due::DueKind;
use reverie_aws::table::erasure::Erasure;
use reverie_aws::table::runs::{LEASE, Run};
use reverie_aws::table::summaries::LateSummary;
use reverie_aws::table::work::SessionWork;
use reverie_core::dreaming::Event;
use reverie_core::id::{RepresentationId, WorkspaceUid};
use reverie_core::run::Status;

use crate::machine::Caller;
use crate::{Engine, Result};

/// How many items of one shard a tick looks at.
const PER_SHARD: usize = 25;

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
    /// Items that could not be dealt with; they stay due.
    pub failed: usize,
}

impl Engine {
    /// One tick.
    pub async fn reconcile(&self) -> Result<Report> {
        let now = self.now();
        // Names the tick in deduplication ids: what was sent before and got lost is sent again.
        let tick = format!("t{}", now.micros());
        let mut report = Report::default();
        for (workspace, work) in self.table.due_sessions(now, PER_SHARD).await? {
            let sent = self.wake_again(&workspace, &work, &tick).await;
            report.count(sent, |report| &mut report.sessions);
        }
        for representation in self.table.due_representations(DueKind::Timer, now, PER_SHARD).await? {
            let generation = representation.state.timer.as_ref().map_or(0, |timer| timer.generation);
            let sent = self.send_look(&representation.id, generation, Some(&tick)).await;
            report.count(sent, |report| &mut report.representations);
        }
        for representation in self
            .table
            .due_representations(DueKind::Disabled, now, PER_SHARD)
            .await?
        {
            let looked = self.look_at_settings(&representation.id).await;
            report.count(looked, |report| &mut report.representations);
        }
        for run in self.table.due_runs(now, PER_SHARD).await? {
            // The index may lag behind a lease that was renewed.
            if run.lease_until.is_some_and(|until| until > now) {
                continue;
            }
            let sent = self.nudge(&run, &tick).await;
            report.count(sent, |report| &mut report.runs);
        }
        for run in self.table.due_prunings(now, PER_SHARD).await? {
            let pruned = self.table.prune_run(&run, now).await.map_err(Into::into);
            report.count(pruned, |report| &mut report.pruned);
        }
        for erasure in self.table.due_erasures(now, PER_SHARD).await? {
            let sent = self.send_erasure_again(&erasure, &tick).await;
            report.count(sent, |report| &mut report.erasures);
        }
        for (workspace, late) in self.table.due_summaries(now, PER_SHARD).await? {
            let sent = self.wake_for_summary(&workspace, &late, &tick).await;
            report.count(sent, |report| &mut report.summaries);
        }
        if report != Report::default() {
            tracing::info!(
                sessions = report.sessions,
                representations = report.representations,
                runs = report.runs,
                pruned = report.pruned,
                erasures = report.erasures,
                summaries = report.summaries,
                failed = report.failed,
                "reconciled"
            );
        }
        Ok(report)
    }

    /// Wakes ingest for a session once more, and looks again a tick later: the next in line gets its turn.
    async fn wake_again(&self, workspace: &WorkspaceUid, work: &SessionWork, tick: &str) -> Result<()> {
        let Some(state) = self.table.session_state(&work.uid).await?.filter(|state| state.alive) else {
            return Ok(self.table.forget_session(workspace, &work.uid).await?);
        };
        self.wake(&work.workspace, &work.session, &work.uid, state.last_seq, Some(tick))
            .await?;
        let next = self.now() + self.config.reconcile_every;
        Ok(self.table.postpone_session(workspace, &work.uid, next).await?)
    }

    /// The same for a summary.
    async fn wake_for_summary(&self, workspace: &WorkspaceUid, late: &LateSummary, tick: &str) -> Result<()> {
        let last = self.table.session_state(&late.uid).await?.map(|state| state.last_seq);
        self.wake(
            &late.workspace,
            &late.session,
            &late.uid,
            last.unwrap_or_default(),
            Some(tick),
        )
        .await?;
        let next = self.now() + self.config.reconcile_every;
        Ok(self.table.postpone_summary(workspace, late, next).await?)
    }

    /// The same for a deletion.
    async fn send_erasure_again(&self, erasure: &Erasure, tick: &str) -> Result<()> {
        self.send_erasure(erasure, Some(tick)).await?;
        let next = self.now() + self.config.reconcile_every;
        Ok(self.table.postpone_erasure(erasure, next).await?)
    }

    /// Sees whether dreams are on again, and comes back later if not.
    async fn look_at_settings(&self, id: &RepresentationId) -> Result<()> {
        self.advance(id, &Event::SettingsChanged, &[], Caller::Handler).await?;
        let Some(representation) = self.table.representation(id).await? else {
            return Ok(());
        };
        let state = representation.state.clone();
        match self
            .table
            .save_representation(&representation, &state, &[], self.now())
            .await
        {
            // Whoever changed it has set its next look.
            Ok(()) | Err(TableError::Condition(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Frees the leases of an executor that is known to be dead: of the only process there is.
    pub async fn release_leases(&self) -> Result<usize> {
        let now = self.now();
        let mut released = 0;
        for run in self.table.due_runs(now + LEASE, usize::MAX).await? {
            if run.status == Status::Running && run.lease_until.is_some_and(|until| until > now) {
                let after = Run {
                    lease_until: Some(now),
                    ..run.clone()
                };
                released += usize::from(self.table.update_run(&run, &after).await?.is_some());
            }
        }
        Ok(released)
    }
}

impl Report {
    fn count(&mut self, done: Result<()>, counter: impl Fn(&mut Self) -> &mut usize) {
        match done {
            Ok(()) => *counter(self) += 1,
            Err(error) => {
                self.failed += 1;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "an item could not be reconciled; it stays due"
                );
            }
        }
    }
}
