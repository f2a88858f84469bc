//! `/v3/workspaces/{w}/peers/{p}/representation` and `…/context`

use serde_json::json;

use super::play;

#[tokio::test]
async fn what_is_known_of_a_peer_after_a_dream() {
    let said = play(async |tape| {
        tape.dreamed().await;
        tape.post("/w/peers/maya/representation", json!({})).await;
        tape.post("/w/peers/maya/representation", json!({"max_conclusions": 2})).await;
        tape.post("/w/peers/maya/representation", json!({"target": "maya", "include_most_frequent": true, "max_conclusions": 4})).await;
        let search = json!({"search_query": "violin", "search_top_k": 1, "search_max_distance": 0.9, "max_conclusions": 1});
        tape.post("/w/peers/maya/representation", search).await;
        // Inside a session only what was said there is recalled.
        tape.post("/w/peers/maya/representation", json!({"session_id": "s"})).await;
        for sessions in [json!(["s", "t"]), json!({"in": ["t"]}), json!([])] {
            tape.post("/w/peers/maya/representation", json!({"filters": {"session_id": sessions}}))
                .await;
        }
        tape.get("/w/peers/maya/context").await;
        tape.get("/w/peers/maya/context?max_conclusions=1&include_most_frequent=false&search_query=Intel&search_top_k=1&search_max_distance=1").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn of_whom_nothing_is_known_the_text_is_empty() {
    let said = play(async |tape| {
        tape.post("/w/peers/maya/representation", json!({})).await;
        tape.post("/w/peers", json!({"id": "maya"})).await;
        tape.post("/w/peers/maya/representation", json!({})).await;
        tape.post("/w/peers/nobody/representation", json!({})).await;
        tape.post("/w/peers/no%20body/representation", json!({})).await;
        tape.post("/w/peers/maya/representation", json!({"target": "nobody"}))
            .await;
        tape.post("/w/peers/maya/representation", json!({"session_id": "nowhere"}))
            .await;
        tape.get("/w/peers/maya/context").await;
        tape.get("/w/peers/nobody/context").await;
        tape.get("/w/peers/maya/context?target=nobody").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.post("/w/peers", json!({"id": "maya"})).await;
        let path = "/w/peers/maya/representation";
        tape.call("POST", path, None).await;
        tape.post(path, json!({"search_query": 1, "search_top_k": 101, "search_max_distance": -0.5, "include_most_frequent": "often",
            "max_conclusions": 0, "target": [], "session_id": 3, "scope": "a", "filters": 1})).await;
        tape.post(path, json!({"filters": {"level": "explicit"}})).await;
        tape.post(path, json!({"filters": {"session_id": "*"}})).await;
        tape.post(path, json!({"session_id": "s", "filters": {"session_id": ["t"]}}))
            .await;
        tape.get("/w/peers/maya/context?search_top_k=x&search_max_distance=2&max_conclusions=101&include_most_frequent=2").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
