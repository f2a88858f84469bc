//! Running a dream: its phases, turn by turn, each answer stored before its first effect and each change recorded in
//! its own transaction (`design.md` section 6).
//!
//! A run can stop anywhere and be gone on with: what is committed is in the table, the stored answer is applied again
//! and never asked for twice, and applying what was applied changes nothing.

use std::fmt::Display;
use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::changes::Committed;
use reverie_aws::table::representations::RunWrite;
use reverie_aws::table::runs::{LEASE, Progress, Run, Tally};
use reverie_core::conclusion::Conclusion;
use reverie_core::dreaming::{Event, Outcome};
use reverie_core::id::ConclusionId;
use reverie_core::reasoner::{ReasonerError, ThinkRequest, Thought};
use reverie_core::run::{Change, DreamType, Phase, Status};
use reverie_core::settings::{Agent, Levels};
use reverie_core::time::{Time, doubled};
use reverie_core::toolbox::{Desk, Limits, Operation, Place, Rejection, Step, plan};

use super::recall::{News, Recall, Said};
use crate::machine::{Advance, Caller};
use crate::{Engine, EngineError, Result};

/// The most turns of one phase.
const TURNS: u32 = 12;
/// How often a phase is tried while its reasoner is not available.
const ATTEMPTS: u32 = 5;
/// How many refusals the next turn is shown.
const SHOWN_REFUSALS: usize = 100;
/// How often an operation is planned anew because the representation changed under it.
pub(super) const REPLANS: u32 = 10;

/// The longest time in which a dream makes vectors of another model anew when it opens: well within its lease.
const RENEWAL: Duration = Duration::from_mins(1);
/// How often the lease is renewed while the reasoner thinks.
const HEARTBEAT: Duration = Duration::from_secs(40);
/// How often a run is taken over without any progress before it has failed.
const TAKEOVERS: u32 = 5;
/// How often a run waits for a redelivery, well under the queue's count of receives.
pub(super) const QUEUE_ATTEMPTS: u32 = 2;
/// Half the first wait for a reasoner; it doubles.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// The longest wait for a reasoner that says when it may be asked again.
const LONGEST_WAIT: Duration = Duration::from_mins(15);

/// Why a run stops before its end.
pub(super) enum Stop {
    /// Another message brings it back: one that was sent, or that of the due index.
    HandedOver,
    /// It waits for what is not there yet; the message comes back.
    Waiting(Duration),
    /// It was cancelled, or somebody else has it.
    Lost,
    /// Its reasoner gave no answer.
    Reasoner(ReasonerError),
    /// Anything else; the message comes back.
    Engine(EngineError),
}

impl Stop {
    /// How a run stops that waits for the `times`th time: the first times its message comes back; after those the due
    /// index brings the run back, so that a long wait fills no dead-letter queue.
    pub(super) fn to_wait(times: u32, wait: Duration) -> Self {
        if times > QUEUE_ATTEMPTS {
            Self::HandedOver
        } else {
            Self::Waiting(wait)
        }
    }
}

impl<E: Into<EngineError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

/// A run in hand.
pub(super) struct Executor<'a> {
    pub(super) engine: &'a Engine,
    /// As it is stored, or will be with the next transaction: its progress may be ahead.
    pub(super) run: Run,
    pub(super) desk: Desk,
    /// The representation's edition that the desk shows.
    edition: u64,
    card_revision: u64,
    limits: Limits,
    /// Users' instructions for the dream, and those for the card.
    instructions: Option<String>,
    card_instructions: Option<String>,
    news: News,
    /// What earlier turns of the phase said, as far as it was read.
    pub(super) recall: Recall,
    /// When this delivery began, and the run's version then.
    began: Time,
    opened: u64,
}

pub(crate) fn phases(dream_type: DreamType) -> &'static [Phase] {
    match dream_type {
        DreamType::Omni | DreamType::DryRun => &[Phase::Deduction, Phase::Induction],
        DreamType::CardRefresh => &[Phase::Card],
        DreamType::Undo => &[Phase::Undo],
    }
}

