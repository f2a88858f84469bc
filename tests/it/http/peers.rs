//! `/v3/workspaces/{w}/peers`

use serde_json::json;

use super::play;
use crate::rig::Rig;

#[tokio::test]
async fn created_with_their_workspace_then_replaced_by_what_is_given() {
    let said = play(async |tape| {
        tape.post(
            "/w/peers",
            json!({"id": "maya", "metadata": {"a": 1}, "configuration": {"observe_me": "false", "mine": {"x": 1}}}),
        )
        .await;
        tape.tick();
        tape.post("/w/peers", json!({"id": "maya"})).await;
        tape.post("/w/peers", json!({"id": "maya", "metadata": {"b": 2}})).await;
        tape.post("/w/peers", json!({"id": "maya", "configuration": {"observe_me": null}}))
            .await;
        tape.post("/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn an_update_creates_and_replaces() {
    let said = play(async |tape| {
        tape.put(
            "/w/peers/maya",
            json!({"metadata": {"a": 1}, "configuration": {"observe_me": true}}),
        )
        .await;
        tape.put("/w/peers/maya", json!({"metadata": {"b": 2}})).await;
        tape.put("/w/peers/maya", json!({"metadata": {}, "configuration": {}}))
            .await;
        tape.put("/w/peers/maya", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn listed_in_pages_and_by_kind() {
    let said = play(async |tape| {
        for name in ["a", "b", "c"] {
            tape.post("/w/peers", json!({ "id": name })).await;
        }
        tape.silence();
        tape.call("POST", "/w/peers/list", None).await;
        tape.post("/w/peers/list?size=1&page=2&reverse=true", json!({"kind": "all"}))
            .await;
        tape.post("/w/peers/list", json!({"kind": "scope"})).await;
        tape.post("/w/peers/list?page=7", json!({"kind": null})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn the_contracts_other_words_are_understood() {
    let rig = Rig::new().await;
    let peer = rig.post("/v3/workspaces/w/peers", json!({"name": "maya"})).await;
    assert_eq!(peer["id"], "maya");
    let session = json!({"name": "s", "peer_names": {"maya": {"observe_others": true}}});
    assert_eq!(rig.post("/v3/workspaces/w/sessions", session).await["id"], "s");
    let config = rig.get("/v3/workspaces/w/sessions/s/peers/maya/config").await;
    assert_eq!(config["observe_others"], true);
    let both = rig
        .post("/v3/workspaces/w/peers", json!({"id": "ben", "name": "bob"}))
        .await;
    assert_eq!(both["id"], "ben");
}

#[tokio::test]
async fn their_sessions_are_those_that_they_are_in() {
    let said = play(async |tape| {
        for name in ["s1", "s2", "s3"] {
            tape.post("/w/sessions", json!({"id": name, "peers": {"maya": {}}}))
                .await;
        }
        tape.post("/w/sessions", json!({"id": "other", "peers": {"bob": {}}}))
            .await;
        tape.call("DELETE", "/w/sessions/s2/peers", Some(json!(["maya"]))).await;
        tape.silence();
        tape.call("POST", "/w/peers/maya/sessions", None).await;
        tape.post("/w/peers/maya/sessions?size=1&reverse=true", json!({})).await;
        tape.post("/w/peers/nobody/sessions", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.post("/w/peers", json!({})).await;
        tape.post("/w/peers", json!({"id": "scope.reserved"})).await;
        tape.post(
            "/w/peers",
            json!({"id": "maya", "metadata": "x", "configuration": {"observe_me": "perhaps"}}),
        )
        .await;
        tape.post("/bad%20name/peers", json!({"id": "also bad"})).await;
        tape.put("/w/peers/bad%20name", json!({"configuration": []})).await;
        tape.raw("PUT", "/w/peers/maya", "").await;
        tape.post("/w/peers/list?size=0", json!({"kind": "ghost"})).await;
        tape.post("/w/peers", json!({"id": "maya"})).await;
        tape.post("/w/peers/list", json!({"filters": {"peer_id": "maya"}}))
            .await;
        tape.post("/w/peers/maya/sessions?page=-1", json!({"filters": "all"}))
            .await;
        tape.post("/w/peers/maya/sessions", json!({"filters": {"is_active": 1}}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
