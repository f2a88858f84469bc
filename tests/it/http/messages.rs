//! `/v3/workspaces/{w}/sessions/{s}/messages`

use serde_json::{Value, json};

use super::{play, text};

#[tokio::test]
async fn posted_in_order_with_everything_that_they_need() {
    let said = play(async |tape| {
        let messages = json!([
            {"peer_id": "maya", "content": "I work at Intel.", "metadata": {"mood": "good", "n": 1.5},
                "created_at": "2023-05-08T13:56:00+02:00", "configuration": {"reasoning": {"enabled": false}}},
            {"peer_id": "helper", "content": "", "created_at": null},
            {"peer_id": "maya", "content": "hi", "created_at": 1_700_000_000.25},
        ]);
        tape.post("/w/sessions/s/messages", json!({ "messages": messages }))
            .await;
        tape.post(
            "/w/sessions/s/messages/",
            json!({"messages": [{"peer_id": "maya", "content": "with a slash"}]}),
        )
        .await;
        tape.post("/w/peers/list", json!({})).await;
        tape.get("/w/sessions/s/peers").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn listed_in_pages_forwards_and_backwards() {
    let said = play(async |tape| {
        for n in 0..2 {
            let messages: Vec<Value> = (0..3)
                .map(|m| json!({"peer_id": "maya", "content": format!("{n}.{m}")}))
                .collect();
            tape.post("/w/sessions/s/messages", json!({ "messages": messages }))
                .await;
        }
        tape.silence();
        tape.post("/w/sessions/s/messages/list?size=2&page=2", json!({})).await;
        tape.post(
            "/w/sessions/s/messages/list?size=4&reverse=true",
            json!({"filters": null}),
        )
        .await;
        tape.call("POST", "/w/sessions/s/messages/list?page=99999999999999999999", None)
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn one_is_read_and_its_metadata_replaced() {
    let said = play(async |tape| {
        let messages =
            json!([{"peer_id": "maya", "content": "one", "metadata": {"a": 1}}, {"peer_id": "maya", "content": "two"}]);
        let posted = tape
            .post("/w/sessions/s/messages", json!({ "messages": messages }))
            .await;
        let path = format!("/w/sessions/s/messages/{}", text(&posted[0]["id"]));
        tape.silence();
        tape.get(&path).await;
        tape.put(&path, json!({"metadata": {"b": 2}})).await;
        tape.put(&path, json!({})).await;
        tape.put(&path, json!({"metadata": {}, "content": "cannot be changed"}))
            .await;
        tape.post("/w/sessions/s/messages/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let said = play(async |tape| {
        let posted = tape
            .post(
                "/w/sessions/s/messages",
                json!({"messages": [{"peer_id": "maya", "content": "one"}]}),
            )
            .await;
        tape.post("/w/sessions", json!({"id": "t"})).await;
        let id = text(&posted[0]["id"]);
        tape.silence();
        tape.get("/w/sessions/s/messages/nothing").await;
        tape.get(&format!("/w/sessions/t/messages/{id}")).await;
        tape.get(&format!("/w/sessions/nowhere/messages/{id}")).await;
        tape.get(&format!("/nowhere/sessions/s/messages/{id}")).await;
        tape.put("/w/sessions/s/messages/nothing", json!({"metadata": {}}))
            .await;
        tape.post("/w/sessions/nowhere/messages/list", json!({})).await;
        tape.post("/w/sessions/t/messages/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        let path = "/w/sessions/s/messages";
        tape.post(path, json!({})).await;
        tape.post(path, json!({"messages": []})).await;
        tape.post_large(path, json!({"messages": vec!["more than is repeated"; 101]}))
            .await;
        tape.post(path, json!({"messages": {"peer_id": "maya", "content": "x"}}))
            .await;
        for message in [
            json!({}),
            json!("text"),
            json!(null),
            json!({"peer_id": "no name", "content": 7, "metadata": [], "created_at": "now",
                "configuration": {"reasoning": {"enabled": "perhaps"}}}),
        ] {
            tape.post(
                path,
                json!({"messages": [{"peer_id": "maya", "content": "x"}, message]}),
            )
            .await;
        }
        tape.post_large(
            path,
            json!({"messages": [{"peer_id": "maya", "content": "x".repeat(25_001)}]}),
        )
        .await;
        tape.post(
            "/no%20name/sessions/no%20name/messages",
            json!({"messages": [{"peer_id": "", "content": "x"}]}),
        )
        .await;
        tape.post("/w/sessions/s/messages/list?page=x&size=-1", json!({})).await;
        tape.post(
            "/w/sessions/s/messages",
            json!({"messages": [{"peer_id": "maya", "content": "x"}]}),
        )
        .await;
        tape.post("/w/sessions/s/messages/list", json!({"filters": {"content": "x"}}))
            .await;
        tape.put("/w/sessions/s/messages/x", json!({"metadata": 1})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn posted_once_under_a_key_of_the_clients() {
    let said = play(async |tape| {
        let body = json!({"messages": [{"peer_id": "maya", "content": "hi"}]});
        for _ in 0..2 {
            tape.keyed("/w/sessions/s/messages", "a", body.clone()).await;
            tape.tick();
        }
        let other = json!({"messages": [{"peer_id": "maya", "content": "hello"}]});
        tape.keyed("/w/sessions/s/messages", "a", other.clone()).await;
        tape.keyed("/w/sessions/s/messages", "a key", other).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
