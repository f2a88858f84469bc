//! `Idempotency-Key` on POST of messages and on `schedule_dream`.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{MESSAGES, said, texts, total};
use crate::rig::{Fault, Faults, Rig, Scripted, config};

const DREAM: &str = "/v3/workspaces/w/schedule_dream";

async fn rig() -> Rig {
    Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await
}

async fn dreams(rig: &Rig) -> usize {
    let dreams = rig.get("/v3/workspaces/w/dreams").await;
    usize::try_from(dreams["total"].as_u64().unwrap()).unwrap()
}

#[tokio::test]
async fn the_same_post_again_has_the_same_answer_and_no_effect() {
    let rig = rig().await;
    let mut body = said(&["maya works at Intel", "maya lives in Porto"]);
    body["messages"][0]["metadata"] = json!({"mood": "good"});
    let (status, first) = rig.keyed(MESSAGES, "k1", &body).await;
    assert_eq!(status, StatusCode::CREATED);
    rig.settle().await;
    let before = rig.conclusions("w", "maya", "maya").await;
    rig.pass(Duration::from_mins(5));
    // What has become of it since does not change what was answered.
    let id = first[0]["id"].as_str().unwrap();
    let edit = json!({"metadata": {"mood": "bad"}});
    rig.ok("PUT", &format!("{MESSAGES}/{id}"), Some(edit)).await;
    // The order of keys and white space are not the body.
    let text = body.to_string().replace(':', " : ");
    let request = Request::post(MESSAGES).header("idempotency-key", "k1");
    let again = rig.send(request.body(text.into()).unwrap()).await;
    assert_eq!(again, (StatusCode::CREATED, first));
    rig.settle().await;
    assert_eq!(total(&rig).await, 2);
    assert_eq!(rig.conclusions("w", "maya", "maya").await, before, "times_derived too");
    // Another key, another session and no key at all are other requests.
    assert_eq!(rig.keyed(MESSAGES, "k2", &body).await.0, StatusCode::CREATED);
    let elsewhere = MESSAGES.replace("/s/", "/t/");
    assert_eq!(rig.keyed(&elsewhere, "k1", &body).await.0, StatusCode::CREATED);
    rig.post(MESSAGES, body).await;
    assert_eq!(total(&rig).await, 6);
}

#[tokio::test]
async fn another_body_under_the_same_key_is_refused() {
    let rig = rig().await;
    assert_eq!(rig.keyed(MESSAGES, "k", &said(&["one"])).await.0, StatusCode::CREATED);
    let (status, answer) = rig.keyed(MESSAGES, "k", &said(&["two"])).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        answer["detail"].as_str().unwrap().contains("Idempotency-Key"),
        "{answer}"
    );
    assert_eq!(total(&rig).await, 1);
    assert_eq!(
        rig.keyed(DREAM, "d", &json!({"observer": "maya"})).await.0,
        StatusCode::NO_CONTENT
    );
    let other = json!({"observer": "maya", "dry_run": true});
    assert_eq!(rig.keyed(DREAM, "d", &other).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(dreams(&rig).await, 1);
}

