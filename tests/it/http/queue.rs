//! `/v3/workspaces/{w}/queue/status`

use serde_json::json;

use super::play;

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
