//! A small world around one representation: a clock, schedules and letters that may come late, twice or never, and a
//! second bookkeeping of the rules, kept apart from the machine's, which every step is held against.

use std::fmt;

use super::*;
use crate::dreaming::{Timer, Verdict};
use crate::run::Trigger;

/// What becomes of a schedule's fire or of a letter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    OnTime,
    Late(u64),
    Twice(u64),
    Lost,
}

#[derive(Clone, Debug)]
enum Letter {
    Fire(u64),
    Start(RunId),
}

/// A step as it was seen, for the message of a check that fails.
struct Context<'a> {
    event: &'a Event,
    before: &'a State,
    after: &'a State,
    effects: &'a [Effect],
    view: &'a View,
    now: Time,
}

impl Context<'_> {
    /// Whether a dream, or an undo, ended in a way that moves the baseline; two may do so within one moment.
    fn begins_anew(&self) -> bool {
        let running = self.before.running.as_ref();
        match self.event {
            Event::Ended { run, outcome } => running.is_some_and(|running| {
                let moves = matches!(running.dream_type, DreamType::Omni | DreamType::Undo);
                running.run == *run && moves && *outcome != Outcome::Failed
            }),
            _ => false,
        }
    }
}

impl fmt::Display for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} at {}, {:?}", self.event, self.now, self.view)?;
        write!(
            f,
            "before {:?}\nafter {:?}\neffects {:?}",
            self.before, self.after, self.effects
        )
    }
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Short timings: three conclusions, 100 s of quiet, and these seconds of cooldown and max defer.
pub(super) fn timings(cooldown: u64, max_defer: u64) -> Timings {
    Timings {
        threshold: 3,
        cooldown: seconds(cooldown),
        idle: seconds(100),
        max_defer: seconds(max_defer),
        coalesce: seconds(5),
        ingest_wait: seconds(20),
    }
}

pub(super) struct World {
    pub(super) timings: Timings,
    pub(super) state: State,
    pub(super) now: Time,
    pub(super) enabled: bool,
    pub(super) lagging: bool,
    pub(super) last_activity: Option<Time>,
    pub(super) idle_claims: Vec<Time>,
    /// Runs that were accepted and have neither been claimed nor dropped.
    pub(super) waiting: Vec<RunId>,
    /// Fates of the next fires and letters, used in turn; none: on time.
    pub(super) fates: Vec<Fate>,
    /// Every fire of a schedule is lost, whatever the fates.
    pub(super) fires_lost: bool,
    used: usize,
    runs: u64,
    schedules: Vec<(u64, Time)>,
    letters: Vec<(Time, Letter)>,
    // The second bookkeeping.
    total: u64,
    baseline: u64,
    last_dream_at: Option<Time>,
    met_at: Option<Time>,
    failures: u32,
    back_off_until: Option<Time>,
    total_at_claim: u64,
}

impl World {
    pub(super) fn new(timings: Timings, fates: Vec<Fate>) -> Self {
        Self {
            timings,
            state: State::default(),
            now: Time::from_seconds(1_000_000),
            enabled: true,
            lagging: false,
            last_activity: None,
            idle_claims: Vec::new(),
            waiting: Vec::new(),
            fates,
            fires_lost: false,
            used: 0,
            runs: 0,
            schedules: Vec::new(),
            letters: Vec::new(),
            total: 0,
            baseline: 0,
            last_dream_at: None,
            met_at: None,
            failures: 0,
            back_off_until: None,
            total_at_claim: 0,
        }
    }

    pub(super) fn fresh_run(&mut self) -> RunId {
        self.runs += 1;
        run(&format!("run-{}", self.runs))
    }

    fn view(&self) -> View {
        View {
            enabled: Decided {
                value: self.enabled,
                by: DecidedBy::Workspace,
            },
            last_activity: self.last_activity,
            ingest_lagging: self.lagging,
            ..View::of(ON)
        }
    }

    pub(super) fn threshold_met(&self) -> bool {
        self.total - self.baseline >= self.timings.threshold
    }

    /// When an idle dream would be due without a bound on deferral, by the second bookkeeping.
    pub(super) fn due_when_quiet(&self) -> Time {
        let since = self.last_activity.or(self.met_at).unwrap_or(self.now);
        let gates = [
            Some(since + self.timings.idle),
            self.cooldown_end(),
            self.back_off_until,
        ];
        gates.into_iter().flatten().max().unwrap()
    }

    fn cooldown_end(&self) -> Option<Time> {
        self.last_dream_at.map(|at| at + self.timings.cooldown)
    }

    pub(super) fn message(&mut self, told: bool) {
        self.last_activity = Some(self.now);
        if told {
            self.apply(&Event::Activity);
        }
    }

    pub(super) fn conclude(&mut self, explicit: u64) {
        self.total += explicit;
        let session = Some(session("s"));
        self.apply(&Event::Concluded { explicit, session });
    }

