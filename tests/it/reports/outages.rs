//! What is down, for an hour or for ever: nothing is lost, nothing is done twice, and what is healthy goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use reverie_core::reasoner::ReasonerError;
use serde_json::json;

use super::stands;
use crate::rig::steps::{HOUR, MINUTE, facts, quiet, runs, say, status, texts, thought};
use crate::rig::{Fault, Faults, Rig, Scripted, config, reasoner::verbatim};

/// Time passes as it does on a server: the queues deliver, and the reconciler ticks.
async fn time_passes(rig: &Rig, minutes: u32) {
    for _ in 0..minutes.div_ceil(5) {
        rig.advance(5 * MINUTE).await;
        rig.engine.reconcile().await.unwrap();
        rig.settle().await;
    }
}

/// Hours pass, with a tick every twelve.
async fn hours(rig: &Rig, many: u32) {
    for hour in 1..=many {
        rig.advance(HOUR).await;
        if hour % 12 == 0 {
            rig.engine.reconcile().await.unwrap();
            rig.settle().await;
        }
    }
}

async fn pending(rig: &Rig) -> u64 {
    let queue = rig.get("/v3/workspaces/w/queue/status").await;
    queue["pending_work_units"].as_u64().unwrap()
}

#[tokio::test]
async fn report_08_a_reasoner_that_never_answers_anything_usable_is_asked_less_and_less_and_nothing_is_lost() {
    let healed = Arc::new(AtomicBool::new(false));
    let (think, derive) = (Arc::clone(&healed), Arc::clone(&healed));
    let junk = || ReasonerError::permanent("not the agreed shape");
    let reasoner = Scripted::thinking(move |_| {
        if think.load(Ordering::Relaxed) {
            Ok(thought(Vec::new()))
        } else {
            Err(junk())
        }
    })
    .deriving(move |request| {
        // What bob says it never understands.
        let bad = request.messages.iter().any(|message| message.peer.as_str() == "bob");
        if bad && !derive.load(Ordering::Relaxed) {
            Err(junk())
        } else {
            Ok(verbatim(request))
        }
    });
    let asked = Arc::new(reasoner);
    let rig = Rig::with(config(), Arc::clone(&asked) as _, Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    say(&rig, "s", "bob", &["hm"]).await;
    say(&rig, "s", "maya", &facts(5..8)).await;
    time_passes(&rig, 50).await;
    let mut understood = texts(&rig).await;
    understood.sort();
    assert_eq!(understood, facts(0..8), "what it understands goes on");
    let before = stands(&rig).await;
    hours(&rig, 4 * 24).await;
    assert_eq!(stands(&rig).await, before);
    let ran = runs(&rig).await;
    assert!(
        ran.iter()
            .all(|run| run["status"] == "failed" && run["error"].is_string())
    );
    // After 2, 4, 8 and 16 hours, and then once a day.
    assert!((6..=8).contains(&ran.len()), "{}", ran.len());
    assert_eq!(asked.thoughts(), 2 * ran.len());
    assert!(asked.derivations() < 20, "{}", asked.derivations());
    assert_eq!(status(&rig).await["verdict"], "backing_off");
    let queue = rig.get("/v3/workspaces/w/queue/status").await;
    assert_eq!(
        (&queue["failed_work_units"], &queue["pending_work_units"]),
        (&json!(1), &json!(0))
    );
    healed.store(true, Ordering::Relaxed);
    let failed = rig.get("/v3/workspaces/w/queue/failed").await["items"][0]["message_id"].clone();
    let path = format!(
        "/v3/workspaces/w/sessions/s/messages/{}/retry",
        failed.as_str().unwrap()
    );
    assert_eq!(rig.call("POST", &path, None).await.0, StatusCode::ACCEPTED);
    hours(&rig, 25).await;
    assert_eq!(rig.texts("w", "bob", "bob").await, ["hm"]);
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test]
async fn report_03_what_the_table_refuses_for_ever_is_seen_and_holds_up_nothing_else() {
    let rig = quiet().await;
    say(&rig, "bad", "bob", &facts(0..1)).await;
    say(&rig, "good", "maya", &facts(0..1)).await;
    rig.settle().await;
    let items = rig.items().await;
    let uid = |name: &str| {
        let head = items
            .iter()
            .find(|item| item["type"] == "session" && item["name"] == name);
        head.unwrap()["uid"].as_str().unwrap().to_owned()
    };
    // What ingest keeps of the session cannot be written; posts to it can.
    rig.faults.refuse(&format!("SU#{}\"}},\"SK\":{{\"S\":\"A#", uid("bad")));
    say(&rig, "bad", "bob", &facts(1..2)).await;
    for number in 1..6 {
        say(&rig, "good", "maya", &facts(number..number + 1)).await;
        time_passes(&rig, 15).await;
    }
    assert_eq!(texts(&rig).await, facts(0..6));
    time_passes(&rig, 65).await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
    assert_eq!(rig.texts("w", "bob", "bob").await, facts(0..1));
    assert_eq!(pending(&rig).await, 1, "what waits is seen");
    rig.faults.pardon();
    time_passes(&rig, 65).await;
    assert_eq!(rig.texts("w", "bob", "bob").await, facts(0..2));
    assert_eq!(pending(&rig).await, 0);
}

#[tokio::test]
async fn report_24_an_hour_without_queues_delays_and_loses_nothing() {
    let rig = quiet().await;
    rig.faults.replan(|_, name| {
        if name == "SendMessage" {
            Fault::Fail
        } else {
            Fault::None
        }
    });
    for number in 0..12 {
        say(&rig, &format!("s{number}"), "maya", &facts(number..number + 1)).await;
        rig.advance(5 * MINUTE).await;
        let report = rig.engine.reconcile().await.unwrap();
        assert!(report.failed > 0);
    }
    assert_eq!(texts(&rig).await, [""; 0]);
    assert_eq!(pending(&rig).await, 12);
    rig.faults.replan(|_, _| Fault::None);
    // At most as long again as the longest wait between two looks.
    time_passes(&rig, 35).await;
    let mut said = texts(&rig).await;
    said.sort();
    let mut all = facts(0..12);
    all.sort();
    assert_eq!((said, pending(&rig).await), (all, 0));
    time_passes(&rig, 65).await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("completed")));
}

