//! The dreaming machine at work: reads what it wants to know, lets it decide, writes what it decided in one
//! transaction, and carries out the effects.
//!
//! Effects come after the commit and may get lost; the due index brings back what they should have caused. They are
//! therefore logged when they fail, never an error of the call that caused them.

use std::error::Error;
use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::activity::Activity;
use reverie_aws::table::representations::{Representation, RunWrite, Surroundings};
use reverie_aws::table::runs::{LEASE, Progress, Run, Tally};
use reverie_aws::table::sessions::Session;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::SessionRef;
use reverie_core::dreaming::{Effect, Event, View, step};
use reverie_core::id::{RepresentationId, RunId};
use reverie_core::run::{DreamType, Status, Trigger, Usage};
use reverie_core::settings::{Decided, Levels};
use reverie_core::time::Time;

use crate::letters::schedule_name;
use crate::{Engine, Result};

/// How often a change is tried again when somebody else changed the state first.
pub(crate) const ATTEMPTS: u32 = 50;

/// Waits a little before another attempt, longer each time, so that those who meet on one item part again.
pub(crate) async fn pause(attempt: u32) {
    if attempt > 0 {
        tokio::time::sleep(Duration::from_millis(u64::from(attempt.min(20)) * 5)).await;
    }
}

/// How much longer than retention the table keeps a run's texts, should nobody prune them.
const TEXTS_GRACE: Duration = Duration::from_hours(72);

/// Who calls: only ingest and the executor talk to the scheduler (`design.md` section 4, "On AWS").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The API: timers are set by a wake-up to ingest.
    Api,
    /// Ingest, executor, reconciler.
    Handler,
}

/// What became of an event.
#[derive(Debug)]
pub(crate) struct Advanced {
    /// The representation, with the machine's state after the event.
    pub(crate) representation: Representation,
    /// What the machine wanted done.
    pub(crate) effects: Vec<Effect>,
    /// The run that was claimed, as it was written.
    pub(crate) claimed: Option<Run>,
}

/// What the machine is shown, and what it was made of.
#[derive(Debug)]
pub(crate) struct Sight {
    /// What the machine has to know besides its state.
    pub(crate) view: View,
    /// What was read.
    pub(crate) around: Surroundings,
}

/// What came of trying.
#[derive(Debug)]
pub(crate) enum Advance {
    /// The event is dealt with.
    Done(Box<Advanced>),
    /// A run that was to change with it is no longer what it was.
    Lost,
    /// The representation or its workspace is gone.
    Gone,
}

impl Engine {
    /// What the machine has to know besides its state. `None` when the workspace is gone.
    pub(crate) async fn view(&self, representation: &Representation, event: &Event) -> Result<Option<View>> {
        Ok(self.sight(representation, event).await?.map(|sight| sight.view))
    }

    /// The same, with what it was made of.
    pub(crate) async fn sight(&self, representation: &Representation, event: &Event) -> Result<Option<Sight>> {
        let deciding = match event {
            Event::Concluded { explicit, session } if *explicit > 0 => session.as_ref(),
            _ => representation.state.deciding_session.as_ref(),
        };
        let Some(around) = self.table.surroundings(representation, deciding).await? else {
            return Ok(None);
        };
        let mut view = View::of(self.dreaming(&around.workspace, around.session.as_ref()));
        if matches!(event, Event::Look { .. })
            && let Some(activity) = &around.activity
        {
            view.ingest_lagging = self.lags(activity).await?;
        }
        view.last_activity = around.activity.as_ref().map(|activity| activity.at);
        for run in &around.pending {
            if let Some(session) = &run.session {
                let enabled = self.dreaming_enabled(&around.workspace, session).await?;
                view.manual_enabled.insert(run.dream_type, enabled);
            }
        }
        Ok(Some(Sight { view, around }))
    }

    /// Whether the session of the activity has messages that ingest has not come to. Batches that back off are no lag.
    pub(crate) async fn lags(&self, activity: &Activity) -> Result<bool> {
        let (state, cursor) = self.table.progress(&activity.session).await?;
        let alive = state.is_some_and(|state| state.alive);
        Ok(alive && cursor.failures == 0 && cursor.seq < activity.seq)
    }

    /// Whether dreams are on for a session's settings; a session that is gone has none.
    async fn dreaming_enabled(&self, workspace: &Workspace, deciding: &SessionRef) -> Result<Decided<bool>> {
        let session = self.table.active_session(&workspace.uid, deciding).await?;
        Ok(self.dreaming(workspace, session.as_ref()))
    }

    fn dreaming(&self, workspace: &Workspace, session: Option<&Session>) -> Decided<bool> {
        let levels = Levels {
            session: session.map(|session| &session.configuration),
            workspace: &workspace.configuration,
        };
        levels.dreaming(self.config.defaults)
    }

