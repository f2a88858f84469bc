//! The machine under test: examples by rule, the explanations, and properties over a simulated world.
#![allow(clippy::unwrap_used, clippy::panic)]

mod explained;
mod ingest_and_slots;
mod properties;
mod reports;
mod rules;
mod world;

use std::time::Duration;

use super::{Effect, Event, Outcome, State, Timings, View, WhyNot, step, why_not};
use crate::conclusion::SessionRef;
use crate::config::Config;
use crate::id::{RunId, SessionName, SessionUid};
use crate::run::DreamType;
use crate::settings::{Decided, DecidedBy};
use crate::time::Time;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const ON: Decided<bool> = Decided {
    value: true,
    by: DecidedBy::Global,
};

fn off(by: DecidedBy) -> Decided<bool> {
    Decided { value: false, by }
}

fn run(name: &str) -> RunId {
    RunId::trusted(name)
}

fn session(name: &str) -> SessionRef {
    SessionRef {
        uid: SessionUid::trusted(format!("uid-{name}")),
        name: SessionName::trusted(name),
    }
}

/// One representation under the default timings, with a clock that the test sets.
struct Bench {
    timings: Timings,
    state: State,
    view: View,
    now: Time,
}

impl Bench {
    /// At 2026-11-30T12:00:00Z, nothing stored, dreams on.
    fn new() -> Self {
        Self {
            timings: Timings::of(&Config::default()),
            state: State::default(),
            view: View::of(ON),
            now: Time::parse("2026-11-30T12:00:00Z").unwrap(),
        }
    }

    fn pass(&mut self, time: Duration) -> Time {
        self.now = self.now + time;
        self.now
    }

    fn apply(&mut self, event: &Event) -> Vec<Effect> {
        let (state, effects) = step(&self.state, &self.timings, &self.view, event, self.now);
        self.state = state;
        effects
    }

    fn conclude(&mut self, explicit: u64) -> Vec<Effect> {
        let session = Some(session("s"));
        self.apply(&Event::Concluded { explicit, session })
    }

    /// A message of the observed arrives now.
    fn message(&mut self) -> Vec<Effect> {
        self.view.last_activity = Some(self.now);
        self.apply(&Event::Activity)
    }

    fn look(&mut self, generation: Option<u64>) -> Vec<Effect> {
        let fresh_run = run("idle");
        self.apply(&Event::Look { generation, fresh_run })
    }

    /// The current schedule fires now.
    fn fire(&mut self) -> Vec<Effect> {
        let generation = self.state.timer.as_ref().unwrap().generation;
        self.look(Some(generation))
    }

    fn request(&mut self, dream_type: DreamType, name: &str) -> Vec<Effect> {
        let run = run(name);
        self.apply(&Event::Request { dream_type, run })
    }

    fn start(&mut self, name: &str) -> Vec<Effect> {
        self.apply(&Event::Start { run: run(name) })
    }

    fn end(&mut self, outcome: Outcome) -> Vec<Effect> {
        let run = self.state.running.clone().unwrap().run;
        self.apply(&Event::Ended { run, outcome })
    }

    /// Requests, starts and ends a run of this type, all now.
    fn whole_run(&mut self, dream_type: DreamType, outcome: Outcome) -> Vec<Effect> {
        self.request(dream_type, "whole");
        self.start("whole");
        self.end(outcome)
    }

    /// A message and fifty conclusions, now: the timer is armed.
    fn armed() -> Self {
        let mut bench = Self::new();
        bench.message();
        bench.conclude(50);
        assert!(bench.state.timer.is_some());
        bench
    }

    /// When the armed dream is due.
    fn due_at(&self) -> Option<Time> {
        self.state.timer.as_ref().map(|timer| timer.due_at)
    }

    fn why(&self) -> WhyNot {
        why_not(&self.state, &self.timings, &self.view, self.now)
    }

    fn claimed(&self) -> Option<&RunId> {
        self.state.running.as_ref().map(|running| &running.run)
    }
}

fn claims(effects: &[Effect]) -> usize {
    effects.iter().filter(|e| matches!(e, Effect::Claim { .. })).count()
}
