//! Examples for every statement of the seeds about when dreams are scheduled.

use super::*;
use crate::run::Trigger;

#[test]
fn h8_fifty_new_conclusions_since_the_last_dream_arm_the_timer() {
    let mut bench = Bench::new();
    bench.message();
    assert_eq!(bench.conclude(49), []);
    assert_eq!(bench.state.timer, None);
    let at = bench.now + HOUR;
    assert_eq!(bench.conclude(1), [Effect::Schedule { generation: 1, at }]);
    // What the last dream saw does not count again.
    bench.pass(HOUR);
    bench.fire();
    bench.end(Outcome::Completed);
    assert_eq!(bench.state.new_conclusions(), 0);
    bench.conclude(49);
    assert_eq!(bench.state.timer, None);
}

#[test]
fn h8_a_look_without_enough_conclusions_finds_nothing_to_do() {
    let mut bench = Bench::new();
    bench.conclude(49);
    let before = bench.state.clone();
    bench.pass(100 * HOUR);
    assert_eq!(bench.look(None), []);
    assert_eq!(bench.look(Some(7)), []);
    assert_eq!(bench.state, before);
}

#[test]
fn h8_what_came_in_during_a_dream_starts_a_wait_of_its_own() {
    let mut bench = Bench::new();
    bench.timings.cooldown = Duration::ZERO;
    bench.conclude(50);
    bench.pass(HOUR);
    bench.fire();
    bench.conclude(50);
    let ended = bench.pass(10 * MINUTE);
    bench.end(Outcome::Completed);
    assert_eq!(bench.due_at(), Some(ended + HOUR));
    bench.request(DreamType::Undo, "undo");
    bench.start("undo");
    bench.conclude(50);
    let ended = bench.pass(10 * MINUTE);
    bench.end(Outcome::Completed);
    assert_eq!(bench.state.armed_since, Some(ended), "an undo begins anew, too");
    assert_eq!(bench.due_at(), Some(ended + HOUR));
}

#[test]
fn h8_a_deployment_may_change_the_threshold() {
    let mut bench = Bench::armed();
    bench.timings.threshold = 60;
    assert_eq!(bench.look(None), [Effect::Unschedule { generation: 1 }]);
    assert_eq!((bench.state.armed_since, bench.state.threshold_met_at), (None, None));
    bench.timings.threshold = 50;
    let lowered = bench.pass(HOUR / 2);
    assert_eq!(bench.look(None).len(), 1);
    assert_eq!(bench.state.armed_since, Some(lowered));
}

#[test]
fn h9_eight_hours_pass_between_two_dreams() {
    let mut bench = Bench::armed();
    bench.pass(HOUR);
    assert_eq!(claims(&bench.fire()), 1);
    bench.end(Outcome::Completed);
    let ended = bench.now;
    bench.pass(MINUTE);
    bench.message();
    bench.conclude(50);
    assert_eq!(bench.due_at(), Some(ended + 8 * HOUR));
    bench.now = ended + 8 * HOUR - MINUTE;
    assert_eq!(claims(&bench.look(None)), 0);
    bench.now = ended + 8 * HOUR;
    assert_eq!(claims(&bench.fire()), 1);
}

#[test]
fn h10_a_disabled_representation_arms_nothing_and_names_the_level() {
    let mut bench = Bench::new();
    bench.view.enabled = off(DecidedBy::Session);
    bench.message();
    assert_eq!(bench.conclude(50), []);
    assert!(bench.state.held_back(&bench.timings), "the reconciler must come back");
    bench.pass(2 * HOUR);
    assert_eq!(bench.look(None), []);
    assert_eq!(bench.state.running, None);
    let by = DecidedBy::Session;
    assert_eq!(bench.request(DreamType::Omni, "m"), [Effect::Refused { by }]);
    assert_eq!(bench.why().decided_by, DecidedBy::Session);
}

#[test]
fn h10_the_session_of_the_newest_conclusion_decides() {
    let mut bench = Bench::armed();
    assert_eq!(bench.state.deciding_session, Some(session("s")));
    bench.view.enabled = off(DecidedBy::Session);
    let quiet = Some(session("quiet"));
    let effects = bench.apply(&Event::Concluded {
        explicit: 1,
        session: quiet.clone(),
    });
    assert_eq!(effects, [Effect::Unschedule { generation: 1 }]);
    assert_eq!(bench.state.deciding_session, quiet);
    assert!(
        bench.state.armed_since.is_some(),
        "it has waited since then all the same"
    );
    bench.view.enabled = ON;
    bench.conclude(1);
    assert!(bench.state.timer.is_some());
}