impl Engine {
    /// Runs a claimed run to its end, or to where it must stop.
    pub(crate) async fn execute(&self, run: Run) -> Result<()> {
        tracing::info!(run.id = %run.id, run.dream_type = run.dream_type.as_str(), run.fence = run.fence, "running a dream");
        if run.takeovers > TAKEOVERS {
            return self.give_up(run).await;
        }
        let mut executor = match Executor::open(self, run.clone()).await {
            Ok(Some(executor)) => executor,
            Ok(None) => return Ok(()),
            Err(error) => return Err(self.let_go(&run, error).await),
        };
        match executor.go().await {
            Ok(()) | Err(Stop::Lost | Stop::HandedOver) => Ok(()),
            Err(Stop::Waiting(wait)) => Err(EngineError::Later(wait)),
            Err(Stop::Engine(error)) => Err(self.let_go(&executor.run, error).await),
            Err(Stop::Reasoner(error)) => Err(self.let_go(&executor.run, error.into()).await),
        }
    }

    /// Ends a run that fails whoever tries, whatever it is that fails: the slot must not stay taken for ever.
    async fn give_up(&self, mut run: Run) -> Result<()> {
        run.errors
            .push(format!("gave up: stopped {TAKEOVERS} times without progress"));
        run.failed_phases = phases(run.dream_type).to_vec();
        tracing::error!(run.id = %run.id, "a dream was given up: it stopped {TAKEOVERS} times without progress");
        self.end_run(&run, Status::Failed, Outcome::Failed).await?;
        Ok(())
    }

    /// Ends a running run: its item, its stored answers, the run that it took back, and the machine, in one transaction.
    /// `false` when it is no longer ours.
    async fn end_run(&self, run: &Run, status: Status, outcome: Outcome) -> Result<bool> {
        let checkpoints = self.table.checkpoints(&run.id).await?;
        let mut writes = vec![self.ended(run, status), RunWrite::Forget(checkpoints)];
        if let Some(target) = &run.undo_of
            && outcome == Outcome::Completed
            && let Some(before) = self.table.run(target).await?
        {
            let after = Run {
                undone_by: Some(run.id.clone()),
                ..before.clone()
            };
            writes.push(RunWrite::Update { before, after });
        }
        let event = Event::Ended {
            run: run.id.clone(),
            outcome,
        };
        let advanced = self
            .advance(&run.representation(), &event, &writes, Caller::Handler)
            .await?;
        Ok(matches!(advanced, Advance::Done(_)))
    }

    /// Gives the lease back, so that the next delivery goes on at once instead of waiting for its end.
    async fn let_go(&self, run: &Run, error: EngineError) -> EngineError {
        let after = run.leased_until(self.now());
        if let Err(second) = self.table.update_run(run, &after).await {
            let second: &(dyn std::error::Error + 'static) = &second;
            tracing::warn!(run.id = %run.id, error = second, "the lease of a stopped run was not given back; it runs out");
        }
        error
    }
}

impl<'a> Executor<'a> {
    /// Reads the representation. `None` when it, or its workspace, is gone.
    async fn open(engine: &'a Engine, run: Run) -> Result<Option<Self>> {
        let Some(representation) = engine.table.representation(&run.representation()).await? else {
            return Ok(None);
        };
        let Some(workspace) = engine
            .table
            .workspace(&representation.workspace)
            .await?
            .filter(|w| w.uid == representation.workspace_uid)
        else {
            return Ok(None);
        };
        let deciding = run.session.as_ref().or(representation.state.deciding_session.as_ref());
        let session = match deciding {
            Some(deciding) => engine.table.active_session(&workspace.uid, deciding).await?,
            None => None,
        };
        let levels = Levels {
            session: session.as_ref().map(|session| &session.configuration),
            workspace: &workspace.configuration,
        };
        let limits = Limits {
            shrink: engine.config.shrink,
            card_allowed: levels.card_creation(engine.config.defaults).value,
        };
        let news = engine.news(&representation, &run).await?;
        let opened = run.version;
        let mut executor = Self {
            instructions: levels.instructions(Agent::Dreamer).value.map(str::to_owned),
            card_instructions: levels.card_instructions().value.map(str::to_owned),
            news,
            recall: Recall::default(),
            engine,
            run,
            desk: Desk::default(),
            edition: 0,
            card_revision: 0,
            limits,
            began: engine.now(),
            opened,
        };
        if !executor.reload().await? {
            return Ok(None);
        }
        executor.renew_vectors().await;
        Ok(Some(executor))
    }

