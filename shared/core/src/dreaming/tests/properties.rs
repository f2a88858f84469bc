//! Properties over arbitrary histories of the simulated world.

use proptest::prelude::*;

use super::world::{Fate, World, seconds, timings};
use super::*;

#[derive(Clone, Debug)]
enum Op {
    Pass(u64),
    /// A message; `told` when the representation hears of it, as only the sender's own does.
    Message {
        told: bool,
    },
    /// An activity event whose view is this old.
    OldActivity(u64),
    Conclude(u64),
    Switch {
        told: bool,
    },
    Lag(bool),
    Request(DreamType),
    StartAgain(DreamType),
    CancelPending(DreamType),
    End(Outcome),
    Reconcile,
    /// The fire of a generation so many before the newest.
    OldFire(u64),
}

fn dream_type() -> impl Strategy<Value = DreamType> {
    prop::sample::select(DreamType::ALL.to_vec())
}

fn op() -> impl Strategy<Value = Op> {
    let outcomes = vec![Outcome::Completed, Outcome::Failed, Outcome::Cancelled];
    prop_oneof![
        6 => (0_u64..250).prop_map(Op::Pass),
        4 => any::<bool>().prop_map(|told| Op::Message { told }),
        1 => (1_u64..200).prop_map(Op::OldActivity),
        4 => (0_u64..4).prop_map(Op::Conclude),
        1 => any::<bool>().prop_map(|told| Op::Switch { told }),
        1 => any::<bool>().prop_map(Op::Lag),
        2 => dream_type().prop_map(Op::Request),
        1 => dream_type().prop_map(Op::StartAgain),
        1 => dream_type().prop_map(Op::CancelPending),
        3 => prop::sample::select(outcomes).prop_map(Op::End),
        2 => Just(Op::Reconcile),
        1 => (0_u64..4).prop_map(Op::OldFire),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::OnTime),
        1 => (1_u64..300).prop_map(Fate::Late),
        1 => (0_u64..300).prop_map(Fate::Twice),
        1 => Just(Fate::Lost),
    ]
}

fn play(world: &mut World, op: &Op) {
    match *op {
        Op::Pass(time) => world.pass(seconds(time)),
        Op::Message { told } => world.message(told),
        Op::OldActivity(age) => {
            let newest = world.last_activity;
            let mut view = View::of(ON);
            view.enabled.value = world.enabled;
            view.last_activity = newest.map(|at| at - seconds(age));
            // Without activity there is no older view of it.
            if newest.is_some() {
                let before = world.state.timer.clone();
                world.apply_with(&Event::Activity, &view);
                let moved = world.state.timer.as_ref().zip(before);
                assert!(moved.is_none_or(|(after, before)| after.due_at >= before.due_at));
            }
        }
        Op::Conclude(explicit) => world.conclude(explicit),
        Op::Switch { told } => {
            world.enabled = !world.enabled;
            if told {
                world.apply(&Event::SettingsChanged);
            }
        }
        Op::Lag(lagging) => world.lagging = lagging,
        Op::Request(dream_type) => {
            let run = world.fresh_run();
            world.apply(&Event::Request { dream_type, run });
        }
        Op::StartAgain(dream_type) => {
            if let Some(run) = world.state.pending.get(&dream_type).cloned() {
                world.apply(&Event::Start { run });
            }
        }
        Op::CancelPending(dream_type) => {
            if let Some(run) = world.state.pending.get(&dream_type).cloned() {
                world.apply(&Event::CancelPending { run });
            }
        }
        Op::End(outcome) => world.end(outcome),
        Op::Reconcile => world.look(None),
        Op::OldFire(back) => {
            let generation = world.state.generation.saturating_sub(back);
            world.look(Some(generation));
        }
    }
}

