//! Why a representation does not dream now: every gate, one verdict, one sentence (`design.md` section 4, "Why not").

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Running, State, Timings, View, due};
use crate::id::RunId;
use crate::run::DreamType;
use crate::settings::DecidedBy;
use crate::time::Time;

/// Every gate of a representation's next dream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    /// Whether dreams are on.
    pub enabled: bool,
    /// The level that decided so.
    pub decided_by: DecidedBy,
    /// Explicit conclusions since the last dream.
    pub new_conclusions: u64,
    /// How many it takes.
    pub threshold: u64,
    /// End of the cooldown, while it lasts.
    pub cooldown_until: Option<Time>,
    /// Arrival of the observed peer's last message.
    pub last_activity: Option<Time>,
    /// When the armed idle dream is due.
    pub timer_due_at: Option<Time>,
    /// Whether messages of the observed peer are still to be reasoned over.
    pub ingest_lagging: bool,
    /// Requested runs that have not started, in the order in which they will.
    pub pending: Vec<(DreamType, RunId)>,
    /// The run that holds the slot.
    pub running: Option<Running>,
    /// End of the back-off after failures, while it lasts.
    pub back_off_until: Option<Time>,
    /// The gate that counts.
    pub verdict: Verdict,
    /// The same for a person.
    pub sentence: String,
}

/// The one gate that a dream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Settings turn dreams off.
    Disabled,
    /// Too few new conclusions.
    BelowThreshold,
    /// The last dream is too recent.
    CoolingDown,
    /// The observed peer was active too recently.
    WaitingForIdle,
    /// Messages are still to be reasoned over.
    WaitingForIngest,
    /// The last dreams failed.
    BackingOff,
    /// A budget is used up. The machine knows no budgets: whoever keeps one says so.
    OverBudget,
    /// Due, or requested: it starts as soon as someone looks.
    Queued,
    /// A run holds the slot.
    Running,
    /// Nothing is known of this observer and observed.
    UnknownRepresentation,
}

impl Verdict {
    /// The wire's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::BelowThreshold => "below_threshold",
            Self::CoolingDown => "cooling_down",
            Self::WaitingForIdle => "waiting_for_idle",
            Self::WaitingForIngest => "waiting_for_ingest",
            Self::BackingOff => "backing_off",
            Self::OverBudget => "over_budget",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::UnknownRepresentation => "unknown_representation",
        }
    }
}

impl WhyNot {
    /// The answer where no state is stored: nothing has been concluded and nothing requested.
    pub fn unknown_representation(timings: &Timings, view: &View, now: Time) -> Self {
        Self {
            verdict: Verdict::UnknownRepresentation,
            sentence: "Nothing is known of this observer and observed: no conclusion has been made.".to_owned(),
            ..why_not(&State::default(), timings, view, now)
        }
    }
}

/// Explains `state` with the rules by which [`super::step`] decides.
pub fn why_not(state: &State, timings: &Timings, view: &View, now: Time) -> WhyNot {
    let (verdict, sentence) = explain(state, timings, view, now);
    let ahead = |time: Option<Time>| time.filter(|time| *time > now);
    WhyNot {
        enabled: view.enabled.value,
        decided_by: view.enabled.by,
        new_conclusions: state.new_conclusions(),
        threshold: timings.threshold,
        cooldown_until: ahead(state.cooldown_end(timings)),
        last_activity: view.last_activity,
        timer_due_at: state.timer.as_ref().map(|timer| timer.due_at),
        ingest_lagging: view.ingest_lagging,
        pending: in_order(state).map(|(kind, run)| (kind, run.clone())).collect(),
        running: state.running.clone(),
        back_off_until: ahead(state.back_off_until),
        verdict,
        sentence,
    }
}

fn in_order(state: &State) -> impl Iterator<Item = (DreamType, &RunId)> {
    let types = DreamType::ALL.into_iter();
    types.filter_map(|kind| Some((kind, state.pending.get(&kind)?)))
}

