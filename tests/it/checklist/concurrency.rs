//! Many writers at once (`design.md` section 3, "Messages"): no message is lost, each batch is contiguous and in order.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{facts, list, quiet, say, texts};
use crate::rig::Rig;

const WRITERS: usize = 8;
const POSTS: usize = 20;
const EACH: usize = 3;

/// Posts until it is not told to try again, as the SDKs do; the answer.
async fn post(rig: &Rig, body: Value) -> Value {
    loop {
        let (status, answer) = rig
            .call("POST", "/v3/workspaces/w/sessions/s/messages", Some(body.clone()))
            .await;
        if status != StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!(status, StatusCode::CREATED, "{answer}");
            return answer;
        }
    }
}

async fn everything(rig: &Rig) -> Vec<Value> {
    let mut all = Vec::new();
    for page in 1.. {
        let answer = rig
            .post(
                &format!("/v3/workspaces/w/sessions/s/messages/list?size=100&page={page}"),
                json!({}),
            )
            .await;
        all.extend(list(&answer["items"]));
        if all.len() as u64 >= answer["total"].as_u64().unwrap() {
            return all;
        }
    }
    unreachable!()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_of_one_session_lose_nothing_and_mix_no_batch() {
    let rig = Arc::new(quiet().await);
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let rig = Arc::clone(&rig);
        writers.spawn(async move {
            for number in 0..POSTS {
                let messages: Vec<Value> = (0..EACH)
                    .map(|place| json!({"peer_id": format!("peer{writer}"), "content": format!("{writer}.{number}.{place}")}))
                    .collect();
                let answer = post(&rig, json!({ "messages": messages })).await;
                let echoed: Vec<&str> = answer.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
                assert_eq!(echoed.len(), EACH);
                assert!(echoed.iter().enumerate().all(|(place, text)| *text == format!("{writer}.{number}.{place}")));
            }
        });
    }
    writers.join_all().await;
    let all = everything(&rig).await;
    assert_eq!(all.len(), WRITERS * POSTS * EACH);
    let ids: BTreeSet<&str> = all.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len());
    let mut last = [None; WRITERS];
    for batch in all.chunks(EACH) {
        let text = |place: usize| batch[place]["content"].as_str().unwrap();
        let parts: Vec<usize> = text(0).split('.').map(|part| part.parse().unwrap()).collect();
        for place in 0..EACH {
            assert_eq!(
                text(place),
                format!("{}.{}.{place}", parts[0], parts[1]),
                "a batch is contiguous and in order"
            );
        }
        assert_eq!(
            parts[1],
            last[parts[0]].map_or(0, |last: usize| last + 1),
            "a writer's posts are in its order"
        );
        last[parts[0]] = Some(parts[1]);
    }
    // And ingest hears every one of them.
    rig.settle().await;
    for writer in 0..WRITERS {
        let peer = format!("peer{writer}");
        assert_eq!(rig.texts("w", &peer, &peer).await.len(), POSTS * EACH);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_first_messages_make_one_workspace_session_and_peer() {
    let rig = Arc::new(quiet().await);
    let mut writers = JoinSet::new();
    for number in 0..12 {
        let rig = Arc::clone(&rig);
        writers.spawn(async move {
            post(
                &rig,
                json!({"messages": [{"peer_id": "maya", "content": format!("maya {number}")}]}),
            )
            .await
        });
    }
    writers.join_all().await;
    for path in [
        "/v3/workspaces/list",
        "/v3/workspaces/w/sessions/list",
        "/v3/workspaces/w/peers/list",
    ] {
        assert_eq!(rig.post(path, json!({})).await["total"], 1, "{path}");
    }
    rig.settle().await;
    assert_eq!(texts(&rig).await.len(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_conclusions_of_one_representation_all_count() {
    let rig = Arc::new(quiet().await);
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    let mut writers = JoinSet::new();
    for number in 0..12 {
        let rig = Arc::clone(&rig);
        writers.spawn(async move {
            let body = json!({"conclusions": [{"content": format!("stated {number}"), "observer_id": "maya", "observed_id": "maya"}]});
            rig.call("POST", "/v3/workspaces/w/conclusions", Some(body)).await.0
        });
    }
    assert_eq!(writers.join_all().await, [StatusCode::CREATED; 12]);
    assert_eq!(texts(&rig).await.len(), 13);
    assert_eq!(super::status(&rig).await["new_conclusions"], 13);
}
