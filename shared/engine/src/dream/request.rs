//! What users ask of dreams: run one now, cancel one, take one back.

use reverie_aws::table::TableError;
use reverie_aws::table::idempotency::{Effect as Made, KeyedRequest, Recording};
use reverie_aws::table::representations::RunWrite;
use reverie_aws::table::runs::Run;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::SessionRef;
use reverie_core::dreaming::{Effect, Event, Outcome};
use reverie_core::id::{PeerName, RunId};
use reverie_core::run::{DreamType, Status, Trigger};

use crate::machine::{ATTEMPTS, Advance, Caller, fresh_run, pause};
use crate::{Engine, EngineError, Result};

/// A request for a dream. Both peers must exist; the caller has checked.
#[derive(Clone, Debug)]
pub struct NewDream<'a> {
    /// Whose view.
    pub observer: &'a PeerName,
    /// Of whom.
    pub observed: &'a PeerName,
    /// What is to be done.
    pub dream_type: DreamType,
    /// The session whose settings decide; none: the workspace's.
    pub session: Option<SessionRef>,
    /// Whether a card refresh starts from no card.
    pub rebuild: bool,
    /// The record to be written of it, if it has an idempotency key.
    pub recording: Option<Recording>,
}

/// A request with an idempotency key, looked up.
#[derive(Clone, Debug)]
pub enum Keyed {
    /// It was answered before, like this.
    Before(Scheduled),
    /// It is new, and is to be recorded like this.
    New(Recording),
}

/// An accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The run that answers it.
    pub run: RunId,
    /// Whether it is a new one, and not one that was pending or running already.
    pub fresh: bool,
}

/// Why a run was not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum NotCancellable {
    /// There is no such run in the workspace.
    #[error("no such run")]
    Unknown,
    /// It has ended.
    #[error("the run has ended: {}", .0.as_str())]
    Ended(Status),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why a run was not undone.
#[derive(Debug, thiserror::Error)]
pub enum NotUndoable {
    /// There is no such run in the workspace.
    #[error("no such run")]
    Unknown,
    /// It has not ended.
    #[error("the run has not ended: {}", .0.as_str())]
    NotEnded(Status),
    /// What it changed is past retention.
    #[error("the record of the run is past retention")]
    Pruned,
    /// Nothing of it was recorded: dreams do not record, or it never started.
    #[error("nothing of the run was recorded")]
    NotRecorded,
    /// A dry run changed nothing.
    #[error("a dry run has nothing to undo")]
    DryRun,
    /// The undo of another run is waiting or running.
    #[error("another undo of this representation is pending: {0}")]
    Busy(RunId),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Engine {
    /// Asks for a dream now. One of the same type that is pending or running already answers it (rule 6).
    pub async fn schedule_dream(&self, workspace: &Workspace, new: NewDream<'_>) -> Result<Scheduled> {
        let now = self.now();
        let representation = self
            .table
            .ensure_representation(workspace, new.observer, new.observed, now)
            .await?;
        let id = RunId::new(&representation.id, now, &[&self.ids.uid()]);
        let mut run = fresh_run(&representation, &id, new.dream_type, Trigger::Manual, now);
        run.session = new.session;
        run.rebuild = new.rebuild;
        self.request(workspace, run, new.recording).await
    }

    /// Whether a request for a dream was answered before under its idempotency key.
    pub async fn keyed_dream(&self, workspace: &Workspace, request: &KeyedRequest) -> Result<Keyed> {
        let record = self.table.request_record(&workspace.uid, request).await?;
        let at = self.now();
        match record {
            Some(record) if record.counts(at) => match record.effect {
                _ if !record.is_of(&workspace.uid, request) => Err(EngineError::KeyReused),
                Made::Dream { run } => Ok(Keyed::Before(Scheduled { run, fresh: false })),
                Made::Messages { .. } | Made::Conclusions { .. } => Err(EngineError::AnswerGone),
            },
            over => Ok(Keyed::New(Recording {
                workspace: workspace.uid.clone(),
                request: request.clone(),
                over,
                at,
            })),
        }
    }

    async fn request(&self, workspace: &Workspace, run: Run, recording: Option<Recording>) -> Result<Scheduled> {
        let event = Event::Request {
            dream_type: run.dream_type,
            run: run.id.clone(),
        };
        let representation = run.representation();
        let mut writes = vec![RunWrite::Create(run.clone())];
        if let Some(recording) = &recording {
            writes.push(RunWrite::Answered(recording.clone(), run.id.clone()));
        }
        let advanced = match self.advance(&representation, &event, &writes, Caller::Api).await? {
            Advance::Done(advanced) => advanced,
            Advance::Lost | Advance::Gone => {
                // The same request may have come twice at once, and the other one was faster.
                if let Some(recording) = recording
                    && let Keyed::Before(before) = self.keyed_dream(workspace, &recording.request).await?
                {
                    return Ok(before);
                }
                return Err(EngineError::NotFound {
                    what: "representation of",
                    name: run.observed.to_string(),
                });
            }
        };
        for effect in &advanced.effects {
            match effect {
                Effect::Accepted { run } => {
                    return Ok(Scheduled {
                        run: run.clone(),
                        fresh: true,
                    });
                }
                Effect::AlreadyThere { run } => {
                    return Ok(Scheduled {
                        run: run.clone(),
                        fresh: false,
                    });
                }
                Effect::Refused { by } => return Err(EngineError::DreamsDisabled(*by)),
                _ => {}
            }
        }
        Ok(Scheduled {
            run: run.id,
            fresh: false,
        })
    }

    /// Cancels a pending or running dream at once; what a running one has committed stays, and can be undone.
    pub async fn cancel_dream(&self, workspace: &Workspace, id: &RunId) -> Result<Run, NotCancellable> {
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let Some(run) = self.run_in(workspace, id).await? else {
                return Err(NotCancellable::Unknown);
            };
            let (event, writes) = match run.status {
                Status::Pending => (Event::CancelPending { run: id.clone() }, Vec::new()),
                Status::Running => {
                    let event = Event::Ended {
                        run: id.clone(),
                        outcome: Outcome::Cancelled,
                    };
                    let checkpoints = self.table.checkpoints(id).await.map_err(EngineError::from)?;
                    let end = self.ended(&run, Status::Cancelled);
                    (event, vec![end, RunWrite::Forget(checkpoints)])
                }
                ended => return Err(NotCancellable::Ended(ended)),
            };
            match self
                .advance(&run.representation(), &event, &writes, Caller::Api)
                .await?
            {
                Advance::Done(_) | Advance::Lost => {
                    // Somebody may have been faster; what is stored now is the answer. A run without a record is gone.
                    match self.run_in(workspace, id).await? {
                        Some(current) if current.status == Status::Cancelled => return Ok(current),
                        None => {
                            return Ok(Run {
                                status: Status::Cancelled,
                                ..run
                            });
                        }
                        Some(_) => {}
                    }
                }
                Advance::Gone => return Err(NotCancellable::Unknown),
            }
        }
        Err(EngineError::from(TableError::Conflict).into())
    }

