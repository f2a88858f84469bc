//! One step of the machine.

use std::time::Duration;

use super::rules::{back_off, due};
use super::{Effect, Event, Outcome, Running, State, Timer, Timings, View};
use crate::conclusion::SessionRef;
use crate::id::RunId;
use crate::run::{DreamType, Trigger};
use crate::time::Time;

/// Applies `event` to `state`. An event that changes nothing returns an equal state; the only effects it may then have
/// are the answer to a request and [`Effect::Enqueue`] for a pending run that waits although the slot is free.
pub fn step(state: &State, timings: &Timings, view: &View, event: &Event, now: Time) -> (State, Vec<Effect>) {
    let mut step = Step {
        state: state.clone(),
        timings,
        view,
        now,
        effects: Vec::new(),
    };
    match event {
        Event::Concluded { explicit, session } => step.concluded(*explicit, session.as_ref()),
        Event::Activity => step.activity(),
        Event::Look { generation, fresh_run } => step.look(*generation, fresh_run),
        Event::Request { dream_type, run } => step.request(*dream_type, run),
        Event::Start { run } => step.start(run),
        Event::CancelPending { run } => step.cancel_pending(run),
        Event::Ended { run, outcome } => step.ended(run, *outcome),
        Event::SettingsChanged => step.settings_changed(),
    }
    (step.state, step.effects)
}

struct Step<'a> {
    state: State,
    timings: &'a Timings,
    view: &'a View,
    now: Time,
    effects: Vec<Effect>,
}

