//! The rules themselves, as questions to a state: what [`super::step`] decides by and [`super::why_not`] explains by.

use std::time::Duration;

use super::{SHORTEST_WAIT, State, Timings, View};
use crate::run::DreamType;
use crate::time::{Time, doubled};

/// The longest back-off (rule 7).
const DAY: Duration = Duration::from_hours(24);

/// What an idle dream waits for: it is due when all three have passed (rule 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gates {
    /// The observed peer has been quiet, or can put the dream off no longer.
    pub(super) quiet: Time,
    /// The cooldown is over.
    pub(super) cooldown: Option<Time>,
    /// The back-off after failures is over.
    pub(super) back_off: Option<Time>,
}

impl Gates {
    /// When the last gate opens.
    pub(super) fn due(self) -> Time {
        let later = self.cooldown.max(self.back_off);
        later.map_or(self.quiet, |later| later.max(self.quiet))
    }
}

impl State {
    /// Explicit conclusions since the last dream.
    pub fn new_conclusions(&self) -> u64 {
        self.explicit_total.saturating_sub(self.baseline)
    }

    /// Rule 1: whether there are enough new conclusions.
    pub fn threshold_met(&self, timings: &Timings) -> bool {
        self.new_conclusions() >= timings.threshold
    }

    /// Whether the reconciler must look at this representation again although it has no timer and no run, pending or
    /// running: it is over the threshold, so a setting holds it back (rule 9).
    pub fn held_back(&self, timings: &Timings) -> bool {
        self.threshold_met(timings) && self.timer.is_none() && self.pending.is_empty() && self.running.is_none()
    }

    /// Rule 1: when the cooldown ends.
    pub(super) fn cooldown_end(&self, timings: &Timings) -> Option<Time> {
        self.last_dream_at.map(|at| at + timings.cooldown)
    }

    /// Whether a dream that reads all new conclusions is pending or running. One of another type is no such dream: if it
    /// kept the timer from being armed, dry runs could put a dream off for ever (rules 2 and 8).
    pub(super) fn omni_under_way(&self) -> bool {
        self.pending.contains_key(&DreamType::Omni)
            || self.running.as_ref().is_some_and(|r| r.dream_type == DreamType::Omni)
    }

    /// Rule 4: from when on activity cannot put the dream off; `None` without a bound, or before it was armed.
    pub(super) fn defer_end(&self, timings: &Timings) -> Option<Time> {
        let armed_since = self.armed_since.filter(|_| !timings.max_defer.is_zero())?;
        Some(armed_since + timings.max_defer)
    }

    /// Rules 2 and 4: the gates of an idle dream.
    pub(super) fn gates(&self, timings: &Timings, last_activity: Option<Time>, now: Time) -> Gates {
        let since = last_activity.or(self.threshold_met_at).unwrap_or(now);
        let quiet = since + timings.idle;
        Gates {
            quiet: self.defer_end(timings).map_or(quiet, |end| end.min(quiet)),
            cooldown: self.cooldown_end(timings),
            back_off: self.back_off_until,
        }
    }

    /// Rule 5: whether a dream that is due waits for ingest. Past max defer it does not.
    pub(super) fn waits_for_ingest(&self, timings: &Timings, view: &View, now: Time) -> bool {
        view.ingest_lagging && self.defer_end(timings).is_none_or(|end| now < end)
    }
}

/// When an idle dream of this representation is to be run (rules 1, 2 and 4), which may have passed; `None` while the
/// threshold is not met, dreams are off, or an omni run is pending or running.
pub fn due(state: &State, timings: &Timings, view: &View, now: Time) -> Option<Time> {
    let wanted = state.threshold_met(timings) && view.enabled.value && !state.omni_under_way();
    wanted.then(|| state.gates(timings, view.last_activity, now).due())
}

/// Rule 7: how long idle dreams are held back after so many failures in a row.
pub(super) fn back_off(timings: &Timings, failures: u32) -> Duration {
    let base = timings.idle.max(SHORTEST_WAIT);
    doubled(base, failures, DAY)
}
