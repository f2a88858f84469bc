//! Rows H8 to H19, H38, H39, K3, K4: when dreams are scheduled.

use std::sync::Arc;

use http::StatusCode;
use reverie_core::config::Config;
use reverie_core::ports::QueueName;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{HOUR, MINUTE, ask, ask_for, deliver, facts, gated, id, listed, quiet, runs, say, scripted, state, status};
use crate::rig::{Fault, Faults, Rig, Scripted};

async fn scheduled(rig: &Rig) -> u64 {
    rig.queues.counts(QueueName::Dreams).await.unwrap().scheduled
}

#[tokio::test]
async fn h8_fifty_new_conclusions_since_the_last_dream_make_one_due() {
    let rig = Rig::with(Config::default(), Arc::new(Scripted::idle()), Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..49)).await;
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 0, "49 are too few, however long it is quiet");
    say(&rig, "s", "maya", &facts(49..50)).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
    // The count starts again.
    say(&rig, "s", "maya", &facts(50..99)).await;
    rig.settle().await;
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 1, "49 since the last one");
    say(&rig, "s", "maya", &facts(99..100)).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 2);
}

#[tokio::test]
async fn h8_the_threshold_counts_per_representation() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..4)).await;
    say(&rig, "s", "bob", &["bob is tall"]).await;
    rig.advance(30 * HOUR).await;
    assert_eq!(listed(&rig, "").await, [] as [Value; 0]);
}

#[tokio::test]
async fn h9_eight_hours_lie_between_two_dreams_of_a_representation() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    let first = runs(&rig).await;
    assert_eq!(first.len(), 1);
    rig.advance(HOUR).await;
    say(&rig, "s", "maya", &facts(5..10)).await;
    rig.settle().await;
    // Quiet and over the threshold, but 7 h 59 min after the dream.
    rig.advance(6 * HOUR + 59 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
    rig.advance(2 * MINUTE).await;
    let second = runs(&rig).await;
    assert_eq!(second.len(), 2);
    assert_eq!(
        (&second[0]["trigger"], &second[0]["status"]),
        (&json!("idle"), &json!("completed"))
    );
}

#[tokio::test]
async fn h10_workspace_and_session_turn_dreams_off_and_they_are_on_by_default() {
    let (none, on, off) = (
        json!({}),
        json!({"dream": {"enabled": true}}),
        json!({"dream": {"enabled": false}}),
    );
    for (workspace, session, by) in [
        (&none, &none, None),
        (&off, &none, Some("workspace")),
        (&none, &off, Some("session")),
        (&off, &on, None),
        (&on, &off, Some("session")),
    ] {
        let rig = quiet().await;
        rig.post("/v3/workspaces", json!({"id": "w", "configuration": workspace}))
            .await;
        rig.post(
            "/v3/workspaces/w/sessions",
            json!({"id": "s", "configuration": session}),
        )
        .await;
        say(&rig, "s", "maya", &facts(0..5)).await;
        rig.settle().await;
        rig.advance(61 * MINUTE).await;
        let (expected, answered) = if by.is_some() {
            (0, StatusCode::BAD_REQUEST)
        } else {
            (1, StatusCode::NO_CONTENT)
        };
        assert_eq!(runs(&rig).await.len(), expected, "{workspace} {session}");
        // A request goes by the same settings, and is told which level refuses it.
        let (asked, answer) = ask_for(&rig, json!({"observer": "maya", "observed": "maya", "session_id": "s"})).await;
        assert_eq!(asked, answered, "{workspace} {session}: {answer}");
        if let Some(by) = by {
            let text = answer["detail"].as_str().unwrap();
            assert!(
                text.starts_with("Dreams are disabled by") && text.contains(by),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn h11_meeting_the_threshold_sets_a_timer_of_an_hour_and_runs_nothing() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..4)).await;
    rig.settle().await;
    assert_eq!(scheduled(&rig).await, 0);
    say(&rig, "s", "maya", &facts(4..5)).await;
    rig.settle().await;
    assert_eq!((scheduled(&rig).await, runs(&rig).await.len()), (1, 0));
    assert_eq!(status(&rig).await["timer_due_at"], "2026-01-01T01:00:00Z");
    rig.advance(59 * MINUTE).await;
    assert_eq!((scheduled(&rig).await, runs(&rig).await.len()), (1, 0));
    rig.advance(MINUTE).await;
    assert_eq!((scheduled(&rig).await, runs(&rig).await.len()), (0, 1));
}

#[tokio::test]
async fn h12_a_new_message_while_waiting_replaces_the_timer() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(40 * MINUTE).await;
    // Whatever the session, and whether or not it says anything new.
    say(&rig, "t", "maya", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(scheduled(&rig).await, 1, "K3: replaced, not added");
    assert_eq!(status(&rig).await["timer_due_at"], "2026-01-01T01:40:00Z");
    rig.advance(59 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 0);
    rig.advance(MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn k3_each_timer_is_one_schedule_and_a_new_one_is_there_before_the_old_one_goes() {
    let rig = quiet().await;
    let calls = async |rig: &Rig| {
        rig.settle().await;
        let made = rig.faults.calls();
        rig.faults.replan(|_, _| Fault::None);
        let mut made: Vec<String> = made.into_iter().filter(|call| call.ends_with("Schedule")).collect();
        made.dedup();
        (made, scheduled(rig).await)
    };
    say(&rig, "s", "maya", &facts(0..5)).await;
    assert_eq!(calls(&rig).await, (vec!["CreateSchedule".to_owned()], 1));
    for _ in 0..3 {
        rig.pass(20 * MINUTE);
        say(&rig, "s", "maya", &["hello"]).await;
        let replaced = vec!["CreateSchedule".to_owned(), "DeleteSchedule".to_owned()];
        assert_eq!(calls(&rig).await, (replaced, 1));
    }
    // A minute is not worth a replacement: the early fire looks, and takes a new one.
    rig.pass(MINUTE);
    say(&rig, "s", "maya", &["hello again"]).await;
    assert_eq!(calls(&rig).await, (Vec::new(), 1));
    rig.pass(59 * MINUTE);
    let (made, left) = calls(&rig).await;
    assert_eq!(
        (made[0].as_str(), left, runs(&rig).await.len()),
        ("CreateSchedule", 1, 0)
    );
    rig.pass(MINUTE);
    let (_, left) = calls(&rig).await;
    assert_eq!(
        (left, runs(&rig).await.len()),
        (0, 1),
        "one-off: it is gone with its fire"
    );
}

#[tokio::test]
async fn k4_a_letter_that_is_sent_twice_is_one_and_the_next_state_has_one_of_its_own() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    // The answer to the first request is lost on its way into the queue: the client asks again.
    rig.faults.replan(|_, name| {
        if name == "SendMessage" {
            Fault::Lose
        } else {
            Fault::None
        }
    });
    for _ in 0..3 {
        assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    }
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 1);
    rig.faults.replan(|_, _| Fault::None);
    rig.settle().await;
    assert_eq!(runs(&rig).await.len(), 1);
    // Within the five minutes for which the queue remembers.
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 1);
    rig.settle().await;
    assert_eq!(runs(&rig).await.len(), 2);
}