    pub(super) fn look(&mut self, generation: Option<u64>) {
        let fresh_run = self.fresh_run();
        self.apply(&Event::Look { generation, fresh_run });
    }

    /// The running run ends, if there is one.
    pub(super) fn end(&mut self, outcome: Outcome) {
        let Some(running) = self.state.running.clone() else {
            return;
        };
        match (running.dream_type, outcome) {
            (DreamType::Omni, Outcome::Failed) => {
                self.failures += 1;
                let back_off = self
                    .timings
                    .idle
                    .as_secs()
                    .saturating_mul(2_u64.pow(self.failures.min(20)));
                self.back_off_until = Some(self.now + seconds(back_off.min(86_400)));
            }
            (DreamType::Omni | DreamType::Undo, Outcome::Completed | Outcome::Cancelled) => {
                self.baseline = self.total_at_claim;
                self.last_dream_at = Some(self.now);
                (self.failures, self.back_off_until, self.met_at) = (0, None, None);
            }
            _ => {}
        }
        let run = running.run;
        self.apply(&Event::Ended { run, outcome });
    }

    /// Lets time pass; what is due meanwhile comes in its order.
    pub(super) fn pass(&mut self, duration: Duration) {
        let until = self.now + duration;
        for count in 0.. {
            assert!(count < 500, "it spins: {:?} at {}", self.state, self.now);
            let fire = self.schedules.iter().map(|(_, at)| *at).min();
            let letter = self.letters.iter().map(|(at, _)| *at).min();
            let Some(next) = fire.into_iter().chain(letter).min().filter(|next| *next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if fire == Some(next) {
                let index = self.schedules.iter().position(|(_, at)| *at == next).unwrap();
                let (generation, _) = self.schedules.remove(index);
                self.send(&Letter::Fire(generation));
            } else {
                let index = self.letters.iter().position(|(at, _)| *at == next).unwrap();
                match self.letters.remove(index).1 {
                    Letter::Fire(generation) => self.look(Some(generation)),
                    Letter::Start(run) => self.apply(&Event::Start { run }),
                }
            }
        }
        self.now = until;
    }

    fn send(&mut self, letter: &Letter) {
        let fate = self.fates.get(self.used % self.fates.len().max(1)).copied();
        self.used += 1;
        if self.fires_lost && matches!(letter, Letter::Fire(_)) {
            return;
        }
        let delays: Vec<u64> = match fate.unwrap_or(Fate::OnTime) {
            Fate::OnTime => vec![0],
            Fate::Late(delay) => vec![delay],
            Fate::Twice(delay) => vec![0, delay],
            Fate::Lost => vec![],
        };
        let letters = delays
            .into_iter()
            .map(|delay| (self.now + seconds(delay), letter.clone()));
        self.letters.extend(letters);
    }

    /// One step, held against every property of a single step, then its effects.
    pub(super) fn apply(&mut self, event: &Event) {
        self.apply_with(event, &self.view());
    }

    pub(super) fn apply_with(&mut self, event: &Event, view: &View) {
        let before = self.state.clone();
        let (after, effects) = step(&before, &self.timings, view, event, self.now);
        let context = &Context {
            event,
            before: &before,
            after: &after,
            effects: &effects,
            view,
            now: self.now,
        };
        self.check_repeats(context);
        self.check_explanation(context);
        self.state = after.clone();
        for effect in &effects {
            self.carry_out(effect, context);
        }
        self.note_threshold();
        self.check_state(context);
    }

    fn note_threshold(&mut self) {
        if self.threshold_met() {
            self.met_at.get_or_insert(self.now);
        } else {
            self.met_at = None;
        }
    }

    fn carry_out(&mut self, effect: &Effect, context: &Context) {
        let before = context.before;
        match effect {
            Effect::Schedule { generation, at } => {
                assert!(*generation > before.generation, "generations grow: {context}");
                self.schedules.push((*generation, *at));
            }
            Effect::Unschedule { generation } => self.schedules.retain(|(live, _)| live != generation),
            Effect::Enqueue { run } => self.send(&Letter::Start(run.clone())),
            Effect::Accepted { run } => self.waiting.push(run.clone()),
            Effect::DropPending { run } => {
                assert!(self.waiting.contains(run), "dropped once: {context}");
                self.waiting.retain(|waiting| waiting != run);
            }
            Effect::Claim {
                run,
                dream_type,
                trigger,
            } => {
                assert_eq!(before.running, None, "at most one run: {context}");
                self.total_at_claim = self.total;
                match trigger {
                    Trigger::Idle => self.check_idle_claim(context),
                    Trigger::Manual => {
                        assert!(self.enabled || *dream_type == DreamType::Undo, "enabled: {context}");
                        assert!(self.waiting.contains(run), "requested, and claimed once: {context}");
                        self.waiting.retain(|waiting| waiting != run);
                    }
                }
            }
            Effect::AlreadyThere { .. } | Effect::Refused { .. } => {}
        }
    }

    /// Every gate of an idle dream, from the second bookkeeping.
    fn check_idle_claim(&mut self, context: &Context) {
        let (now, before) = (self.now, context.before);
        let bound = before.armed_since.map(|since| since + self.timings.max_defer);
        let deferred = !self.timings.max_defer.is_zero() && bound.is_some_and(|bound| bound <= now);
        let since = self.last_activity.or(self.met_at).unwrap();
        assert!(self.enabled, "enabled: {context}");
        assert!(self.threshold_met(), "threshold: {context}");
        assert!(self.cooldown_end().is_none_or(|end| end <= now), "cooldown: {context}");
        assert!(self.back_off_until.is_none_or(|end| end <= now), "back-off: {context}");
        assert!(deferred || since + self.timings.idle <= now, "quiet: {context}");
        assert!(deferred || !self.lagging, "ingest: {context}");
        self.idle_claims.push(now);
    }

    /// The same again gives the same, and what has been applied changes nothing when it comes again.
    fn check_repeats(&self, context: &Context) {
        let Context {
            event,
            before,
            after,
            effects,
            view,
            ..
        } = *context;
        let again = step(before, &self.timings, view, event, self.now);
        assert_eq!(
            (&again.0, again.1.as_slice()),
            (after, effects),
            "deterministic: {context}"
        );
        if matches!(event, Event::Concluded { explicit, .. } if *explicit > 0) {
            return;
        }
        let (twice, answers) = step(after, &self.timings, view, event, self.now);
        assert_eq!(&twice, after, "idempotent: {context}");
        for answer in answers {
            let harmless = matches!(
                answer,
                Effect::Enqueue { .. } | Effect::AlreadyThere { .. } | Effect::Refused { .. }
            );
            assert!(harmless, "{answer:?} again: {context}");
        }
    }

    /// The explanation and a look agree on whether a dream runs now.
    fn check_explanation(&self, context: &Context) {
        let Context { before, view, .. } = *context;
        let look = Event::Look {
            generation: None,
            fresh_run: run("would-be"),
        };
        let claimed = claims(&step(before, &self.timings, view, &look, self.now).1) == 1;
        let why = why_not(before, &self.timings, view, self.now);
        let queued = why.verdict == Verdict::Queued;
        assert!(!claimed || queued, "{why:?}: {context}");
        assert!(claimed || !queued || !before.pending.is_empty(), "{why:?}: {context}");
        assert_eq!(why.verdict == Verdict::Running, before.running.is_some(), "{context}");
    }

    fn check_state(&self, context: &Context) {
        let Context { before, effects, .. } = *context;
        let state = &self.state;
        assert!(claims(effects) <= 1, "one claim a step: {context}");
        assert_eq!(state.explicit_total, self.total, "{context}");
        assert_eq!(
            (state.baseline, state.last_dream_at),
            (self.baseline, self.last_dream_at),
            "rule 7: {context}"
        );
        assert_eq!(state.back_off_until, self.back_off_until, "rule 7: {context}");
        assert!(state.generation >= before.generation, "{context}");

        let armed = state.armed_since;
        let omni_claimed =
            state.running != before.running && state.running.as_ref().is_some_and(|r| r.dream_type == DreamType::Omni);
        let moved = context.begins_anew();
        let kept = armed == before.armed_since || before.armed_since.is_none();
        let over = omni_claimed || moved || !self.threshold_met();
        assert!(kept || over, "rule 4: {context}");
        assert!(
            !moved || armed.is_none_or(|armed| armed == self.now),
            "rule 4, anew: {context}"
        );
        assert!(!omni_claimed || armed.is_none(), "rule 4: {context}");

        let waits = state.idle_waiting;
        assert!(
            !waits || state.running.is_some() && !state.omni_under_way() && self.threshold_met(),
            "rule 8: {context}"
        );

        let current = state.timer.as_ref().map(|timer| timer.generation);
        let stray = self
            .schedules
            .iter()
            .find(|(generation, _)| Some(*generation) != current);
        assert_eq!(stray, None, "only the current schedule is live: {context}");
        let Some(Timer {
            due_at, scheduled_for, ..
        }) = state.timer
        else {
            return;
        };
        if current != before.timer.as_ref().map(|timer| timer.generation) {
            assert!(
                self.schedules
                    .iter()
                    .any(|(generation, at)| Some(*generation) == current && *at == scheduled_for),
                "{context}"
            );
        }
        assert!(
            self.threshold_met() && !state.omni_under_way() && !state.idle_waiting,
            "rule 2: {context}"
        );
        let armed = armed.unwrap();
        if !self.timings.max_defer.is_zero() {
            let gates = [
                Some(armed + self.timings.max_defer),
                self.cooldown_end(),
                self.back_off_until,
            ];
            let bound = gates.into_iter().flatten().max().unwrap();
            assert!(due_at <= bound, "rule 4: {context}");
            assert!(scheduled_for <= bound + self.timings.coalesce, "rule 4: {context}");
        }
    }
}