    /// Has all conclusions carry vectors of the model in use. A dream can do without, and the next one tries again.
    async fn renew_vectors(&self) {
        if self.run.dream_type == DreamType::DryRun {
            return;
        }
        let model = self.engine.embedder.model();
        let conclusions = self.desk.conclusions().values();
        let mut stale: Vec<Conclusion> = conclusions.filter(|c| !c.is_embedded_by(model)).cloned().collect();
        if let Err(error) = self.engine.renew_vectors(&mut stale, self.engine.now() + RENEWAL).await {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::warn!(run.id = %self.run.id, error, "vectors of another model were not made anew");
        }
    }

    /// Reads the representation again, as it is now. `false` when it is gone.
    async fn reload(&mut self) -> Result<bool> {
        let table = &self.engine.table;
        let representation = self.run.representation();
        // The edition first: what is written while we read makes the next step fail.
        let Some(head) = table.representation(&representation).await? else {
            return Ok(false);
        };
        self.edition = head.edition;
        let card = table.card(&representation).await?;
        self.card_revision = card.as_ref().map_or(0, |card| card.revision);
        self.desk = Desk::new(table.all_conclusions(&representation).await?);
        self.desk.card = card.map(|card| card.entries);
        self.desk.tombstones = table.tombstones(&representation).await?;
        self.desk.tombstone_key = self.run.workspace_uid.to_string();
        if self.run.dream_type == DreamType::DryRun {
            // What a dry run has done is only in its record.
            for change in self.changes_of(&self.run.id.clone()).await?.changes {
                self.desk.apply(&change);
            }
        }
        self.desk.total_at_claim = self.run.total_at_claim;
        self.desk.removed_unreplaced = self.run.removed_unreplaced;
        Ok(true)
    }

    /// Reads again what kept a step from being committed, for another attempt: the conclusions that it touches, and all
    /// of the representation only if a dream or an erasure has raised its edition, or if that did not help before.
    pub(super) async fn catch_up(&mut self, stale: &Step, attempt: u32) -> Result<(), Stop> {
        let representation = self.run.representation();
        let table = &self.engine.table;
        let head = table.representation(&representation).await?.ok_or(Stop::Lost)?;
        if head.edition != self.edition || attempt > 0 || self.run.dream_type == DreamType::DryRun {
            return if self.reload().await? { Ok(()) } else { Err(Stop::Lost) };
        }
        let touched: Vec<ConclusionId> = stale.changes.iter().filter_map(Change::conclusion).cloned().collect();
        let mut found = table.conclusions_by_id(&touched).await?;
        for id in &touched {
            self.desk.put(id, found.remove(id));
        }
        let card = table.card(&representation).await?;
        self.card_revision = card.as_ref().map_or(0, |card| card.revision);
        self.desk.card = card.map(|card| card.entries);
        Ok(())
    }

    async fn go(&mut self) -> Result<(), Stop> {
        let phases = phases(self.run.dream_type);
        while let Some(phase) = phases.get(self.run.progress.phase as usize) {
            let over = match phase {
                Phase::Undo => self.undo().await.map(|()| true),
                Phase::Deduction | Phase::Induction | Phase::Card => self.turn(*phase).await,
            };
            match over {
                Ok(true) => self.end_phase(*phase),
                Ok(false) => self.run.progress = self.run.progress.next_turn(),
                Err(Stop::Reasoner(error)) => self.reasoner_failed(*phase, error).await?,
                Err(stop) => return Err(stop),
            }
        }
        self.finish(phases).await
    }