#[test]
fn h10_disabling_takes_timer_and_pending_but_not_the_running_dream() {
    let mut bench = Bench::armed();
    bench.request(DreamType::DryRun, "dry");
    bench.request(DreamType::Undo, "undo");
    bench.view.enabled = off(DecidedBy::Workspace);
    let effects = bench.apply(&Event::SettingsChanged);
    let dropped = Effect::DropPending { run: run("dry") };
    assert_eq!(effects, [dropped, Effect::Unschedule { generation: 1 }]);
    assert_eq!(bench.apply(&Event::SettingsChanged), [], "once is enough");
    assert_eq!(claims(&bench.start("undo")), 1, "undo is always allowed");
    bench.end(Outcome::Failed);

    bench.view.enabled = ON;
    assert_eq!(bench.apply(&Event::SettingsChanged).len(), 1, "armed without traffic");
    bench.pass(HOUR);
    bench.fire();
    bench.view.enabled = off(DecidedBy::Workspace);
    assert_eq!(bench.apply(&Event::SettingsChanged), []);
    assert_eq!(bench.claimed(), Some(&run("idle")));
    bench.end(Outcome::Completed);
    assert_eq!(bench.state.baseline, 50);
}

#[test]
fn h10_the_switch_is_checked_at_arm_at_fire_and_at_claim() {
    let mut bench = Bench::armed();
    bench.request(DreamType::CardRefresh, "card");
    bench.pass(HOUR);
    bench.view.enabled = off(DecidedBy::Global);
    let dropped = Effect::DropPending { run: run("card") };
    let unscheduled = Effect::Unschedule { generation: 1 };
    assert_eq!(bench.start("card"), [dropped, unscheduled]);
    assert_eq!(bench.look(Some(1)), []);
    assert_eq!(bench.state.running, None);
}

#[test]
fn h10_a_request_goes_by_the_settings_of_its_own_session() {
    let mut bench = Bench::new();
    bench.view.enabled = off(DecidedBy::Workspace);
    bench.view.manual_enabled.insert(DreamType::Omni, ON);
    assert_eq!(bench.request(DreamType::Omni, "m").len(), 2);
    assert_eq!(bench.apply(&Event::SettingsChanged), []);
    assert_eq!(claims(&bench.start("m")), 1);
}

#[test]
fn h11_the_timer_waits_an_hour_and_nothing_runs_at_once() {
    let mut bench = Bench::armed();
    let armed = bench.now;
    assert_eq!(bench.due_at(), Some(armed + HOUR));
    bench.now = armed + HOUR - MINUTE;
    assert_eq!(claims(&bench.look(None)), 0);
    // Without any message: from when the threshold was met.
    let mut bench = Bench::new();
    bench.conclude(49);
    let met = bench.pass(5 * HOUR);
    bench.conclude(1);
    bench.pass(MINUTE);
    bench.conclude(1);
    assert_eq!(bench.due_at(), Some(met + HOUR));
}

#[test]
fn h12_a_new_message_while_waiting_replaces_the_timer() {
    let mut bench = Bench::armed();
    let at = bench.pass(30 * MINUTE) + HOUR;
    let (schedule, unschedule) = (
        Effect::Schedule { generation: 2, at },
        Effect::Unschedule { generation: 1 },
    );
    assert_eq!(
        bench.message(),
        [schedule, unschedule],
        "the new one is there before the old one goes"
    );
    // The fire of the replaced one only looks.
    let before = bench.state.clone();
    bench.pass(30 * MINUTE);
    assert_eq!(bench.look(Some(1)), []);
    assert_eq!(bench.state, before);
    bench.now = at;
    assert_eq!(claims(&bench.fire()), 1);
}