#[tokio::test]
async fn what_was_refused_uses_up_no_key() {
    let rig = rig().await;
    let (status, _) = rig.keyed(MESSAGES, "k", &json!({"messages": []})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(rig.keyed(MESSAGES, "k", &said(&["one"])).await.0, StatusCode::CREATED);
    assert_eq!(
        rig.keyed(DREAM, "d", &json!({"observer": "bob"})).await.0,
        StatusCode::NOT_FOUND
    );
    let off = json!({"configuration": {"dream": {"enabled": false}}});
    rig.ok("PUT", "/v3/workspaces/w", Some(off)).await;
    let body = json!({"observer": "maya"});
    assert_eq!(rig.keyed(DREAM, "d", &body).await.0, StatusCode::BAD_REQUEST);
    rig.ok("PUT", "/v3/workspaces/w", Some(json!({"configuration": {}})))
        .await;
    assert_eq!(rig.keyed(DREAM, "d", &body).await.0, StatusCode::NO_CONTENT);
    assert_eq!(dreams(&rig).await, 1);
}

#[tokio::test]
async fn a_key_has_1_to_255_visible_characters_and_comes_once() {
    let rig = rig().await;
    let long = "k".repeat(256);
    for (keys, expected) in [
        (vec![&long.as_bytes()[..255]], 201),
        (vec![long.as_bytes()], 422),
        (vec![b"~!\"{}\\"], 201),
        (vec![b""], 422),
        (vec![b"two words"], 422),
        (vec!["schlüssel".as_bytes()], 422),
        (vec![b"a", b"a"], 422),
    ] {
        let mut request = Request::post(MESSAGES);
        for key in &keys {
            request = request.header("Idempotency-Key", *key);
        }
        let request = request.body(said(&["hello"]).to_string().into()).unwrap();
        let (status, answer) = rig.send(request).await;
        assert_eq!(status.as_u16(), expected, "{keys:?} {answer}");
        if expected == 422 {
            assert_eq!(answer["detail"][0]["loc"], json!(["header", "idempotency-key"]));
        }
    }
    let long = rig.keyed(DREAM, &long, &json!({"observer": "maya"})).await;
    assert_eq!(long.0, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day_whether_its_record_is_gone_or_not() {
    let rig = rig().await;
    for expected in 1..=3 {
        let (status, first) = rig.keyed(MESSAGES, "k", &said(&["hello"])).await;
        assert_eq!(status, StatusCode::CREATED);
        rig.pass(Duration::from_hours(24) - Duration::from_secs(1));
        assert_eq!(rig.keyed(MESSAGES, "k", &said(&["hello"])).await.1, first);
        assert_eq!(total(&rig).await, expected);
        rig.pass(Duration::from_secs(1));
    }
    // Another request may have it then.
    let (status, _) = rig.keyed(MESSAGES, "k", &said(&["something else"])).await;
    assert_eq!(status, StatusCode::CREATED);
    let records: Vec<Value> = rig
        .items()
        .await
        .into_iter()
        .filter(|item| item["type"] == "request")
        .collect();
    assert_eq!(records.len(), 1);
    let ttl = records[0]["ttl"].as_i64().unwrap() - rig.now().seconds();
    assert!((86_400..86_410).contains(&ttl), "{ttl}");
}

#[tokio::test]
async fn the_record_of_a_request_holds_no_text() {
    let rig = rig().await;
    rig.keyed(MESSAGES, "secret-key", &said(&["maya has a secret"])).await;
    rig.keyed(DREAM, "secret-key", &json!({"observer": "maya"})).await;
    let records: Vec<Value> = rig
        .items()
        .await
        .into_iter()
        .filter(|item| item["type"] == "request")
        .collect();
    assert_eq!(records.len(), 2);
    for record in records {
        let text = record.to_string();
        assert!(!text.contains("secret") && !text.contains("maya"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_requests_with_one_key_have_one_effect_and_one_answer() {
    for round in 0..5 {
        let rig = Arc::new(rig().await);
        if round % 2 == 0 {
            rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": {"maya": {}}}))
                .await;
        }
        let mut clients = JoinSet::new();
        for _ in 0..20 {
            let rig = Arc::clone(&rig);
            clients.spawn(async move { rig.keyed(MESSAGES, "k", &said(&["one", "two"])).await });
        }
        let answers = clients.join_all().await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        assert_eq!(answers[0].0, StatusCode::CREATED, "{answers:?}");
        assert_eq!(total(&rig).await, 2);
        let mut clients = JoinSet::new();
        for _ in 0..20 {
            let rig = Arc::clone(&rig);
            let body = json!({"observer": "maya", "dry_run": true});
            clients.spawn(async move { rig.keyed(DREAM, "k", &body).await });
        }
        let answers = clients.join_all().await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        assert_eq!(answers[0].0, StatusCode::ACCEPTED, "{answers:?}");
        assert_eq!(dreams(&rig).await, 1);
    }
}

#[tokio::test]
async fn a_post_that_dies_at_any_call_and_comes_again_is_done_once() {
    let body = said(&["maya works at Intel", "maya lives in Porto"]);
    for known in [false, true] {
        for call in 0.. {
            let mut ended = false;
            for fault in [Fault::DieBefore, Fault::DieAfter, Fault::Lose] {
                let rig = rig().await;
                if known {
                    rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": {"maya": {}}}))
                        .await;
                }
                rig.faults
                    .replan(move |number, _| if number == call { fault } else { Fault::None });
                let (status, _) = rig.keyed(MESSAGES, "k", &body).await;
                ended = rig.faults.calls().len() <= call;
                let rig = if fault == Fault::Lose { rig } else { rig.restart().await };
                rig.faults.replan(|_, _| Fault::None);
                let (again, answer) = rig.keyed(MESSAGES, "k", &body).await;
                assert_eq!(
                    again,
                    StatusCode::CREATED,
                    "{fault:?} at {call}, first {status}: {answer}"
                );
                assert_eq!(answer.as_array().unwrap().len(), 2);
                assert_eq!(total(&rig).await, 2, "{fault:?} at call {call}, known {known}");
                rig.settle().await;
                assert_eq!(texts(&rig).await.len(), 2, "the wake-up is sent by whoever answers");
            }
            if ended {
                assert!(call > 2);
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_dream_that_was_asked_for_under_a_key_is_not_asked_for_again() {
    let rig = rig().await;
    rig.post(MESSAGES, said(&["maya works at Intel"])).await;
    rig.settle().await;
    let body = json!({"observer": "maya"});
    assert_eq!(rig.keyed(DREAM, "one", &body).await.0, StatusCode::NO_CONTENT);
    // Answered by the run that is pending already: remembered as well.
    assert_eq!(rig.keyed(DREAM, "two", &body).await.0, StatusCode::NO_CONTENT);
    rig.settle().await;
    assert_eq!(dreams(&rig).await, 1);
    for key in ["one", "two"] {
        assert_eq!(rig.keyed(DREAM, key, &body).await.0, StatusCode::NO_CONTENT);
        rig.settle().await;
        assert_eq!(dreams(&rig).await, 1, "{key}");
    }
    assert_eq!(rig.keyed(DREAM, "three", &body).await.0, StatusCode::NO_CONTENT);
    rig.settle().await;
    assert_eq!(dreams(&rig).await, 2);
    // A dry run: the same id again.
    let dry = json!({"observer": "maya", "dry_run": true});
    let (status, first) = rig.keyed(DREAM, "dry", &dry).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    rig.settle().await;
    assert_eq!(rig.keyed(DREAM, "dry", &dry).await, (StatusCode::ACCEPTED, first));
    rig.settle().await;
    assert_eq!(dreams(&rig).await, 3);
}

#[tokio::test]
async fn a_dream_request_that_dies_at_any_call_and_comes_again_is_done_once() {
    let body = json!({"observer": "maya", "dry_run": true});
    for call in 0.. {
        let mut ended = false;
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::Lose] {
            let rig = rig().await;
            rig.post(MESSAGES, said(&["maya works at Intel"])).await;
            rig.settle().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            rig.keyed(DREAM, "k", &body).await;
            ended = rig.faults.calls().len() <= call;
            let rig = if fault == Fault::Lose { rig } else { rig.restart().await };
            rig.faults.replan(|_, _| Fault::None);
            let (status, answer) = rig.keyed(DREAM, "k", &body).await;
            assert_eq!(status, StatusCode::ACCEPTED, "{fault:?} at {call}: {answer}");
            assert_eq!(dreams(&rig).await, 1, "{fault:?} at {call}");
            let path = format!("/v3/workspaces/w/dreams/{}", answer["id"].as_str().unwrap());
            assert_eq!(rig.get(&path).await["dry_run"], true);
        }
        if ended {
            assert!(call > 5);
            return;
        }
    }
}

#[tokio::test]
async fn a_key_costs_no_call_more() {
    let rig = rig().await;
    rig.post(MESSAGES, said(&["one"])).await;
    rig.post(MESSAGES, said(&["two"])).await;
    rig.faults.replan(|_, _| Fault::None);
    rig.keyed(MESSAGES, "k", &said(&["three"])).await;
    assert_eq!(
        rig.faults.calls(),
        ["BatchGetItem", "TransactWriteItems", "SendMessage"]
    );
}
