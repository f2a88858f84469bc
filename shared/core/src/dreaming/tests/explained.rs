//! Every verdict with its sentence.

use super::*;
use crate::dreaming::Verdict;

fn said(bench: &Bench) -> (Verdict, String) {
    let why = bench.why();
    (why.verdict, why.sentence)
}

fn is(verdict: Verdict, sentence: &str) -> (Verdict, String) {
    (verdict, sentence.to_owned())
}

#[test]
fn report_24_below_the_threshold_the_status_counts() {
    let mut bench = Bench::new();
    bench.conclude(37);
    let why = bench.why();
    assert_eq!((why.new_conclusions, why.threshold, why.enabled), (37, 50, true));
    let sentence = "37 of 50 new conclusions since the last dream; 13 more make it due.";
    assert_eq!(said(&bench), is(Verdict::BelowThreshold, sentence));
    bench.conclude(12);
    assert!(said(&bench).1.contains("1 more makes it due."));
    bench.whole_run(DreamType::Omni, Outcome::Completed);
    bench.pass(2 * HOUR);
    let sentence = "0 of 50 new conclusions since the last dream; 50 more make it due. \
                    The cooldown of 8 hours ends in 6 hours, at 2026-11-30T20:00:00Z.";
    assert_eq!(said(&bench), is(Verdict::BelowThreshold, sentence));
}

#[test]
fn report_24_enabled_and_no_facts() {
    let bench = Bench::new();
    let sentence = "0 of 50 new conclusions since the last dream; 50 more make it due.";
    assert_eq!(said(&bench), is(Verdict::BelowThreshold, sentence));
    let unknown = WhyNot::unknown_representation(&bench.timings, &bench.view, bench.now);
    assert_eq!(unknown.verdict.as_str(), "unknown_representation");
    assert_eq!(unknown.threshold, 50);
}

#[test]
fn report_24_disabled_names_the_level() {
    let mut bench = Bench::armed();
    bench.view.enabled = off(DecidedBy::Session);
    let sentence = "Dreams are disabled by session; 50 of 50 new conclusions since the last dream.";
    assert_eq!(said(&bench), is(Verdict::Disabled, sentence));
}

#[test]
fn report_24_waiting_for_idle_says_until_when() {
    let mut bench = Bench::armed();
    bench.pass(35 * MINUTE);
    let sentence = "50 of 50 new conclusions are there; it waits until the observed peer has been quiet for 1 hour: \
                    due in 25 minutes, at 2026-11-30T13:00:00Z.";
    assert_eq!(said(&bench), is(Verdict::WaitingForIdle, sentence));
    assert_eq!(bench.why().timer_due_at, bench.due_at());
    bench.pass(23 * HOUR + 24 * MINUTE);
    bench.message();
    let sentence = "50 of 50 new conclusions are there; it waits until the observed peer has been quiet for 1 hour, \
                    but at most 1 day in all: due in 1 minute, at 2026-12-01T12:00:00Z.";
    assert_eq!(said(&bench), is(Verdict::WaitingForIdle, sentence));
}

#[test]
fn report_24_cooling_down_and_backing_off_say_until_when() {
    let mut bench = Bench::new();
    bench.whole_run(DreamType::Omni, Outcome::Completed);
    bench.conclude(64);
    bench.pass(3 * HOUR + 30 * MINUTE);
    let sentence = "64 of 50 new conclusions are there; but the cooldown of 8 hours is not over: \
                    due in 4 hours 30 minutes, at 2026-11-30T20:00:00Z.";
    assert_eq!(said(&bench), is(Verdict::CoolingDown, sentence));
    assert_eq!(bench.why().cooldown_until, bench.due_at());
    bench.now = bench.due_at().unwrap();
    bench.fire();
    bench.end(Outcome::Failed);
    let sentence = "64 of 50 new conclusions are there; but the last dream failed: \
                    the next try is due in 2 hours, at 2026-11-30T22:00:00Z.";
    assert_eq!(said(&bench), is(Verdict::BackingOff, sentence));
    assert_eq!(bench.why().back_off_until, bench.due_at());
    assert_eq!(bench.why().cooldown_until, None);
}

#[test]
fn report_24_due_is_queued_or_waits_for_ingest() {
    let mut bench = Bench::armed();
    bench.pass(HOUR);
    assert_eq!(
        said(&bench),
        is(Verdict::Queued, "Due now; it starts at the next look.")
    );
    bench.view.ingest_lagging = true;
    let sentence =
        "Due, but messages of the observed peer are still to be reasoned over; it looks again every 1 minute.";
    assert_eq!(said(&bench), is(Verdict::WaitingForIngest, sentence));
    bench.pass(23 * HOUR);
    assert_eq!(bench.why().verdict, Verdict::Queued, "past max defer it does not wait");
}

#[test]
fn report_24_requested_and_running() {
    let mut bench = Bench::new();
    bench.request(DreamType::DryRun, "dry");
    bench.request(DreamType::Omni, "m");
    let sentence = "The omni run m was requested; it starts when it is delivered.";
    assert_eq!(said(&bench), is(Verdict::Queued, sentence));
    let pending: Vec<_> = bench.why().pending.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(pending, [DreamType::Omni, DreamType::DryRun]);
    bench.start("m");
    bench.pass(Duration::from_secs(93));
    let sentence = "The omni run m has been running for 1 minute 33 seconds.";
    assert_eq!(said(&bench), is(Verdict::Running, sentence));
}

#[test]
fn verdicts_are_stored_as_they_are_said() {
    for verdict in [
        Verdict::Disabled,
        Verdict::BelowThreshold,
        Verdict::CoolingDown,
        Verdict::WaitingForIdle,
        Verdict::WaitingForIngest,
        Verdict::BackingOff,
        Verdict::OverBudget,
        Verdict::Queued,
        Verdict::Running,
        Verdict::UnknownRepresentation,
    ] {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
    }
}