    /// Puts an event to a representation's machine and writes what it decides. `runs` change with it, in the same
    /// transaction; a run to be created is written only when the machine accepts it.
    pub(crate) async fn advance(
        &self,
        id: &RepresentationId,
        event: &Event,
        runs: &[RunWrite],
        caller: Caller,
    ) -> Result<Advance> {
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let Some(representation) = self.table.representation(id).await? else {
                return Ok(Advance::Gone);
            };
            let Some(Sight { mut view, around }) = self.sight(&representation, event).await? else {
                return Ok(Advance::Gone);
            };
            // A request's own session decides whether it is allowed.
            for write in runs {
                if let RunWrite::Create(Run {
                    dream_type,
                    session: Some(session),
                    ..
                }) = write
                {
                    let enabled = self.dreaming_enabled(&around.workspace, session).await?;
                    view.manual_enabled.insert(*dream_type, enabled);
                }
            }
            let now = self.now();
            let (next, effects) = step(&representation.state, &self.timings, &view, event, now);
            let (writes, claimed) = self.run_writes(&representation, &around.pending, &effects, runs, now);
            if next == representation.state && writes.is_empty() {
                let representation = Representation {
                    state: next,
                    ..representation
                };
                // A look may find a run waiting for a slot that is free: its letter is sent again.
                self.perform(&representation, &effects, caller).await;
                return Ok(Advance::Done(Box::new(Advanced {
                    representation,
                    effects,
                    claimed,
                })));
            }
            match self
                .table
                .save_representation(&representation, &next, &writes, now)
                .await
            {
                Ok(()) => {
                    let representation = Representation {
                        state: next,
                        revision: representation.revision + 1,
                        ..representation
                    };
                    self.perform(&representation, &effects, caller).await;
                    return Ok(Advance::Done(Box::new(Advanced {
                        representation,
                        effects,
                        claimed,
                    })));
                }
                Err(TableError::Condition(_)) => {
                    if self.any_lost(runs).await? {
                        return Ok(Advance::Lost);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(TableError::Conflict.into())
    }

    /// Until when a run claimed now keeps texts at the longest: days past retention, should the reconciler fail.
    /// `None` when nothing is to be recorded; a dry run's record is its answer.
    fn texts_until(&self, dream_type: DreamType, now: Time) -> Option<Time> {
        let recorded = self.config.history || dream_type == DreamType::DryRun;
        recorded.then(|| now + self.config.retention + TEXTS_GRACE)
    }

    /// How a run ends: with its record, which is pruned in time, or without a trace.
    pub(crate) fn ended(&self, before: &Run, status: Status) -> RunWrite {
        if !self.config.history && !before.is_recorded() {
            return RunWrite::Remove(before.clone());
        }
        let now = self.now();
        let after = Run {
            status,
            ended_at: Some(now),
            lease_until: None,
            prune_at: Some(now + self.config.retention),
            refused: Vec::new(),
            ..before.clone()
        };
        RunWrite::Update {
            before: before.clone(),
            after,
        }
    }

    /// Whether a run that the caller wants to change has been changed by somebody else, or its idempotency key was used.
    async fn any_lost(&self, runs: &[RunWrite]) -> Result<bool> {
        for write in runs {
            match write {
                RunWrite::Update { before, .. } | RunWrite::Remove(before) => {
                    let current = self.table.run(&before.id).await?;
                    if current.is_none_or(|run| run.version != before.version) {
                        return Ok(true);
                    }
                }
                RunWrite::Answered(recording, _) => {
                    let current = self
                        .table
                        .request_record(&recording.workspace, &recording.request)
                        .await?;
                    if current.is_some() && current != recording.over {
                        return Ok(true);
                    }
                }
                RunWrite::Create(_) | RunWrite::Forget(_) => {}
            }
        }
        Ok(false)
    }

    /// How runs change with the machine's state, where `pending` are those that wait; and the one that is claimed.
    fn run_writes(
        &self,
        representation: &Representation,
        pending: &[Run],
        effects: &[Effect],
        given: &[RunWrite],
        now: Time,
    ) -> (Vec<RunWrite>, Option<Run>) {
        let waiting = |id: &RunId| pending.iter().find(|run| run.id == *id).cloned();
        let accepted = |run: &RunId| {
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Accepted { run: id } if id == run))
        };
        // The run that answers a request: its own, or one that was there. None when it is refused.
        let answering = effects.iter().find_map(|effect| match effect {
            Effect::Accepted { run } | Effect::AlreadyThere { run } => Some(run),
            _ => None,
        });
        let mut writes: Vec<RunWrite> = given
            .iter()
            .filter_map(|write| match write {
                RunWrite::Create(run) => accepted(&run.id).then(|| write.clone()),
                RunWrite::Answered(recording, _) => {
                    answering.map(|run| RunWrite::Answered(recording.clone(), run.clone()))
                }
                RunWrite::Update { .. } | RunWrite::Remove(_) | RunWrite::Forget(_) => Some(write.clone()),
            })
            .collect();
        let mut claimed = None;
        for effect in effects {
            match effect {
                Effect::Claim {
                    run,
                    dream_type,
                    trigger,
                } => {
                    // An idle dream's run begins with its claim.
                    let found = waiting(run);
                    let before = found
                        .clone()
                        .unwrap_or_else(|| fresh_run(representation, run, *dream_type, *trigger, now));
                    let mut after = before.clone();
                    after.status = Status::Running;
                    after.started_at = Some(now);
                    after.fence = before.fence + 1;
                    after.lease_until = Some(now + LEASE);
                    after.total_at_claim = representation.live;
                    after.texts_until = self.texts_until(*dream_type, now);
                    // As it will be stored.
                    claimed = Some(Run {
                        version: if found.is_some() { before.version + 1 } else { 0 },
                        ..after.clone()
                    });
                    writes.push(if found.is_some() {
                        RunWrite::Update { before, after }
                    } else {
                        RunWrite::Create(after)
                    });
                }
                Effect::DropPending { run } => {
                    if let Some(before) = waiting(run) {
                        writes.push(self.ended(&before, Status::Cancelled));
                    }
                }
                _ => {}
            }
        }
        (writes, claimed)
    }

    /// Carries out what the machine wants done with schedules and queues. What fails is logged; the reconciler repairs.
    pub(crate) async fn perform(&self, representation: &Representation, effects: &[Effect], caller: Caller) {
        let id = &representation.id;
        let mut timer_changed = false;
        // Create first, then delete: a timer that is replaced never leaves a gap.
        for effect in effects {
            let done = match effect {
                Effect::Schedule { generation, at } if caller == Caller::Handler => {
                    self.set_timer(id, *generation, *at).await
                }
                Effect::Enqueue { run } => self.send_start(run, representation.revision, None).await,
                Effect::Schedule { .. } | Effect::Unschedule { .. } => {
                    timer_changed |= caller == Caller::Api;
                    Ok(())
                }
                _ => Ok(()),
            };
            log(id, done);
        }
        for effect in effects {
            if let Effect::Unschedule { generation } = effect
                && caller == Caller::Handler
            {
                log(
                    id,
                    self.schedules
                        .delete(&schedule_name(id, *generation))
                        .await
                        .map_err(Into::into),
                );
            }
        }
        if timer_changed {
            log(id, self.wake_timer(id, representation.revision).await);
        }
    }

    /// Makes the schedule of a representation's timer be there, as its state says.
    pub(crate) async fn ensure_timer(&self, id: &RepresentationId) -> Result<()> {
        if let Advance::Done(advanced) = self.advance(id, &Event::SettingsChanged, &[], Caller::Handler).await?
            && let Some(timer) = &advanced.representation.state.timer
        {
            self.set_timer(id, timer.generation, timer.scheduled_for).await?;
        }
        Ok(())
    }

    /// Schedules the look of a generation; what is due already is looked at now.
    async fn set_timer(&self, id: &RepresentationId, generation: u64, at: Time) -> Result<()> {
        if at <= self.now() {
            self.send_look(id, generation, None).await
        } else {
            self.schedule(id, generation, at).await
        }
    }
}

fn log(id: &RepresentationId, done: Result<()>) {
    if let Err(error) = done {
        let error: &(dyn Error + 'static) = &error;
        tracing::warn!(representation.id = %id, error, "a queue or schedule call failed; the reconciler will repeat it");
    }
}

/// A run that nobody has stored yet.
pub(crate) fn fresh_run(
    representation: &Representation,
    id: &RunId,
    dream_type: DreamType,
    trigger: Trigger,
    now: Time,
) -> Run {
    Run {
        id: id.clone(),
        workspace_uid: representation.workspace_uid.clone(),
        observer: representation.observer.clone(),
        observed: representation.observed.clone(),
        dream_type,
        trigger,
        status: Status::Pending,
        created_at: now,
        started_at: None,
        ended_at: None,
        created_count: 0,
        removed_count: 0,
        reinforced_count: 0,
        peer_card_updated: false,
        pruned_at: None,
        usage: Usage::default(),
        errors: Vec::new(),
        failed_phases: Vec::new(),
        rebuild: false,
        undo_of: None,
        undone_by: None,
        conflicts: Vec::new(),
        session: None,
        fence: 0,
        version: 0,
        takeovers: 0,
        lease_until: None,
        prune_at: None,
        look_at: None,
        kept: Vec::new(),
        texts_until: None,
        progress: Progress::default(),
        total_at_claim: 0,
        removed_unreplaced: 0,
        attempts: 0,
        tally: Tally::default(),
        refused: Vec::new(),
    }
}
