//! Examples for ingest that lags, the one running slot, and the pending ones.

use super::*;

#[test]
fn h17_a_start_while_another_runs_waits_for_the_slot() {
    let mut bench = Bench::new();
    bench.request(DreamType::Omni, "m");
    bench.start("m");
    bench.request(DreamType::DryRun, "dry");
    bench.request(DreamType::Undo, "undo");
    assert_eq!(bench.start("dry"), []);
    assert_eq!(bench.claimed(), Some(&run("m")));
    let sent = [
        Effect::Enqueue { run: run("undo") },
        Effect::Enqueue { run: run("dry") },
    ];
    assert_eq!(bench.end(Outcome::Completed), sent, "their letters are used up");
    assert_eq!(bench.look(None), sent, "and may be lost");
    assert_eq!(claims(&bench.start("undo")), 1);
    assert_eq!(bench.look(None), []);
    assert_eq!(bench.start("undo"), [], "the same letter again");
}

#[test]
fn h17_an_end_that_is_not_the_running_ones_changes_nothing() {
    let mut bench = Bench::new();
    bench.request(DreamType::Omni, "m");
    bench.start("m");
    let before = bench.state.clone();
    let late = Event::Ended {
        run: run("earlier"),
        outcome: Outcome::Completed,
    };
    assert_eq!(bench.apply(&late), []);
    assert_eq!(bench.state, before);
}

#[test]
fn h18_an_idle_dream_that_finds_the_slot_taken_waits_once_and_runs_after() {
    let mut bench = Bench::armed();
    bench.request(DreamType::DryRun, "dry");
    bench.start("dry");
    let due = bench.pass(HOUR);
    assert_eq!(bench.fire(), [Effect::Unschedule { generation: 1 }]);
    assert!(bench.state.idle_waiting);
    let before = bench.state.clone();
    assert_eq!(
        (bench.look(None), bench.look(Some(1)), bench.conclude(0)),
        (vec![], vec![], vec![])
    );
    assert_eq!(bench.state, before);
    bench.pass(MINUTE);
    let at = due;
    assert_eq!(
        bench.end(Outcome::Completed),
        [Effect::Schedule { generation: 2, at }],
        "due: looks at once"
    );
    assert_eq!(claims(&bench.fire()), 1);
}

#[test]
fn h18_a_pending_omni_run_is_the_idle_dream_too() {
    let mut bench = Bench::armed();
    bench.request(DreamType::Omni, "m");
    bench.pass(2 * HOUR);
    let again = Effect::Enqueue { run: run("m") };
    assert_eq!(bench.look(Some(1)), [again]);
    assert_eq!(bench.state.running, None);
    assert_eq!(bench.conclude(60), [], "nothing is armed beside it");
    bench.start("m");
    assert_eq!(bench.end(Outcome::Completed), []);
}

#[test]
fn h19_activity_cancels_a_queued_idle_dream_and_replaces_its_timer() {
    // The fire of another observer's timer finds the peer active: it looks, and takes a new generation.
    let mut bench = Bench::armed();
    bench.pass(40 * MINUTE);
    bench.view.last_activity = Some(bench.now);
    bench.pass(20 * MINUTE);
    let at = bench.now + 40 * MINUTE;
    assert_eq!(bench.fire()[0], Effect::Schedule { generation: 2, at });
    // One that waits for the slot is cancelled as well.
    bench.request(DreamType::DryRun, "dry");
    bench.start("dry");
    bench.now = at;
    bench.fire();
    assert!(bench.state.idle_waiting);
    let at = bench.now + HOUR;
    assert_eq!(bench.message(), [Effect::Schedule { generation: 3, at }]);
    assert!(!bench.state.idle_waiting);
    assert_eq!(bench.end(Outcome::Completed), []);
}

#[test]
fn h19_past_max_defer_activity_cancels_nothing() {
    let mut bench = Bench::armed();
    bench.request(DreamType::DryRun, "dry");
    bench.start("dry");
    for _ in 0..29 {
        bench.pass(50 * MINUTE);
        bench.message();
        bench.look(None);
    }
    assert!(bench.state.idle_waiting);
    bench.pass(MINUTE);
    assert_eq!(bench.message(), []);
    assert!(bench.state.idle_waiting);
}

#[test]
fn h19_a_dream_that_is_due_waits_for_ingest_under_new_generations() {
    let mut bench = Bench::armed();
    bench.view.ingest_lagging = true;
    let due = bench.pass(HOUR);
    for generation in 2..5 {
        let at = bench.now + MINUTE;
        let old = generation - 1;
        let effects = bench.fire();
        assert_eq!(
            effects,
            [
                Effect::Schedule { generation, at },
                Effect::Unschedule { generation: old }
            ]
        );
        assert_eq!(bench.look(Some(old)), [], "an older fire only looks");
        assert_eq!(bench.look(None), [], "the wait stands");
        assert_eq!(bench.conclude(1), [], "what ingest brings does not end it");
        assert_eq!(bench.due_at(), Some(due));
        bench.now = at;
    }
    bench.view.ingest_lagging = false;
    assert_eq!(claims(&bench.fire()), 1);
    assert_eq!(bench.state.running.clone().unwrap().total_at_claim, 53);
}

#[test]
fn h19_past_max_defer_a_dream_does_not_wait_for_ingest() {
    let mut bench = Bench::armed();
    let end = bench.now + 24 * HOUR;
    bench.view.ingest_lagging = true;
    bench.now = end - MINUTE / 2;
    assert_eq!(
        bench.fire()[0],
        Effect::Schedule { generation: 2, at: end },
        "no further than that"
    );
    bench.now = end;
    assert_eq!(claims(&bench.fire()), 1);
}

#[test]
fn h19_a_wait_for_ingest_without_a_timer_counts_from_its_first_look() {
    // Enabled again, but not armed yet: the look itself arms.
    let mut bench = Bench::new();
    bench.view.enabled = off(DecidedBy::Workspace);
    bench.message();
    bench.conclude(50);
    bench.view.enabled = ON;
    bench.view.ingest_lagging = true;
    bench.pass(2 * HOUR);
    assert_eq!(bench.look(None).len(), 1);
    assert_eq!(bench.state.armed_since, Some(bench.now));
}

#[test]
fn an_idle_timeout_of_zero_does_not_make_the_machine_spin() {
    let mut bench = Bench::new();
    bench.timings = Timings::of(&Config {
        idle: Duration::ZERO,
        ..Config::default()
    });
    bench.message();
    bench.conclude(50);
    bench.view.ingest_lagging = true;
    let looked = bench.now;
    bench.fire();
    assert!(bench.state.timer.clone().unwrap().scheduled_for > looked);
    bench.view.ingest_lagging = false;
    bench.fire();
    bench.end(Outcome::Failed);
    assert!(bench.due_at().unwrap() > looked);
}

#[test]
fn timings_follow_the_configuration() {
    let timings = Timings::of(&Config::default());
    assert_eq!((timings.coalesce, timings.ingest_wait), (MINUTE, MINUTE));
    let timings = Timings::of(&Config {
        idle: Duration::from_secs(3),
        ..Config::default()
    });
    assert_eq!(timings.coalesce, Duration::from_millis(150));
    assert_eq!(timings.ingest_wait, Duration::from_secs(3));
}
