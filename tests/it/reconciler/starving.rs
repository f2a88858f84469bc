//! Nothing starves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

/// More than a tick looks at in one shard.
const MANY: usize = 60;

#[tokio::test]
async fn what_is_due_behind_a_shard_full_of_items_that_nobody_can_read_is_served() {
    for kind in KINDS {
        let rig = quiet().await;
        kind.arise(&rig).await;
        let place = place(&rig, kind).await;
        spoil(&rig, &place, MANY).await;
        let mut ticks = 0;
        while !kind.is_served(&rig).await {
            let report = rig.engine.reconcile().await.unwrap();
            assert!(report.failed > 0, "{kind:?}: {report:?}");
            rig.settle().await;
            rig.advance(5 * MINUTE).await;
            ticks += 1;
            assert!(ticks < 4, "{kind:?} starves");
        }
    }
}

#[tokio::test]
async fn what_is_due_behind_items_that_the_table_does_not_even_let_be_put_off_is_served() {
    for kind in KINDS {
        let rig = quiet().await;
        kind.arise(&rig).await;
        let place = place(&rig, kind).await;
        spoil(&rig, &place, MANY).await;
        rig.faults.refuse("X#");
        let report = rig.engine.reconcile().await.unwrap();
        assert_eq!(report.failed, MANY, "{kind:?}");
        rig.settle().await;
        assert!(kind.is_served(&rig).await, "{kind:?}");
    }
}

#[tokio::test]
async fn an_item_that_fails_is_tried_less_and_less_often() {
    for kind in KINDS {
        let rig = quiet().await;
        let place = format!("DUE#{}#07", kind.word());
        spoil(&rig, &place, 3).await;
        let began = rig.now();
        let mut failed = Vec::new();
        for _ in 0..13 {
            failed.push(rig.engine.reconcile().await.unwrap().failed / 3);
            rig.pass(5 * MINUTE);
        }
        let expected: &[usize] = if kind == Kind::Disabled {
            // Looked at every 15 minutes, whatever comes of it.
            &[1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
        } else {
            // After 5, 10 and 20 minutes, and then every half hour.
            &[1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]
        };
        assert_eq!(failed, expected, "{kind:?}");
        for (looks, next) in looks(&rig).await {
            assert_eq!(usize::try_from(looks).unwrap(), expected.iter().sum::<usize>());
            assert!(next > began + HOUR, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn what_is_dealt_with_is_looked_at_soon_again_when_it_is_due_anew() {
    let rig = quiet().await;
    // An hour without a queue: looked at again and again.
    cut(&rig, "SendMessage");
    say(&rig, "s", "maya", &facts(0..1)).await;
    for _ in 0..13 {
        rig.pass(5 * MINUTE);
        rig.engine.reconcile().await.unwrap();
    }
    mend(&rig);
    for _ in 0..6 {
        rig.pass(5 * MINUTE);
        rig.engine.reconcile().await.unwrap();
    }
    rig.settle().await;
    assert_eq!(texts(&rig).await, facts(0..1));
    // Its past is forgotten.
    cut(&rig, "SendMessage");
    say(&rig, "s", "maya", &facts(1..2)).await;
    mend(&rig);
    rig.pass(61 * MINUTE / 60);
    assert_eq!(rig.engine.reconcile().await.unwrap().sessions, 1);
    rig.pass(5 * MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap().sessions, 1);
}

#[tokio::test]
async fn calls_that_take_too_long_end_the_tick_and_starve_no_other_kind() {
    let rig = quiet().await;
    Kind::Prune.arise(&rig).await;
    for number in 0..40 {
        cut(&rig, "SendMessage");
        say(&rig, &format!("s{number}"), "maya", &facts(0..1)).await;
    }
    let clock = Arc::clone(&rig.clock);
    rig.faults.replan(move |_, name| {
        if name != "SendMessage" {
            return Fault::None;
        }
        clock.pass(Duration::from_secs(10));
        Fault::Fail
    });
    rig.pass(2 * MINUTE);
    let mut pruned = 0;
    for _ in 0..6 {
        let began = rig.now();
        pruned += rig.engine.reconcile().await.unwrap().pruned;
        let took = rig.now().since(began);
        assert!(took < MINUTE, "{took:?}");
        rig.pass((5 * MINUTE).saturating_sub(took));
    }
    assert_eq!(pruned, 1);
    assert!(Kind::Prune.is_served(&rig).await);
}

#[tokio::test]
async fn a_shard_that_cannot_be_read_keeps_nothing_from_the_others() {
    for kind in KINDS {
        let rig = quiet().await;
        kind.arise(&rig).await;
        let asked = Arc::new(AtomicUsize::new(0));
        let mut served = false;
        // Each of the queries of a tick in turn fails.
        for failing in [0, 17, 33, 50, 66, 95] {
            let asked = Arc::clone(&asked);
            asked.store(0, Ordering::Relaxed);
            rig.faults.replan(move |_, name| {
                let number = if name == "Query" {
                    asked.fetch_add(1, Ordering::Relaxed)
                } else {
                    usize::MAX
                };
                if number == failing { Fault::Fail } else { Fault::None }
            });
            let report = rig.engine.reconcile().await.unwrap();
            assert!(report.failed > 0, "{kind:?}: {failing}");
            mend(&rig);
            rig.settle().await;
            served |= kind.is_served(&rig).await;
        }
        assert!(served, "{kind:?}");
    }
    // Of which nothing can be read at all says so.
    let rig = quiet().await;
    cut(&rig, "Query");
    assert!(rig.engine.reconcile().await.is_err());
}
