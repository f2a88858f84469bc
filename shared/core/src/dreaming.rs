//! The dreaming machine: when a representation dreams, and why it does not (`design.md` section 4).
//!
//! A pure function, [`step`]: state, settings, facts and event in; state and effects out. The caller reads the facts of
//! [`View`] just before, writes the new state under the condition that the old one still stands, and carries out the
//! effects after that. A step that returns an equal state needs no write; its effects are answers, or letters that
//! may be sent again. [`why_not`] explains the same state with the same rules, which live in `rules.rs` alone.

mod rules;
mod step;
#[cfg(test)]
mod tests;
mod why_not;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conclusion::SessionRef;
use crate::config::Config;
use crate::id::RunId;
use crate::run::{DreamType, Trigger};
use crate::settings::{Decided, DecidedBy};
use crate::time::Time;

pub use rules::due;
pub use step::step;
pub use why_not::{Verdict, WhyNot, why_not};

/// The shortest wait that the machine asks for, so that an idle timeout of zero never makes it spin.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
/// The precision of the schedules on AWS: nothing finer is worth a replacement.
const MINUTE: Duration = Duration::from_mins(1);

/// The deployment's timings and threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// New explicit conclusions that make a dream due.
    pub threshold: u64,
    /// Least time between two dreams.
    pub cooldown: Duration,
    /// Quiet time after the observed peer's last message.
    pub idle: Duration,
    /// Longest time that activity can put a dream off; zero is no bound.
    pub max_defer: Duration,
    /// A schedule is not replaced while the due time lies within this of what it says.
    pub coalesce: Duration,
    /// How long a dream that is due waits for ingest before it looks again.
    pub ingest_wait: Duration,
}

impl Timings {
    /// The timings that follow from the configuration: coalescing is a minute or a twentieth of the idle timeout, the
    /// wait for ingest a minute or the idle timeout, whichever is shorter.
    pub fn of(config: &Config) -> Self {
        Self {
            threshold: config.threshold,
            cooldown: config.cooldown,
            idle: config.idle,
            max_defer: config.max_defer,
            coalesce: MINUTE.min(config.idle / 20),
            ingest_wait: MINUTE.min(config.idle).max(SHORTEST_WAIT),
        }
    }
}

/// What is stored of a representation's dreaming. Missing fields have their defaults, so older items stay readable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Explicit conclusions ever created, whichever way. Deletions never subtract, dreams' output never counts.
    pub explicit_total: u64,
    /// `explicit_total` as the last dream saw it.
    pub baseline: u64,
    /// End of the last dream that moved the baseline.
    pub last_dream_at: Option<Time>,
    /// The session of the newest explicit conclusion; `None`: the workspace decides.
    pub deciding_session: Option<SessionRef>,
    /// Since when the threshold has been met: stands in for activity where the observed peer never sent a message.
    pub threshold_met_at: Option<Time>,
    /// The armed idle dream.
    pub timer: Option<Timer>,
    /// The last generation used. It only grows.
    pub generation: u64,
    /// Since when activity has been putting the dream off; survives replacement and cancellation of the timer.
    pub armed_since: Option<Time>,
    /// Requested runs that have not started, one per type.
    pub pending: BTreeMap<DreamType, RunId>,
    /// The run that holds the one slot.
    pub running: Option<Running>,
    /// An idle dream fired and found the slot taken by a run of another type.
    pub idle_waiting: bool,
    /// Dreams that failed one after another.
    pub failures: u32,
    /// No idle dream before this.
    pub back_off_until: Option<Time>,
}

/// An armed idle dream and its one current schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timer {
    /// Names the schedule.
    pub generation: u64,
    /// When the dream is due by the rules.
    pub due_at: Time,
    /// When the schedule looks: near `due_at`, or later while ingest is waited for.
    pub scheduled_for: Time,
}

/// The run that holds the slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Which.
    pub run: RunId,
    /// What it does.
    pub dream_type: DreamType,
    /// Why it runs.
    pub trigger: Trigger,
    /// `explicit_total` at the claim: the baseline when it ends.
    #[serde(default)]
    pub total_at_claim: u64,
    /// When it was claimed.
    #[serde(default)]
    pub claimed_at: Time,
}