    /// One turn: the stored answer or a new one, then its operations. Whether the phase is over.
    async fn turn(&mut self, phase: Phase) -> Result<bool, Stop> {
        self.hand_over_in_time().await?;
        let Some(thought) = self.thought(phase).await? else {
            return Ok(true);
        };
        if self.recall.earlier.len() == self.run.progress.phase_turn as usize {
            self.recall.note(&thought);
        }
        let from = self.run.progress.operation as usize;
        for operation in thought.operations.iter().skip(from) {
            self.hand_over_in_time().await?;
            match self.carry_out(operation).await? {
                // The owner's wish, of which the reasoner cannot know: there is nothing to mend.
                None | Some(Rejection::Erased) => self.run.tally.carried_out += 1,
                Some(rejection) => self.refuse(rejection),
            }
            self.run.progress = self.run.progress.next_operation();
        }
        Ok(thought.done)
    }

    /// Why the reasoner is asked nothing more in this phase, if so.
    fn bound(&self) -> Option<String> {
        let Progress { phase_turn, .. } = self.run.progress;
        let (most, used) = (self.engine.config.max_tokens_per_run, self.run.usage.total());
        if phase_turn >= TURNS {
            Some(format!("ended after {TURNS} turns"))
        } else if most > 0 && used >= most {
            let how = if phase_turn == 0 { "not begun" } else { "ended" };
            Some(format!("{how}, {used} tokens of {most} are used up"))
        } else {
            None
        }
    }

    /// Notes what the toolbox refused: the next turn is shown the first of it.
    fn refuse(&mut self, rejection: Rejection) {
        self.note(&rejection);
        self.run.tally.refused += 1;
        if self.run.refused.len() < SHOWN_REFUSALS {
            self.run.refused.push((self.run.progress.operation as usize, rejection));
        }
    }

    /// Goes on to the next phase. One of which nothing was of use has failed, though its reasoner found it well.
    fn end_phase(&mut self, phase: Phase) {
        match self.run.tally {
            Tally {
                carried_out: 0,
                refused: 0,
            } if self.run.progress.phase_turn >= TURNS => self.fail_phase(phase, &"nothing was asked for"),
            Tally {
                carried_out: 0,
                refused,
            } if refused > 0 => self.fail_phase(phase, &format!("none of {refused} operations was acceptable")),
            _ => self.next_phase(),
        }
    }

    fn fail_phase(&mut self, phase: Phase, why: &dyn Display) {
        self.run.errors.push(format!("{}: {why}", phase.as_str()));
        self.run.failed_phases.push(phase);
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.run.attempts = 0;
        self.run.tally = Tally::default();
        self.run.refused.clear();
        self.recall = Recall::default();
        self.run.progress = self.run.progress.next_phase();
    }

    /// Hands the run on when its slice is over and something of it is done, however short the slice: a run may take
    /// longer than a function lives. Gives the lease back and asks for somebody to go on with it; should the message get
    /// lost, the due index has the run.
    async fn hand_over_in_time(&mut self) -> Result<(), Stop> {
        let now = self.engine.now();
        if now.since(self.began) < self.engine.config.slice || self.run.version == self.opened {
            return Ok(());
        }
        let after = self.run.leased_until(now);
        self.store(&after).await?;
        self.engine.send_resume(&self.run, None).await?;
        Err(Stop::HandedOver)
    }