impl Step<'_> {
    /// Only explicit conclusions count (rule 1); the newest one's session decides whether dreams are on.
    fn concluded(&mut self, explicit: u64, session: Option<&SessionRef>) {
        if explicit > 0 {
            self.state.explicit_total = self.state.explicit_total.saturating_add(explicit);
            self.state.deciding_session = session.cloned();
        }
        self.arm();
    }

    /// Rule 3. Arrival times only grow, so a due time before the one we know comes from a view older than ours.
    fn activity(&mut self) {
        let known = self.state.timer.as_ref().map(|timer| timer.due_at);
        let stale = self.due().is_some_and(|due| known.is_some_and(|known| due < known));
        if !stale {
            self.arm();
        }
    }

    /// Rule 5: a fire means look. Whoever looks and finds a dream due may claim it, whatever the generation.
    fn look(&mut self, generation: Option<u64>, fresh_run: &RunId) {
        match self.ripe() {
            None => self.disarm(),
            Some(due) if due > self.now => {
                self.state.idle_waiting = false;
                self.look_again(generation, due, due);
            }
            Some(_) if self.state.running.is_some() => {
                self.disarm();
                self.state.idle_waiting = true;
            }
            Some(due) if self.state.waits_for_ingest(self.timings, self.view, self.now) => {
                let at = self.now + self.timings.ingest_wait;
                let at = self.state.defer_end(self.timings).map_or(at, |end| end.min(at));
                self.look_again(generation, due, at);
            }
            Some(_) => self.claim(fresh_run, DreamType::Omni, Trigger::Idle),
        }
        self.enqueue_pending();
    }

    /// Rules 6 and 8.
    fn request(&mut self, dream_type: DreamType, run: &RunId) {
        if self.is_off(dream_type) {
            let by = self.view.manual(dream_type).by;
            return self.effects.push(Effect::Refused { by });
        }
        let running = self.state.running.as_ref().filter(|r| r.dream_type == dream_type);
        if let Some(there) = running.map(|r| &r.run).or(self.state.pending.get(&dream_type)) {
            return self.effects.push(Effect::AlreadyThere { run: there.clone() });
        }
        if dream_type == DreamType::Omni {
            self.disarm();
        }
        self.state.pending.insert(dream_type, run.clone());
        self.effects.push(Effect::Accepted { run: run.clone() });
        self.effects.push(Effect::Enqueue { run: run.clone() });
    }

    /// Rule 8; the switch is checked at the claim, too (rule 1).
    fn start(&mut self, run: &RunId) {
        if self.state.running.is_some() {
            return;
        }
        let Some(dream_type) = self.pending_type(run) else {
            return;
        };
        if self.is_off(dream_type) {
            self.drop_pending(dream_type);
            self.arm();
        } else {
            self.state.pending.remove(&dream_type);
            self.claim(run, dream_type, Trigger::Manual);
        }
    }

    /// It never started, so neither baseline nor cooldown moves, and what is due by the rules is armed again.
    fn cancel_pending(&mut self, run: &RunId) {
        if let Some(dream_type) = self.pending_type(run) {
            self.drop_pending(dream_type);
            self.arm();
        }
    }

    /// Rule 7.
    fn ended(&mut self, run: &RunId, outcome: Outcome) {
        let Some(running) = self.state.running.take_if(|running| running.run == *run) else {
            return;
        };
        match (running.dream_type, outcome) {
            (DreamType::Omni, Outcome::Failed) => {
                self.state.failures = self.state.failures.saturating_add(1);
                self.state.back_off_until = Some(self.now + back_off(self.timings, self.state.failures));
            }
            (DreamType::Omni | DreamType::Undo, Outcome::Completed | Outcome::Cancelled) => {
                self.state.baseline = self.state.baseline.max(running.total_at_claim);
                self.state.last_dream_at = Some(self.now);
                self.state.failures = 0;
                self.state.back_off_until = None;
                // What is new from here on meets the threshold anew.
                self.state.threshold_met_at = None;
                self.state.armed_since = None;
            }
            // Rule 9: card refresh moves nothing, nor do dry runs, nor an undo that failed.
            (DreamType::Undo, Outcome::Failed) | (DreamType::CardRefresh | DreamType::DryRun, _) => {}
        }
        // An idle dream that waited for the slot is due, so arming sends its look at once.
        self.state.idle_waiting = false;
        self.arm();
        self.enqueue_pending();
    }

    /// Rule 9: the timer and what is pending go; a running dream finishes.
    fn settings_changed(&mut self) {
        for dream_type in DreamType::ALL {
            if self.is_off(dream_type) {
                self.drop_pending(dream_type);
            }
        }
        self.arm();
    }

    fn due(&self) -> Option<Time> {
        due(&self.state, self.timings, self.view, self.now)
    }

    /// Rules 2 and 4: when an idle dream is to be run, with the times noted from which its waits count.
    fn ripe(&mut self) -> Option<Time> {
        if !self.state.threshold_met(self.timings) {
            self.state.threshold_met_at = None;
            self.state.armed_since = None;
            return None;
        }
        self.state.threshold_met_at.get_or_insert(self.now);
        self.due()?;
        // Armed again after a cancellation, it keeps the time at which it was first armed.
        self.state.armed_since.get_or_insert(self.now);
        self.due()
    }

    /// Rule 2: arms, moves or removes the timer as the rules now say.
    fn arm(&mut self) {
        let Some(due) = self.ripe() else {
            return self.disarm();
        };
        if self.state.idle_waiting && due <= self.now {
            return;
        }
        self.state.idle_waiting = false;
        match &mut self.state.timer {
            Some(timer) if timer.due_at == due => {}
            // Coalescing: the early fire looks, finds it is not due, and takes a new generation.
            Some(timer) if apart(timer.scheduled_for, due) <= self.timings.coalesce => timer.due_at = due,
            _ => self.schedule(due, due),
        }
    }

    /// Rule 5: the current generation's fire has used up its schedule and takes a new one; an older one's changes
    /// nothing; whoever looks without a generation (the reconciler) repairs a schedule that is lost or would be late.
    fn look_again(&mut self, generation: Option<u64>, due: Time, at: Time) {
        let Some(timer) = &mut self.state.timer else {
            return self.schedule(due, at);
        };
        match generation {
            Some(generation) if generation == timer.generation => self.schedule(due, at),
            Some(_) => {}
            None if timer.scheduled_for <= self.now || timer.scheduled_for > at + self.timings.coalesce => {
                self.schedule(due, at);
            }
            None => timer.due_at = due,
        }
    }

    /// Creates the schedule of a new generation, then deletes the one that it replaces.
    fn schedule(&mut self, due_at: Time, at: Time) {
        self.state.generation += 1;
        let generation = self.state.generation;
        self.effects.push(Effect::Schedule { generation, at });
        let timer = Timer {
            generation,
            due_at,
            scheduled_for: at,
        };
        if let Some(Timer { generation, .. }) = self.state.timer.replace(timer) {
            self.effects.push(Effect::Unschedule { generation });
        }
    }

    /// Takes back an idle dream that has not started.
    fn disarm(&mut self) {
        self.state.idle_waiting = false;
        if let Some(Timer { generation, .. }) = self.state.timer.take() {
            self.effects.push(Effect::Unschedule { generation });
        }
    }

    /// Rule 8: takes the one slot, which the caller has found free.
    fn claim(&mut self, run: &RunId, dream_type: DreamType, trigger: Trigger) {
        if dream_type == DreamType::Omni {
            self.disarm();
            // Rule 4.
            self.state.armed_since = None;
        }
        self.state.running = Some(Running {
            run: run.clone(),
            dream_type,
            trigger,
            total_at_claim: self.state.explicit_total,
            claimed_at: self.now,
        });
        self.effects.push(Effect::Claim {
            run: run.clone(),
            dream_type,
            trigger,
        });
    }

    fn pending_type(&self, run: &RunId) -> Option<DreamType> {
        let mut pending = self.state.pending.iter();
        pending.find(|(_, pending)| *pending == run).map(|(kind, _)| *kind)
    }

    /// Whether settings turn a manual run off. Undo is always allowed: it takes changes back, whatever they say now.
    fn is_off(&self, dream_type: DreamType) -> bool {
        dream_type != DreamType::Undo && !self.view.manual(dream_type).value
    }

    fn drop_pending(&mut self, dream_type: DreamType) {
        if let Some(run) = self.state.pending.remove(&dream_type) {
            self.effects.push(Effect::DropPending { run });
        }
    }

    /// Sends for every pending run while the slot is free: the letter of one that waited is used up.
    fn enqueue_pending(&mut self) {
        if self.state.running.is_none() {
            let pending = DreamType::ALL.iter().filter_map(|kind| self.state.pending.get(kind));
            let letters = pending.map(|run| Effect::Enqueue { run: run.clone() });
            self.effects.extend(letters);
        }
    }
}

fn apart(one: Time, other: Time) -> Duration {
    one.since(other).max(other.since(one))
}