/// Facts that the caller read just before the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Whether dreams are on, as resolved for the deciding session; at [`Event::Concluded`] for the event's session.
    /// Deleted or none: for the workspace.
    pub enabled: Decided<bool>,
    /// The same for a manual run whose request named a session of its own: the one requested or started now, and those
    /// pending. A type that is missing goes by `enabled`.
    pub manual_enabled: BTreeMap<DreamType, Decided<bool>>,
    /// Arrival of the observed peer's last message, in any session.
    pub last_activity: Option<Time>,
    /// Whether ingest of the observed peer lags (rule 5). Only [`Event::Look`] and [`why_not`] ask.
    pub ingest_lagging: bool,
}

impl View {
    /// A view with nothing but the switch: no activity known, ingest caught up.
    pub fn of(enabled: Decided<bool>) -> Self {
        Self {
            enabled,
            manual_enabled: BTreeMap::new(),
            last_activity: None,
            ingest_lagging: false,
        }
    }

    /// Whether a manual run of this type may run.
    fn manual(&self, dream_type: DreamType) -> Decided<bool> {
        self.manual_enabled.get(&dream_type).copied().unwrap_or(self.enabled)
    }
}

/// What happened. Each may come late, twice or out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Explicit conclusions were created, by the deriver or through the API. The one event that is not idempotent: the
    /// caller applies it in the transaction that creates them.
    Concluded {
        /// How many.
        explicit: u64,
        /// The session of the newest of them.
        session: Option<SessionRef>,
    },
    /// A message of the observed peer arrived; `View::last_activity` has its time.
    Activity,
    /// A schedule fired, a letter came again, or the reconciler passes by: look whether a dream is due.
    Look {
        /// The generation that fired; `None` where none did.
        generation: Option<u64>,
        /// The id of the run, if an idle dream is claimed now.
        fresh_run: RunId,
    },
    /// A manual request.
    Request {
        /// What to do.
        dream_type: DreamType,
        /// The id of the run, if it is accepted.
        run: RunId,
    },
    /// The queue delivered a pending run: claim it if the slot is free.
    Start {
        /// Which.
        run: RunId,
    },
    /// A user cancelled a run that has not started.
    CancelPending {
        /// Which.
        run: RunId,
    },
    /// The running run ended.
    Ended {
        /// Which.
        run: RunId,
        /// How.
        outcome: Outcome,
    },
    /// Settings may have changed: look at the switches again.
    SettingsChanged,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Completed,
    /// Every phase failed.
    Failed,
    /// A user stopped it while it ran.
    Cancelled,
}

/// What the caller is to do, in order, once the new state is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Create the schedule of this generation. A time that has passed means: send the look at once.
    Schedule {
        /// Its generation.
        generation: u64,
        /// When it looks.
        at: Time,
    },
    /// Delete the schedule of this generation; it may have fired and gone.
    Unschedule {
        /// Its generation.
        generation: u64,
    },
    /// Send the dreams queue a letter for a pending run. It may be sent again for the same run, when the slot has become
    /// free or a look finds it waiting, so the run's id alone must not be the deduplication id.
    Enqueue {
        /// Which.
        run: RunId,
    },
    /// Start the run: put its item (idle) or update it (manual) in the transaction that writes the state, then run it in
    /// this invocation.
    Claim {
        /// Which.
        run: RunId,
        /// What it does.
        dream_type: DreamType,
        /// Why it runs.
        trigger: Trigger,
    },
    /// The answer to a request: it is pending now.
    Accepted {
        /// Which.
        run: RunId,
    },
    /// The answer to a request: one of its type is pending or running, nothing was done.
    AlreadyThere {
        /// The one that is there.
        run: RunId,
    },
    /// The answer to a request: dreams are off.
    Refused {
        /// The level that turned them off.
        by: DecidedBy,
    },
    /// Mark a pending run cancelled: a user cancelled it, or settings turned it off.
    DropPending {
        /// Which.
        run: RunId,
    },
}