#[test]
fn h12_a_replacement_within_the_coalescing_window_is_left_to_the_fire() {
    let mut bench = Bench::armed();
    let first = bench.now + HOUR;
    bench.pass(MINUTE / 2);
    assert_eq!(bench.message(), []);
    assert_eq!(bench.due_at(), Some(bench.now + HOUR));
    bench.now = first;
    let at = first + MINUTE / 2;
    let effects = bench.fire();
    assert_eq!(effects[0], Effect::Schedule { generation: 2, at });
    // The window counts from the last schedule created, not from the last message.
    bench.message();
    let created = bench.state.generation;
    bench.pass(MINUTE * 2 / 3);
    bench.message();
    assert_eq!(bench.state.generation, created);
    bench.pass(MINUTE * 2 / 3);
    bench.message();
    assert_eq!(bench.state.generation, created + 1);
}

#[test]
fn h12_a_late_or_repeated_message_changes_nothing() {
    let mut bench = Bench::armed();
    bench.pass(10 * MINUTE);
    bench.message();
    let before = bench.state.clone();
    bench.pass(MINUTE);
    assert_eq!(bench.apply(&Event::Activity), [], "the same message again");
    bench.view.last_activity = Some(bench.now - 30 * MINUTE);
    assert_eq!(
        bench.apply(&Event::Activity),
        [],
        "a view older than what the timer knows"
    );
    assert_eq!(bench.state, before);
}

#[test]
fn h12_a_peer_that_never_goes_quiet_still_dreams_within_a_day() {
    let mut bench = Bench::armed();
    let armed = bench.now;
    while bench.now < armed + 23 * HOUR + 58 * MINUTE {
        bench.pass(2 * MINUTE);
        bench.message();
    }
    assert_eq!(bench.due_at(), Some(armed + 24 * HOUR));
    bench.now = armed + 24 * HOUR;
    assert_eq!(bench.message(), [], "from here on activity neither cancels nor re-arms");
    assert_eq!(claims(&bench.fire()), 1);
    assert_eq!(bench.state.armed_since, None);
}

#[test]
fn h12_without_max_defer_activity_puts_the_dream_off_for_ever() {
    let mut bench = Bench::armed();
    bench.timings.max_defer = Duration::ZERO;
    let start = bench.now;
    while bench.now < start + 100 * HOUR {
        bench.pass(30 * MINUTE);
        bench.message();
        assert_eq!(claims(&bench.look(None)), 0);
    }
}

#[test]
fn h13_a_timer_that_runs_out_claims_and_runs_in_the_same_invocation() {
    let mut bench = Bench::armed();
    bench.pass(HOUR);
    let claim = Effect::Claim {
        run: run("idle"),
        dream_type: DreamType::Omni,
        trigger: Trigger::Idle,
    };
    assert_eq!(bench.fire(), [Effect::Unschedule { generation: 1 }, claim]);
    assert_eq!(bench.state.timer, None);
    assert_eq!(bench.look(Some(1)), [], "the same fire again");
}

#[test]
fn h13_a_lost_fire_is_made_good_by_the_reconciler() {
    let mut bench = Bench::armed();
    let due = bench.pass(HOUR);
    assert_eq!(claims(&bench.look(None)), 1);

    // Lost, and not due any more: a new schedule.
    let mut bench = Bench::armed();
    bench.pass(30 * MINUTE);
    bench.view.last_activity = Some(bench.now); // another observer's timer moved, not this one
    bench.now = due;
    let effects = bench.look(None);
    let at = due + 30 * MINUTE;
    assert_eq!(effects[0], Effect::Schedule { generation: 2, at });
    assert_eq!(bench.look(None), [], "and only one");
}

#[test]
fn h13_a_look_without_a_generation_follows_what_has_moved() {
    // Later, unheard of: the schedule stands and will look.
    let mut bench = Bench::armed();
    bench.view.last_activity = Some(bench.pass(30 * MINUTE));
    assert_eq!(bench.look(None), []);
    assert_eq!(bench.due_at(), Some(bench.now + HOUR));
    // Earlier, by a new deployment's timings: the schedule would be late.
    bench.timings.idle = 40 * MINUTE;
    let at = bench.now + 40 * MINUTE;
    bench.timings.coalesce = Duration::ZERO;
    assert_eq!(bench.look(None), [], "an hour after arming is still before that");
    bench.timings.idle = 10 * MINUTE;
    let effects = bench.look(None);
    assert_eq!(bench.due_at(), Some(at - 30 * MINUTE));
    assert_eq!(effects.len(), 2, "a new one for the old");
}