#[tokio::test]
async fn report_24_an_hour_without_schedules_delays_a_dream_by_a_tick_at_most() {
    let rig = quiet().await;
    let down = |name: &str| name.ends_with("Schedule");
    rig.faults
        .replan(move |_, name| if down(name) { Fault::Fail } else { Fault::None });
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    // Each of these would replace the timer; the last comes at 00:55.
    for _ in 0..11 {
        time_passes(&rig, 5).await;
        say(&rig, "s", "maya", &["hello"]).await;
    }
    time_passes(&rig, 5).await;
    rig.faults.replan(|_, _| Fault::None);
    assert_eq!(status(&rig).await["timer_due_at"], "2026-01-01T01:55:00Z");
    time_passes(&rig, 50).await;
    assert!(runs(&rig).await.is_empty());
    time_passes(&rig, 10).await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("completed")));
}

#[tokio::test]
async fn report_19_handlers_whose_clocks_are_ahead_do_everything_once_and_not_much_too_early() {
    for skew in [70, 900] {
        let mut rig = quiet().await;
        rig.skew(skew);
        say(&rig, "s", "maya", &facts(0..5)).await;
        rig.advance(40 * MINUTE).await;
        assert_eq!(texts(&rig).await, facts(0..5), "{skew}");
        assert!(runs(&rig).await.is_empty(), "{skew}");
        say(&rig, "s", "maya", &facts(5..6)).await;
        rig.advance(40 * MINUTE).await;
        assert!(
            runs(&rig).await.is_empty(),
            "{skew}: an hour of quiet less what the clock is wrong by"
        );
        for _ in 0..9 {
            rig.advance(5 * MINUTE).await;
        }
        let ran = runs(&rig).await;
        assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("completed")), "{skew}");
        assert_eq!(texts(&rig).await, facts(0..6), "{skew}");
        assert_eq!(pending(&rig).await, 0, "{skew}");
        hours(&rig, 12).await;
        assert_eq!(runs(&rig).await.len(), 1, "{skew}");
    }
    // A lease that a fast clock takes for run out: the fence keeps the two apart, and there is one run.
    let mut rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.pass(HOUR);
    rig.faults
        .replan(|_, name| if name == "Think" { Fault::DieBefore } else { Fault::None });
    rig.settle().await;
    assert!(rig.faults.is_dead());
    let items = rig.items().await;
    assert!(
        items
            .iter()
            .any(|item| item["type"] == "run" && item["status"] == "running")
    );
    rig.skew(300);
    rig.queues.release_in_flight().await.unwrap();
    rig.settle().await;
    let rig = rig.restart().await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("completed")));
}