#[tokio::test]
async fn h12_messages_of_other_peers_put_nothing_off() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(40 * MINUTE).await;
    say(&rig, "s", "bob", &["hello"]).await;
    rig.settle().await;
    rig.advance(20 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn h13_a_timer_that_runs_out_puts_the_dream_into_the_queue() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.pass(61 * MINUTE);
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 0);
    rig.queues.tick().await.unwrap();
    let counts = rig.queues.counts(QueueName::Dreams).await.unwrap();
    assert_eq!((counts.waiting, counts.scheduled), (1, 0));
    assert_eq!(status(&rig).await["verdict"], "queued");
    assert_eq!(deliver(&rig, QueueName::Dreams).await, Some(true));
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test]
async fn h14_a_request_bypasses_threshold_cooldown_and_idle_timeout() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    for expected in 1..=2 {
        assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
        rig.settle().await;
        let runs = runs(&rig).await;
        assert_eq!(runs.len(), expected);
        assert_eq!(
            (&runs[0]["trigger"], &runs[0]["status"]),
            (&json!("manual"), &json!("completed"))
        );
    }
}

#[tokio::test]
async fn h14_a_request_names_peers_that_exist() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    for body in [
        json!({"observer": "nobody"}),
        json!({"observer": "maya", "observed": "nobody"}),
    ] {
        assert_eq!(ask_for(&rig, body).await.0, StatusCode::NOT_FOUND);
    }
    let (status, _) = rig
        .call(
            "POST",
            "/v3/workspaces/none/schedule_dream",
            Some(json!({"observer": "maya"})),
        )
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 0);
}