#[test]
fn h13_an_older_fire_claims_what_is_due() {
    let mut bench = Bench::armed();
    bench.pass(5 * MINUTE);
    bench.message();
    bench.pass(HOUR);
    let effects = bench.look(Some(1));
    assert_eq!(
        (claims(&effects), effects[0].clone()),
        (1, Effect::Unschedule { generation: 2 })
    );
}

#[test]
fn h14_a_manual_request_bypasses_threshold_cooldown_and_idle() {
    let mut bench = Bench::new();
    bench.message();
    bench.whole_run(DreamType::Omni, Outcome::Completed);
    bench.message();
    let (accepted, sent) = (Effect::Accepted { run: run("m") }, Effect::Enqueue { run: run("m") });
    assert_eq!(bench.request(DreamType::Omni, "m"), [accepted, sent]);
    assert_eq!(bench.message(), [], "activity does not cancel it");
    bench.view.ingest_lagging = true;
    let claim = Effect::Claim {
        run: run("m"),
        dream_type: DreamType::Omni,
        trigger: Trigger::Manual,
    };
    assert_eq!(bench.start("m"), [claim], "nor does it wait for ingest");
}

#[test]
fn h14_an_omni_request_clears_the_timer_and_its_cancellation_arms_it_again() {
    let mut bench = Bench::armed();
    let armed = bench.now;
    bench.pass(MINUTE);
    assert_eq!(bench.request(DreamType::DryRun, "dry").len(), 2, "a dry run leaves it");
    let effects = bench.request(DreamType::Omni, "m");
    assert_eq!(effects[0], Effect::Unschedule { generation: 1 });
    let cancelled = bench.apply(&Event::CancelPending { run: run("m") });
    let at = armed + HOUR;
    let dropped = Effect::DropPending { run: run("m") };
    assert_eq!(cancelled, [dropped, Effect::Schedule { generation: 2, at }]);
    assert_eq!(bench.state.armed_since, Some(armed));
    assert_eq!(bench.apply(&Event::CancelPending { run: run("m") }), []);
}

#[test]
fn h15_forty_requests_while_one_is_held_are_one_run() {
    let mut bench = Bench::new();
    let mut answers = Vec::new();
    for n in 0..40 {
        answers.extend(bench.request(DreamType::Omni, &format!("m{n}")));
        if n == 20 {
            assert_eq!(claims(&bench.start("m0")), 1);
        }
    }
    let there = Effect::AlreadyThere { run: run("m0") };
    assert_eq!(answers.iter().filter(|effect| **effect == there).count(), 39);
    assert_eq!(
        answers.iter().filter(|e| matches!(e, Effect::Accepted { .. })).count(),
        1
    );
    assert!(bench.end(Outcome::Completed).is_empty() && bench.state.pending.is_empty());
}

#[test]
fn h15_an_idle_dream_that_runs_makes_a_request_a_no_op() {
    let mut bench = Bench::armed();
    bench.pass(HOUR);
    bench.fire();
    let there = Effect::AlreadyThere { run: run("idle") };
    assert_eq!(bench.request(DreamType::Omni, "m"), [there]);
    assert_eq!(
        bench.request(DreamType::DryRun, "dry").len(),
        2,
        "only the same type is a no-op"
    );
}

#[test]
fn h37_dreams_are_off_when_reasoning_is_off() {
    // The switch that the machine is given is both: `settings::Levels::dreaming`.
    let workspace = serde_json::json!({"reasoning": {"enabled": false}, "dream": {"enabled": true}});
    let levels = crate::settings::Levels {
        session: None,
        workspace: workspace.as_object().unwrap(),
    };
    let mut bench = Bench::new();
    bench.view.enabled = levels.dreaming(crate::settings::Defaults::default());
    bench.message();
    assert_eq!(bench.conclude(50), []);
    let by = DecidedBy::Workspace;
    assert_eq!(bench.request(DreamType::Omni, "m"), [Effect::Refused { by }]);
}

#[test]
fn h12_an_import_of_old_conversations_is_activity_now() {
    // Only arrival times reach the machine; what a message says about its own date does not.
    let mut bench = Bench::armed();
    bench.pass(30 * MINUTE);
    bench.message();
    assert_eq!(bench.due_at(), Some(bench.now + HOUR));
}