    /// The turn's answer, stored; `None` when the phase may ask for no more.
    async fn thought(&mut self, phase: Phase) -> Result<Option<Thought>, Stop> {
        if let Some(stored) = self
            .engine
            .table
            .checkpoint(&self.run.id, self.run.progress.turn)
            .await?
        {
            return Ok(Some(stored));
        }
        if let Some(why) = self.bound() {
            self.run.errors.push(format!("{}: {why}", phase.as_str()));
            return Ok(None);
        }
        self.recall().await?;
        let conclusions: Vec<_> = self.desk.conclusions().values().cloned().collect();
        let (observer, observed) = (self.run.observer.clone(), self.run.observed.clone());
        let card = self.desk.card.clone().filter(|_| !self.run.rebuild);
        let (instructions, card_instructions) = (self.instructions.clone(), self.card_instructions.clone());
        let (earlier, outcomes) = (self.recall.earlier.clone(), self.outcomes());
        let request = ThinkRequest {
            phase,
            turn: self.run.progress.phase_turn,
            observer: &observer,
            observed: &observed,
            conclusions: &conclusions,
            card: card.as_deref(),
            card_allowed: self.limits.card_allowed,
            instructions: instructions.as_deref(),
            card_instructions: card_instructions.as_deref(),
            last_dream_at: self.news.last_dream_at,
            nothing_new: self.news.nothing,
            earlier: &earlier,
            outcomes: &outcomes,
            messages: &Said(&self.engine.table),
        };
        let thinking = self.engine.reasoner.think(request);
        tokio::pin!(thinking);
        let thought = loop {
            tokio::select! {
                thought = &mut thinking => break thought.map_err(Stop::Reasoner)?,
                () = tokio::time::sleep(HEARTBEAT) => self.keep().await?,
            }
        };
        let mut after = self.renewed();
        after.usage += thought.usage;
        after.attempts = 0;
        after.refused.clear();
        let stored = self.engine.table.store_checkpoint(&self.run, &after, &thought).await;
        if matches!(stored, Err(TableError::TooLarge(_))) {
            return Err(Stop::Reasoner(ReasonerError::Permanent {
                reason: "the answer is too large to be stored".to_owned(),
                usage: thought.usage,
            }));
        }
        self.run = stored?.ok_or(Stop::Lost)?;
        Ok(Some(thought))
    }

    /// Where in the run the operation at hand stands.
    pub(super) fn place(&self) -> Place {
        Place {
            run: self.run.id.clone(),
            at: self.run.started_at.unwrap_or(self.run.created_at),
            turn: self.run.progress.turn,
            call: self.run.progress.operation,
        }
    }

    /// Carries out one operation. One that the toolbox refuses changes nothing; why it does is the answer.
    async fn carry_out(&mut self, operation: &Operation) -> Result<Option<Rejection>, Stop> {
        for attempt in 0..REPLANS {
            let steps = match plan(operation, &self.desk, &self.limits, &self.place()) {
                Ok(steps) => steps,
                // Planned again after a crash, an operation of which all is done may find nothing left to do it on.
                Err(_) if self.run.progress.step > 0 => return Ok(None),
                Err(rejection) => return Ok(Some(rejection)),
            };
            let Some(stale) = self.commit_all(steps).await? else {
                return Ok(None);
            };
            self.catch_up(&stale, attempt).await?;
        }
        Err(TableError::Conflict.into())
    }

    fn note(&self, rejection: &Rejection) {
        // Only the kind: a rejection may quote text.
        let kind = match rejection {
            Rejection::Explicit => "explicit",
            Rejection::Content { .. } => "content",
            Rejection::Sources { .. } => "sources",
            Rejection::Unknown(_) => "unknown",
            Rejection::Itself(_) => "itself",
            Rejection::Erased => "erased",
            Rejection::Level(_) => "level",
            Rejection::Taken(_) => "taken",
            Rejection::Shrink => "shrink",
            Rejection::Card(_) => "card",
        };
        tracing::info!(run.id = %self.run.id, run.turn = self.run.progress.turn, operation = self.run.progress.operation, rejection = kind, "the toolbox refused an operation");
    }

    /// Commits steps in order. Gives back the one under which the representation has changed: plan anew.
    pub(super) async fn commit_all(&mut self, steps: Vec<Step>) -> Result<Option<Step>, Stop> {
        for mut step in steps {
            self.embed(&mut step).await?;
            let mut after = self.renewed();
            after.progress = self.run.progress.next_step();
            let mut desk_card = None;
            for change in &step.changes {
                match change {
                    Change::Created { .. } => after.created_count += 1,
                    Change::Removed { replaced_by, .. } => {
                        after.removed_count += 1;
                        after.removed_unreplaced += u64::from(replaced_by.is_none());
                    }
                    Change::Reinforced { .. } => after.reinforced_count += 1,
                    Change::Card { after: card, .. } => {
                        after.peer_card_updated = true;
                        desk_card = Some(card.is_some());
                    }
                }
            }
            let now = self.engine.now();
            match self
                .engine
                .table
                .commit_step(&self.run, &after, &step, self.edition, self.card_revision, now)
                .await?
            {
                Committed::Done => {
                    self.run = after;
                    self.edition += 1;
                    self.desk.apply_step(&step);
                    if let Some(there) = desk_card {
                        self.card_revision = if there { self.card_revision + 1 } else { 0 };
                    }
                }
                Committed::Lost => return Err(Stop::Lost),
                Committed::Stale => return Ok(Some(step)),
            }
        }
        Ok(None)
    }

