//! Conclusions stated through the API, more than one transaction takes: a request with an `Idempotency-Key` that stops
//! half-way is completed by its retry, and each conclusion is there once.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::rig::steps::{facts, id, list, quiet, status, texts};
use crate::rig::{Fault, Rig};

const CONCLUSIONS: &str = "/v3/workspaces/w/conclusions";

async fn rig() -> Rig {
    let rig = quiet().await;
    for peer in ["maya", "bob"] {
        rig.post("/v3/workspaces/w/peers", json!({"id": peer})).await;
    }
    rig
}

/// Three units about maya, and one about bob between them.
fn seventy() -> Value {
    let about =
        |observed: &str, content: &String| json!({"content": content, "observer_id": "maya", "observed_id": observed});
    let mut all: Vec<Value> = facts(0..65).iter().map(|content| about("maya", content)).collect();
    let of_bob: Vec<Value> = facts(65..70).iter().map(|content| about("bob", content)).collect();
    all.splice(10..10, of_bob);
    json!({ "conclusions": all })
}

/// Everything is there, once, and the answer says what is there.
async fn assert_whole(rig: &Rig, answer: &Value, what: &str) {
    let contents: Vec<Value> = list(answer).iter().map(|found| found["content"].clone()).collect();
    let sent: Vec<Value> = list(&seventy()["conclusions"])
        .iter()
        .map(|sent| sent["content"].clone())
        .collect();
    assert_eq!(contents, sent, "{what}");
    assert_eq!(texts(rig).await, facts(0..65), "{what}");
    assert_eq!(rig.texts("w", "maya", "bob").await, facts(65..70), "{what}");
    let mut stored = rig.conclusions("w", "maya", "maya").await;
    stored.extend(rig.conclusions("w", "maya", "bob").await);
    let mut ids: (Vec<String>, Vec<String>) = (stored.iter().map(id).collect(), list(answer).iter().map(id).collect());
    ids.0.sort();
    ids.1.sort();
    assert_eq!(ids.0, ids.1, "{what}");
    assert_eq!(status(rig).await["new_conclusions"], 65, "{what}");
}

#[tokio::test]
async fn a_request_with_a_key_that_stops_anywhere_is_completed_by_its_retry() {
    let whole = rig().await;
    whole.faults.replan(|_, _| Fault::None);
    let (_, answer) = whole.keyed(CONCLUSIONS, "k", &seventy()).await;
    let calls = whole.faults.calls();
    assert_whole(&whole, &answer, "undisturbed").await;
    assert_eq!(
        calls.iter().filter(|call| *call == "TransactWriteItems").count(),
        6,
        "{calls:?}"
    );
    for (call, name) in calls
        .iter()
        .enumerate()
        .filter(|(_, name)| *name == "TransactWriteItems")
    {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::Fail, Fault::Lose] {
            let what = format!("{fault:?} at call {call}, {name}");
            let rig = rig().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            let (first, _) = rig.keyed(CONCLUSIONS, "k", &seventy()).await;
            assert!(first.is_server_error(), "{what}: {first}");
            let died = rig.faults.is_dead();
            let rig = if died { rig.restart().await } else { rig };
            rig.faults.replan(|_, _| Fault::None);
            let (again, answer) = rig.keyed(CONCLUSIONS, "k", &seventy()).await;
            assert_eq!(again, StatusCode::CREATED, "{what}: {answer}");
            assert_whole(&rig, &answer, &what).await;
            let (_, third) = rig.keyed(CONCLUSIONS, "k", &seventy()).await;
            assert_eq!(third, answer, "{what}");
        }
    }
}

#[tokio::test]
async fn the_same_request_again_brings_nothing_back_that_was_deleted() {
    let rig = rig().await;
    let (_, answer) = rig.keyed(CONCLUSIONS, "k", &seventy()).await;
    let gone = id(&answer[0]);
    rig.ok("DELETE", &format!("{CONCLUSIONS}/{gone}"), None).await;
    let (again, same) = rig.keyed(CONCLUSIONS, "k", &seventy()).await;
    assert_eq!((again, same), (StatusCode::CREATED, answer));
    assert_eq!(texts(&rig).await, facts(1..65));
    let other = json!({"conclusions": [{"content": "x", "observer_id": "maya", "observed_id": "maya"}]});
    assert_eq!(
        rig.keyed(CONCLUSIONS, "k", &other).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    // Without a key, and with another one, it is another request.
    rig.keyed(CONCLUSIONS, "k2", &other).await;
    rig.post(CONCLUSIONS, other).await;
    assert_eq!(texts(&rig).await.len(), 66);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_requests_with_one_key_state_everything_once() {
    let rig = Arc::new(rig().await);
    let mut clients = JoinSet::new();
    for _ in 0..6 {
        let rig = Arc::clone(&rig);
        clients.spawn(async move { rig.keyed(CONCLUSIONS, "k", &seventy()).await });
    }
    let answers = clients.join_all().await;
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].0, StatusCode::CREATED);
    assert_whole(&rig, &answers[0].1, "six at once").await;
}

#[tokio::test]
async fn without_a_key_what_was_stored_before_a_failure_stays() {
    let rig = rig().await;
    let mut transactions = 0;
    rig.faults.replan(move |_, name| {
        transactions += usize::from(name == "TransactWriteItems");
        if transactions == 3 { Fault::Fail } else { Fault::None }
    });
    assert!(rig.call("POST", CONCLUSIONS, Some(seventy())).await.0.is_server_error());
    rig.faults.replan(|_, _| Fault::None);
    // Whole units, never half of one.
    assert_eq!(texts(&rig).await, facts(0..30));
}