fn explain(state: &State, timings: &Timings, view: &View, now: Time) -> (Verdict, String) {
    let (new, threshold) = (state.new_conclusions(), timings.threshold);
    if let Some(Running {
        run,
        dream_type,
        claimed_at,
        ..
    }) = &state.running
    {
        let since = span(now.since(*claimed_at));
        let sentence = format!("The {} run {run} has been running for {since}.", dream_type.as_str());
        return (Verdict::Running, sentence);
    }
    if !view.enabled.value {
        let by = view.enabled.by.as_str();
        let sentence =
            format!("Dreams are disabled by {by}; {new} of {threshold} new conclusions since the last dream.");
        return (Verdict::Disabled, sentence);
    }
    if let Some((kind, run)) = in_order(state).next() {
        let sentence = format!(
            "The {} run {run} was requested; it starts when it is delivered.",
            kind.as_str()
        );
        return (Verdict::Queued, sentence);
    }
    // Enabled, and nothing under way: only the threshold can be missing.
    let Some(due) = due(state, timings, view, now) else {
        let missing = threshold.saturating_sub(new);
        let make = if missing == 1 { "makes" } else { "make" };
        let cooldown = match state.cooldown_end(timings) {
            Some(end) if end > now => {
                let cooldown = span(timings.cooldown);
                format!(" The cooldown of {cooldown} ends in {}.", until(end, now))
            }
            _ => String::new(),
        };
        let sentence = format!(
            "{new} of {threshold} new conclusions since the last dream; {missing} more {make} it due.{cooldown}"
        );
        return (Verdict::BelowThreshold, sentence);
    };
    if due <= now && state.waits_for_ingest(timings, view, now) {
        let wait = span(timings.ingest_wait);
        let sentence = format!(
            "Due, but messages of the observed peer are still to be reasoned over; it looks again every {wait}."
        );
        return (Verdict::WaitingForIngest, sentence);
    }
    if due <= now {
        return (Verdict::Queued, "Due now; it starts at the next look.".to_owned());
    }
    let (gates, wait) = (state.gates(timings, view.last_activity, now), until(due, now));
    let (verdict, reason) = if gates.back_off == Some(due) {
        let failed = match state.failures {
            1 => "the last dream failed".to_owned(),
            failures => format!("the last {failures} dreams failed"),
        };
        (Verdict::BackingOff, format!("but {failed}: the next try is due"))
    } else if gates.cooldown == Some(due) {
        let cooldown = span(timings.cooldown);
        (
            Verdict::CoolingDown,
            format!("but the cooldown of {cooldown} is not over: due"),
        )
    } else {
        let idle = span(timings.idle);
        let longest = match state.defer_end(timings) {
            Some(end) if end == due => format!(", but at most {} in all", span(timings.max_defer)),
            _ => String::new(),
        };
        let reason = format!("it waits until the observed peer has been quiet for {idle}{longest}: due");
        (Verdict::WaitingForIdle, reason)
    };
    (
        verdict,
        format!("{new} of {threshold} new conclusions are there; {reason} in {wait}."),
    )
}

/// `25 minutes, at 2026-11-30T21:08:48Z`.
fn until(time: Time, now: Time) -> String {
    format!("{}, at {time}", span(time.since(now)))
}

/// A duration in its two largest units: `1 day 3 hours`, `8 hours`, `25 minutes`, `3 seconds`, `50 milliseconds`.
fn span(duration: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let mut rest = duration.as_secs();
    let Some(first) = UNITS.iter().position(|(size, _)| rest >= *size) else {
        return format!("{} milliseconds", duration.as_millis());
    };
    let mut words = Vec::new();
    for (size, unit) in UNITS.iter().skip(first).take(2) {
        match rest / size {
            0 => {}
            1 => words.push(format!("1 {unit}")),
            count => words.push(format!("{count} {unit}s")),
        }
        rest %= size;
    }
    words.join(" ")
}