/// The world goes quiet, enabled and caught up, and every run ends well: what was due or requested has run in time.
fn settle(world: &mut World, reconcile_every: Option<Duration>) {
    world.end(Outcome::Completed);
    (world.enabled, world.lagging) = (true, false);
    world.apply(&Event::SettingsChanged);
    let slack = reconcile_every.unwrap_or(world.timings.coalesce) + seconds(15);
    let deadline = world.due_when_quiet() + slack;
    let mut look_at = world.now + reconcile_every.unwrap_or_default();
    // Each of at most four pending runs takes a second, and its letter may need a look.
    let requests_done = world.now + 5 * slack;
    while world.now < deadline.max(requests_done) {
        // A back-off may be long.
        world.pass(seconds(if world.now < requests_done { 1 } else { 10 }));
        world.end(Outcome::Completed);
        if reconcile_every.is_some() && world.now >= look_at {
            world.look(None);
            look_at = world.now + reconcile_every.unwrap_or_default();
        }
    }
    world.pass(seconds(1));
    world.end(Outcome::Completed);
    assert!(
        !world.threshold_met(),
        "a dream was lost: {:?} at {}",
        world.state,
        world.now
    );
    assert_eq!(world.waiting, [], "a request was lost: {:?}", world.state);
    assert_eq!(world.state.timer, None);
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(384),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    /// Fires and letters late, twice or never; only the reconciler can be relied on.
    #[test]
    fn no_dream_is_lost_whatever_becomes_of_fires_and_letters(
        cooldown in prop::sample::select(vec![400_u64, 30]),
        max_defer in prop::sample::select(vec![0_u64, 600, 150]),
        fates in prop::collection::vec(fate(), 1..20),
        ops in prop::collection::vec(op(), 1..80),
    ) {
        let mut world = World::new(timings(cooldown, max_defer), fates);
        for op in &ops {
            play(&mut world, op);
        }
        // Letters come now, but no schedule ever fires.
        (world.fates, world.fires_lost) = (vec![], true);
        settle(&mut world, Some(seconds(30)));
    }

    /// Fires and letters come once and on time; there is no reconciler.
    #[test]
    fn no_dream_needs_the_reconciler_while_schedules_fire(
        cooldown in prop::sample::select(vec![400_u64, 30]),
        max_defer in prop::sample::select(vec![0_u64, 600, 150]),
        ops in prop::collection::vec(op(), 1..80),
    ) {
        let mut world = World::new(timings(cooldown, max_defer), vec![]);
        for op in &ops {
            play(&mut world, op);
        }
        settle(&mut world, None);
    }

    /// Messages at least every idle timeout, for ever: a dream within max defer of its arming, again and again.
    #[test]
    fn activity_cannot_starve_a_peer_past_max_defer(
        gaps in prop::collection::vec(1_u64..100, 20..60),
        requests in prop::collection::vec(prop::option::weighted(0.2, dream_type()), 20..60),
    ) {
        let mut world = World::new(timings(400, 600), vec![]);
        let (mut armed, mut waited) = (None, Duration::ZERO);
        for (gap, request) in gaps.iter().cycle().zip(requests.iter().cycle()).take(120) {
            world.message(true);
            world.conclude(3);
            if let Some(dream_type) = request.filter(|kind| matches!(kind, DreamType::DryRun | DreamType::CardRefresh)) {
                let run = world.fresh_run();
                world.apply(&Event::Request { dream_type, run });
            }
            armed = armed.or(Some(world.now));
            let dreams = world.idle_claims.len();
            let next_message = world.now + seconds(*gap);
            while world.now < next_message {
                world.pass(seconds(5).min(next_message.since(world.now)));
                world.end(Outcome::Completed);
            }
            if world.idle_claims.len() > dreams {
                let claimed = world.idle_claims[dreams];
                waited = claimed.since(armed.take().unwrap_or(claimed));
            }
            prop_assert!(waited <= seconds(600 + 10), "waited {waited:?}");
            prop_assert!(armed.is_none_or(|armed| world.now.since(armed) <= seconds(600 + 10)));
        }
    }
}