    /// Asks for a run to be taken back; one that was taken back already is answered with the run that did it.
    pub async fn undo_dream(&self, workspace: &Workspace, id: &RunId) -> Result<RunId, NotUndoable> {
        let Some(target) = self.run_in(workspace, id).await? else {
            return Err(if self.config.history {
                NotUndoable::Unknown
            } else {
                NotUndoable::NotRecorded
            });
        };
        if !target.status.is_final() {
            return Err(NotUndoable::NotEnded(target.status));
        }
        if target.dream_type == DreamType::DryRun {
            return Err(NotUndoable::DryRun);
        }
        if let Some(by) = target.undone_by {
            return Ok(by);
        }
        let now = self.now();
        if target.pruned(now).is_some() {
            return Err(NotUndoable::Pruned);
        }
        if !target.is_recorded() {
            return Err(NotUndoable::NotRecorded);
        }
        let Some(representation) = self.representation_in(workspace, &target.representation()).await? else {
            return Err(NotUndoable::Unknown);
        };
        let undo = RunId::new(&representation.id, now, &[&self.ids.uid()]);
        let mut run = fresh_run(&representation, &undo, DreamType::Undo, Trigger::Manual, now);
        run.undo_of = Some(id.clone());
        let scheduled = self.request(workspace, run, None).await?;
        if scheduled.fresh {
            return Ok(scheduled.run);
        }
        let there = self.table.run(&scheduled.run).await.map_err(EngineError::from)?;
        if there.is_some_and(|run| run.undo_of.as_ref() == Some(id)) {
            Ok(scheduled.run)
        } else {
            Err(NotUndoable::Busy(scheduled.run))
        }
    }

    /// A run, when it belongs to the workspace.
    pub(crate) async fn run_in(&self, workspace: &Workspace, id: &RunId) -> Result<Option<Run>> {
        Ok(self
            .table
            .run(id)
            .await?
            .filter(|run| run.workspace_uid == workspace.uid))
    }
}
