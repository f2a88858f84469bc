//! Two reconcilers at once do what one does.

use reverie_engine::Report;

use super::*;

fn sum(one: Report, other: Report) -> Report {
    Report {
        sessions: one.sessions + other.sessions,
        representations: one.representations + other.representations,
        runs: one.runs + other.runs,
        pruned: one.pruned + other.pruned,
        erasures: one.erasures + other.erasures,
        summaries: one.summaries + other.summaries,
        failed: one.failed + other.failed,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_reconcilers_at_once_do_what_one_does() {
    for kind in KINDS {
        let (alone, both) = (quiet().await, quiet().await);
        for rig in [&alone, &both] {
            kind.arise(rig).await;
            rig.fix_ids();
            mend(rig);
        }
        let once = alone.engine.reconcile().await.unwrap();
        let sent = |rig: &Rig| rig.faults.calls().iter().filter(|call| *call == "SendMessage").count();
        let (one, other) = (std::sync::Arc::clone(&both.engine), std::sync::Arc::clone(&both.engine));
        let (one, other) = tokio::join!(
            tokio::spawn(async move { one.reconcile().await.unwrap() }),
            tokio::spawn(async move { other.reconcile().await.unwrap() }),
        );
        assert_eq!(sum(one.unwrap(), other.unwrap()), once, "{kind:?}");
        assert_eq!(sent(&both), sent(&alone), "{kind:?}");
        for rig in [&alone, &both] {
            rig.settle().await;
            assert!(kind.is_served(rig).await, "{kind:?}");
        }
        assert_eq!(both.fingerprint().await, alone.fingerprint().await, "{kind:?}");
    }
}