/// Forty requests at once.
async fn forty(rig: &Arc<Rig>) {
    let mut requests = JoinSet::new();
    for _ in 0..40 {
        let rig = Arc::clone(rig);
        requests.spawn(async move { ask(&rig, "maya").await });
    }
    let answers = requests.join_all().await;
    assert_eq!(answers, [StatusCode::NO_CONTENT; 40]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn h15_forty_requests_while_one_is_pending_are_one_run() {
    let rig = Arc::new(quiet().await);
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    forty(&rig).await;
    let pending = runs(&rig).await;
    assert_eq!((pending.len(), &pending[0]["status"]), (1, &json!("pending")));
    // K4: one state, one message.
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 1);
    rig.settle().await;
    let ended = runs(&rig).await;
    assert_eq!((ended.len(), &ended[0]["status"]), (1, &json!("completed")));
    assert_eq!(ended[0]["id"], pending[0]["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn h15_forty_requests_while_one_is_running_are_one_run() {
    let (reasoner, gate) = gated();
    let rig = Arc::new(scripted(reasoner).await);
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    let executor = tokio::spawn({
        let rig = Arc::clone(&rig);
        async move { rig.settle().await }
    });
    gate.reached();
    forty(&rig).await;
    let held = runs(&rig).await;
    assert_eq!((held.len(), &held[0]["status"]), (1, &json!("running")));
    gate.open();
    assert_eq!(executor.await.unwrap(), 0);
    let ended = runs(&rig).await;
    assert_eq!((ended.len(), &ended[0]["status"]), (1, &json!("completed")));
}

#[tokio::test]
async fn h16_a_dream_is_of_one_observer_and_one_observed() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let rig = scripted(Scripted::thinking(move |request| {
        let texts: Vec<String> = request
            .conclusions
            .iter()
            .map(|conclusion| conclusion.content.clone())
            .collect();
        note.lock()
            .unwrap()
            .push((request.observer.to_string(), request.observed.to_string(), texts));
        Ok(reverie_core::reasoner::Thought {
            done: true,
            ..Default::default()
        })
    }))
    .await;
    state(&rig, "maya", "maya", &["maya is herself"]).await;
    state(&rig, "bob", "maya", &["bob thinks maya is tall"]).await;
    state(&rig, "maya", "bob", &["maya thinks bob is small"]).await;
    for (body, observer, observed, text) in [
        // Self-observation, when only the observer is named.
        (json!({"observer": "maya"}), "maya", "maya", "maya is herself"),
        (
            json!({"observer": "bob", "observed": "maya"}),
            "bob",
            "maya",
            "bob thinks maya is tall",
        ),
        (
            json!({"observer": "maya", "observed": "bob"}),
            "maya",
            "bob",
            "maya thinks bob is small",
        ),
    ] {
        assert_eq!(ask_for(&rig, body).await.0, StatusCode::NO_CONTENT);
        rig.settle().await;
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let shown = (observer.to_owned(), observed.to_owned(), vec![text.to_owned()]);
        assert_eq!(seen, [shown.clone(), shown]);
        assert_eq!(
            listed(&rig, &format!("observer={observer}&observed={observed}"))
                .await
                .len(),
            1
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn h17_one_run_at_a_time_of_a_representation() {
    let (reasoner, gate) = gated();
    let rig = Arc::new(scripted(reasoner).await);
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    // A dry run holds the slot; an omni request and a card refresh wait, and the idle timer has run out.
    assert_eq!(
        ask_for(&rig, json!({"observer": "maya", "dry_run": true})).await.0,
        StatusCode::ACCEPTED
    );
    let executor = tokio::spawn({
        let rig = Arc::clone(&rig);
        async move { rig.settle().await }
    });
    gate.reached();
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    let refresh = json!({"observer": "maya", "observed": "maya", "dream_type": "card_refresh"});
    assert_eq!(ask_for(&rig, refresh).await.0, StatusCode::NO_CONTENT);
    rig.pass(MINUTE * 3 / 2);
    // The queue's group is held; the reconciler's letters have groups of their own and get through.
    let report = rig.engine.reconcile().await.unwrap();
    assert_eq!(report.runs, 2, "{report:?}");
    while let Some(handled) = deliver(&rig, QueueName::Dreams).await {
        assert!(handled);
    }
    let mut held: Vec<String> = runs(&rig)
        .await
        .iter()
        .map(|run| run["status"].as_str().unwrap().to_owned())
        .collect();
    held.sort();
    assert_eq!(held, ["pending", "pending", "running"]);
    gate.open();
    assert_eq!(executor.await.unwrap(), 0);
    rig.settle().await;
    let ended = runs(&rig).await;
    assert_eq!(ended.len(), 3);
    for run in &ended {
        assert_eq!(run["status"], "completed", "{run}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn h17_an_idle_dream_that_finds_the_slot_taken_runs_when_it_is_free() {
    let (reasoner, gate) = gated();
    let rig = Arc::new(scripted(reasoner).await);
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.pass(59 * MINUTE + MINUTE / 2);
    assert_eq!(
        ask_for(&rig, json!({"observer": "maya", "dry_run": true})).await.0,
        StatusCode::ACCEPTED
    );
    let executor = tokio::spawn({
        let rig = Arc::clone(&rig);
        async move { rig.settle().await }
    });
    gate.reached();
    rig.pass(MINUTE);
    rig.engine.reconcile().await.unwrap();
    // A look that finds a live run waits for it in the queue.
    while deliver(&rig, QueueName::Dreams).await.is_some() {}
    let held = runs(&rig).await;
    assert_eq!((held.len(), &held[0]["dream_type"]), (1, &json!("dry_run")), "{held:?}");
    gate.open();
    assert_eq!(executor.await.unwrap(), 0);
    rig.settle().await;
    let ended = runs(&rig).await;
    assert_eq!(ended.len(), 2);
    assert_eq!(
        (&ended[0]["dream_type"], &ended[0]["trigger"]),
        (&json!("omni"), &json!("idle"))
    );
    assert_eq!(ended[0]["status"], "completed");
}

#[tokio::test]
async fn h18_a_dream_that_is_queued_twice_runs_once() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.pass(61 * MINUTE);
    // The schedule fires, and the reconciler, who has not heard of it, sends looks of its own.
    rig.queues.tick().await.unwrap();
    for _ in 0..3 {
        rig.engine.reconcile().await.unwrap();
        rig.pass(20 * MINUTE);
    }
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 4);
    rig.settle().await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn h18_a_request_takes_the_place_of_the_armed_timer() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    rig.settle().await;
    // The schedule may still be there: its fire only looks.
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

/// A rig in which maya and bob both hold five facts about maya, and wait to dream of them.
async fn two_observers() -> Rig {
    let rig = quiet().await;
    let members = json!({"id": "s", "peers": {"maya": {}, "bob": {"observe_others": true}}});
    rig.post("/v3/workspaces/w/sessions", members).await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    assert_eq!(scheduled(&rig).await, 2);
    rig
}

#[tokio::test]
async fn h19_new_activity_of_a_peer_puts_off_the_dreams_of_every_observer() {
    let rig = two_observers().await;
    rig.advance(59 * MINUTE).await;
    // In a session that bob is not in.
    say(&rig, "elsewhere", "maya", &facts(0..1)).await;
    rig.settle().await;
    rig.advance(59 * MINUTE).await;
    assert_eq!(listed(&rig, "observed=maya").await.len(), 0);
    rig.advance(2 * MINUTE).await;
    let ran = listed(&rig, "observed=maya").await;
    assert_eq!(ran.len(), 2);
    assert_ne!(ran[0]["observer"], ran[1]["observer"]);
}

#[tokio::test]
async fn h19_a_dream_that_is_queued_and_not_started_is_put_off_too() {
    let rig = two_observers().await;
    rig.pass(61 * MINUTE);
    rig.queues.tick().await.unwrap();
    assert_eq!(rig.queues.counts(QueueName::Dreams).await.unwrap().waiting, 2);
    say(&rig, "elsewhere", "maya", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(listed(&rig, "observed=maya").await.len(), 0);
    rig.advance(61 * MINUTE).await;
    assert_eq!(listed(&rig, "observed=maya").await.len(), 2);
}

#[tokio::test]
async fn h19_activity_does_not_cancel_what_was_asked_for() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    say(&rig, "s", "maya", &facts(1..2)).await;
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn h38_queue_status_counts_dreams_beside_other_work() {
    let (reasoner, gate) = gated();
    let rig = Arc::new(scripted(reasoner).await);
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    let units = async |query: &str| {
        let answer = rig.get(&format!("/v3/workspaces/w/queue/status{query}")).await;
        let count = |key: &str| answer[key].as_u64().unwrap();
        (
            count("total_work_units"),
            count("in_progress_work_units"),
            count("pending_work_units"),
        )
    };
    assert_eq!(units("").await, (0, 0, 0));
    say(&rig, "s", "maya", &facts(1..2)).await;
    assert_eq!(units("").await, (1, 0, 1));
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    assert_eq!(units("").await, (2, 0, 2));
    assert_eq!(units("?observer_id=bob").await, (0, 0, 0));
    let executor = tokio::spawn({
        let rig = Arc::clone(&rig);
        async move { rig.settle().await }
    });
    gate.reached();
    assert_eq!(units("").await, (1, 1, 0));
    assert_eq!(units("?observer_id=maya&sender_id=maya").await, (1, 1, 0));
    gate.open();
    executor.await.unwrap();
    assert_eq!(units("").await, (0, 0, 0));
}

#[tokio::test]
async fn h39_observer_and_observed_are_enough() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    let (answered, body) = ask_for(&rig, json!({"observer": "maya", "observed": "maya"})).await;
    assert_eq!((answered, body), (StatusCode::NO_CONTENT, Value::Null));
    rig.settle().await;
    let run = &runs(&rig).await[0];
    assert_eq!(
        (&run["dream_type"], &run["status"]),
        (&json!("omni"), &json!("completed"))
    );
    assert_eq!(id(run).len(), 36);
}
