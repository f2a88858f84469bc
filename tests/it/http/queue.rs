//! `/v3/workspaces/{w}/queue/status`

use serde_json::json;

use super::{play, text};

#[tokio::test]
async fn what_waits_is_counted_by_session_until_it_is_done() {
    let said = play(async |tape| {
        tape.post("", json!({"id": "w"})).await;
        tape.silence();
        tape.get("/w/queue/status").await;
        for session in ["s", "t"] {
            let messages =
                json!([{"peer_id": "maya", "content": "I work at Intel."}, {"peer_id": "bob", "content": "Nice."}]);
            tape.post(
                &format!("/w/sessions/{session}/messages"),
                json!({ "messages": messages }),
            )
            .await;
            tape.said.pop();
        }
        tape.get("/w/queue/status").await;
        tape.get("/w/queue/status?session_id=s").await;
        tape.get("/w/queue/status?sender_id=bob").await;
        tape.get("/w/queue/status?observer_id=maya&sender_id=maya").await;
        tape.get("/w/queue/status?observer_id=nobody").await;
        tape.get("/w/queue/status?session_id=no%20where").await;
        tape.rig.settle().await;
        tape.get("/w/queue/status").await;
        tape.post("/w/schedule_dream", json!({"observer": "maya"})).await;
        tape.get("/w/queue/status").await;
        tape.get("/nowhere/queue/status").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn messages_that_could_not_be_derived_from_are_listed_and_tried_again() {
    let said = play(async |tape| {
        tape.post("", json!({"id": "w"})).await;
        tape.get("/w/queue/failed").await;
        for session in ["s", "t"] {
            let messages = json!([{"peer_id": "maya", "content": "I work at Intel."},
                {"peer_id": "maya", "content": "illegible"}]);
            tape.post(
                &format!("/w/sessions/{session}/messages"),
                json!({ "messages": messages }),
            )
            .await;
        }
        tape.rig.settle().await;
        tape.silence();
        tape.get("/w/queue/status").await;
        let failed = tape.get("/w/queue/failed").await;
        tape.get("/w/queue/failed?session_id=t&size=1").await;
        tape.get("/w/queue/failed?session_id=no%20where").await;
        tape.get("/w/queue/failed?session_id=nowhere").await;
        tape.get("/w/queue/failed?page=0").await;
        tape.get("/nowhere/queue/failed").await;
        tape.tick();
        let id = text(&failed["items"][0]["message_id"]);
        let session = text(&failed["items"][0]["session_id"]);
        tape.call("POST", &format!("/w/sessions/{session}/messages/{id}/retry"), None)
            .await;
        tape.get(&format!("/w/queue/failed?session_id={session}")).await;
        tape.rig.settle().await;
        tape.get(&format!("/w/queue/failed?session_id={session}")).await;
        let all = tape
            .post(&format!("/w/sessions/{session}/messages/list"), json!({}))
            .await;
        let id = text(&all["items"][0]["id"]);
        tape.said.pop();
        tape.call("POST", &format!("/w/sessions/{session}/messages/{id}/retry"), None)
            .await;
        tape.call("POST", &format!("/w/sessions/{session}/messages/nobody/retry"), None)
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