    /// Gives new conclusions their vectors.
    async fn embed(&self, step: &mut Step) -> Result<(), Stop> {
        for change in &mut step.changes {
            if let Change::Created { conclusion } = change
                && conclusion.embedding.is_none()
            {
                conclusion.embedding = self
                    .engine
                    .embedder
                    .embed(std::slice::from_ref(&conclusion.content))
                    .await
                    // Waited for like the reasoner: an outage is no death of this run.
                    .map_err(|error| Stop::Reasoner(ReasonerError::transient(error.to_string())))?
                    .pop();
            }
        }
        Ok(())
    }

    /// The run as it will be stored after progress: its lease renewed.
    fn renewed(&self) -> Run {
        Run {
            version: self.run.version + 1,
            takeovers: 0,
            ..self.run.leased_until(self.engine.now() + LEASE)
        }
    }

    /// Writes the run as it shall be, on its own; unless it is no longer ours.
    pub(super) async fn store(&mut self, after: &Run) -> Result<(), Stop> {
        let stored = self.engine.table.update_run(&self.run, after).await?;
        self.run = stored.ok_or(Stop::Lost)?;
        Ok(())
    }

    /// Renews the lease while nothing is committed.
    async fn keep(&mut self) -> Result<(), Stop> {
        let after = self.run.leased_until(self.engine.now() + LEASE);
        self.store(&after).await
    }

    /// A phase whose reasoner is not available is tried again later, a few times; one that gave junk has failed, and
    /// what it had committed stays.
    async fn reasoner_failed(&mut self, phase: Phase, error: ReasonerError) -> Result<(), Stop> {
        if matches!(error, ReasonerError::Transient { .. }) && self.run.attempts + 1 < ATTEMPTS {
            let attempts = self.run.attempts + 1;
            let told = error.retry_after(self.engine.now()).unwrap_or_default();
            let wait = told.clamp(doubled(FIRST_WAIT, attempts, LONGEST_WAIT), LONGEST_WAIT);
            let after = Run {
                attempts,
                ..self.run.leased_until(self.engine.now() + wait)
            };
            self.store(&after).await?;
            tracing::warn!(run.id = %self.run.id, phase = phase.as_str(), attempts, "the reasoner is not available; the run waits");
            return Err(Stop::to_wait(attempts, wait));
        }
        tracing::warn!(run.id = %self.run.id, phase = phase.as_str(), error = &error as &dyn std::error::Error, "a phase failed");
        if let ReasonerError::Permanent { usage, .. } = &error {
            self.run.usage += *usage;
        }
        self.fail_phase(phase, &error);
        Ok(())
    }

    async fn finish(&mut self, phases: &[Phase]) -> Result<(), Stop> {
        // A run of which a phase failed and the rest found nothing to do has come to nothing: it is to be run again.
        let failed = self.run.failed_phases.len() >= phases.len()
            || (!self.run.failed_phases.is_empty() && !self.run.changed_anything());
        let (status, outcome) = if failed {
            (Status::Failed, Outcome::Failed)
        } else {
            (Status::Completed, Outcome::Completed)
        };
        if !self.engine.end_run(&self.run, status, outcome).await? {
            return Err(Stop::Lost);
        }
        tracing::info!(
            run.id = %self.run.id,
            run.status = status.as_str(),
            created.count = self.run.created_count,
            removed.count = self.run.removed_count,
            reinforced.count = self.run.reinforced_count,
            "a dream ended"
        );
        Ok(())
    }
}
