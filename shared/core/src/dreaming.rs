//! The dreaming machine (interface only until the machine lands).
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conclusion::SessionRef;
use crate::config::Config;
use crate::id::RunId;
use crate::run::{DreamType, Trigger};
use crate::settings::{Decided, DecidedBy};
use crate::time::Time;

#[derive(Clone, Debug)]
pub struct Timings {
    pub threshold: u64,
    pub cooldown: Duration,
    pub idle: Duration,
    pub max_defer: Duration,
    pub coalesce: Duration,
    pub ingest_wait: Duration,
}
impl Timings {
    pub fn of(_config: &Config) -> Self {
        todo!()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub explicit_total: u64,
    pub baseline: u64,
    pub last_dream_at: Option<Time>,
    pub deciding_session: Option<SessionRef>,
    pub threshold_met_at: Option<Time>,
    pub timer: Option<Timer>,
    pub generation: u64,
    pub armed_since: Option<Time>,
    pub pending: BTreeMap<DreamType, RunId>,
    pub running: Option<Running>,
    pub idle_waiting: bool,
    pub failures: u32,
    pub back_off_until: Option<Time>,
}
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    pub generation: u64,
    pub due_at: Time,
    pub scheduled_for: Time,
}
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub run: RunId,
    pub dream_type: DreamType,
    pub trigger: Trigger,
    pub total_at_claim: u64,
    pub claimed_at: Time,
}
#[derive(Clone, Debug)]
pub struct View {
    pub enabled: Decided<bool>,
    pub last_activity: Option<Time>,
    pub ingest_lagging: bool,
}
#[derive(Clone, Debug)]
pub enum Event {
    Concluded { explicit: u64, session: Option<SessionRef> },
    Activity,
    Look { generation: Option<u64>, fresh_run: RunId },
    Request { dream_type: DreamType, run: RunId },
    Start { run: RunId },
    CancelPending { run: RunId },
    Ended { run: RunId, outcome: Outcome },
    SettingsChanged,
}
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    Completed,
    Failed,
    Cancelled,
}
#[derive(Clone, Debug)]
pub enum Effect {
    Schedule { generation: u64, at: Time },
    Unschedule { generation: u64 },
    Enqueue { run: RunId },
    Claim { run: RunId, dream_type: DreamType, trigger: Trigger },
    Accepted { run: RunId },
    AlreadyThere { run: RunId },
    Refused { by: DecidedBy },
    DropPending { run: RunId },
}
pub fn step(_state: &State, _timings: &Timings, _view: &View, _event: &Event, _now: Time) -> (State, Vec<Effect>) {
    todo!()
}
