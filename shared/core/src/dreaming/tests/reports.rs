//! Examples for the reports about dreams that never come or count wrongly, and for items of other versions.

use super::*;

#[test]
fn report_01_threshold_inside_the_cooldown_needs_no_further_message() {
    let mut bench = Bench::new();
    bench.now = Time::parse("2026-11-29T21:51:00Z").unwrap();
    bench.whole_run(DreamType::Omni, Outcome::Completed);
    bench.now = Time::parse("2026-11-29T23:00:00Z").unwrap();
    bench.message();
    bench.conclude(50);
    let due = Time::parse("2026-11-30T05:51:00Z").unwrap();
    assert_eq!(bench.due_at(), Some(due));
    bench.now = due;
    assert_eq!(claims(&bench.fire()), 1);
}

#[test]
fn report_05_a_dreams_own_output_never_counts() {
    let mut bench = Bench::armed();
    bench.pass(HOUR);
    bench.fire();
    // Thirty deductions are no event of the machine; the twenty that came in meanwhile count for the next dream.
    bench.conclude(20);
    bench.pass(MINUTE);
    bench.end(Outcome::Completed);
    assert_eq!((bench.state.baseline, bench.state.new_conclusions()), (50, 20));
    assert_eq!(bench.state.timer, None);
    assert_eq!(bench.state.last_dream_at, Some(bench.now));
}

#[test]
fn report_05_a_failed_run_moves_neither_baseline_nor_cooldown_and_backs_off() {
    let mut bench = Bench::armed();
    for hours in [2, 4, 8, 16, 24, 24] {
        bench.now = bench.due_at().unwrap();
        assert_eq!(claims(&bench.fire()), 1);
        assert_eq!(bench.state.last_dream_at, None, "claimed is not ended");
        let effects = bench.end(Outcome::Failed);
        assert_eq!((bench.state.baseline, bench.state.last_dream_at), (0, None));
        let (generation, at) = (bench.state.generation, bench.now + hours * HOUR);
        assert_eq!(effects, [Effect::Schedule { generation, at }]);
        assert_eq!(claims(&bench.look(None)), 0);
    }
    bench.now = bench.due_at().unwrap();
    bench.fire();
    bench.end(Outcome::Completed);
    assert_eq!((bench.state.failures, bench.state.back_off_until), (0, None));
}

#[test]
fn report_05_only_dreams_and_undo_move_the_baseline() {
    use DreamType::{CardRefresh, DryRun, Omni, Undo};
    use Outcome::{Cancelled, Completed, Failed};
    for (dream_type, outcome, moves) in [
        (Omni, Completed, true),
        (Omni, Cancelled, true),
        (Omni, Failed, false),
        (Undo, Completed, true),
        (Undo, Cancelled, true),
        (Undo, Failed, false),
        (CardRefresh, Completed, false),
        (CardRefresh, Cancelled, false),
        (CardRefresh, Failed, false),
        (DryRun, Completed, false),
        (DryRun, Cancelled, false),
        (DryRun, Failed, false),
    ] {
        let mut bench = Bench::armed();
        bench.whole_run(dream_type, outcome);
        let ended = (bench.state.baseline, bench.state.last_dream_at);
        let expected = if moves { (50, Some(bench.now)) } else { (0, None) };
        assert_eq!(ended, expected, "{dream_type:?} {outcome:?}");
        assert_eq!(
            bench.state.timer.is_none(),
            moves,
            "rule 2 again: {dream_type:?} {outcome:?}"
        );
        let failed = (dream_type, outcome) == (Omni, Failed);
        assert_eq!(bench.state.failures, u32::from(failed), "{dream_type:?} {outcome:?}");
    }
}

#[test]
fn older_items_and_unknown_fields_stay_readable() {
    let old: State = serde_json::from_str(r#"{"explicit_total": 7, "of_a_later_version": 1}"#).unwrap();
    assert_eq!(old.new_conclusions(), 7);
    let mut bench = Bench::armed();
    bench.request(DreamType::DryRun, "dry");
    bench.start("dry");
    bench.request(DreamType::CardRefresh, "card");
    let text = serde_json::to_string(&bench.state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), bench.state);
    let running = r#"{"running": {"run": "r", "dream_type": "omni", "trigger": "idle"}, "timer": {"generation": 3}}"#;
    let state: State = serde_json::from_str(running).unwrap();
    assert_eq!(state.timer.map(|timer| timer.generation), Some(3));
}
