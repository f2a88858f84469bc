//! `/v3/workspaces`

use serde_json::json;

use super::play;

#[tokio::test]
async fn created_once_then_given_back_unchanged() {
    let said = play(async |tape| {
        let body = json!({"id": "w", "metadata": {"team": "a", "deep": [1, {"x": null}]},
            "configuration": {"dream": {"enabled": false}, "reasoning": {"enabled": null}}});
        tape.post("", body).await;
        tape.tick();
        tape.post("", json!({"id": "w", "metadata": {"team": "b"}, "configuration": {}}))
            .await;
        tape.post("", json!({"id": "w"})).await;
        tape.post("", json!({"name": "by-its-alias"})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn listed_in_pages_with_or_without_a_body() {
    let said = play(async |tape| {
        for name in ["a", "b", "c"] {
            tape.post("", json!({ "id": name })).await;
            tape.tick();
        }
        tape.silence();
        tape.call("POST", "/list", None).await;
        tape.post("/list?size=2&page=2", json!({})).await;
        tape.post("/list?size=2&reverse=true", json!({"filters": null})).await;
        tape.post("/list?page=9", json!({"filters": {}})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn an_update_replaces_an_empty_object_clears_and_null_leaves() {
    let said = play(async |tape| {
        tape.put("/w", json!({"metadata": {"a": 1}, "configuration": {"dream": {"enabled": false}, "custom_instructions": "be kind"}})).await;
        tape.put("/w", json!({"configuration": {"summary": {"messages_per_short_summary": 10, "messages_per_long_summary": 30}}})).await;
        tape.put("/w", json!({"metadata": {"b": 2}, "configuration": null})).await;
        tape.put("/w", json!({})).await;
        tape.put("/w", json!({"configuration": {}})).await;
        tape.put("/w", json!({"metadata": {}})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn unknown_settings_are_kept_but_not_shown_in_sections_that_sdks_know() {
    let said = play(async |tape| {
        let configuration = json!({"reasoning": {"enabled": "no", "mine": 1}, "dream": {"custom_instructions": ""},
            "peer_card": {"use": false, "create": true}, "dialectic": {"custom_instructions": "short"},
            "mine": {"anything": [1, 2]}});
        tape.put("/w", json!({ "configuration": configuration })).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.post("", json!({})).await;
        tape.post("", json!({"id": "bad id!"})).await;
        tape.post("", json!({"id": ""})).await;
        tape.post("", json!({"id": "a".repeat(513)})).await;
        tape.post("", json!({"id": 7})).await;
        tape.post("", json!({"id": null})).await;
        tape.post("", json!(["w"])).await;
        tape.call("POST", "", None).await;
        tape.raw("POST", "", "{\"id\": nope}").await;
        tape.post("", json!({"id": "é", "metadata": [], "configuration": 3})).await;
        let configuration = json!({"reasoning": {"enabled": "perhaps", "custom_instructions": 3}, "peer_card": {"use": []},
            "summary": {"messages_per_short_summary": 9, "messages_per_long_summary": "many"},
            "dream": {"enabled": {}}, "custom_instructions": []});
        tape.put("/w", json!({ "configuration": configuration })).await;
        let summary = json!({"messages_per_short_summary": 20, "messages_per_long_summary": 20});
        tape.put("/w", json!({"configuration": {"summary": summary}})).await;
        tape.put("/no%20name", json!({"metadata": 1})).await;
        tape.post("/list?page=0&size=101&reverse=maybe", json!({"filters": []})).await;
        tape.post("/list?page=one&size=1.5", json!({})).await;
        tape.post("/list", json!({"filters": {"metadata": {"a": {"gt": []}}}})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn deleted_when_no_session_is_active_and_its_name_is_free_at_once() {
    let said = play(async |tape| {
        tape.delete("/w").await;
        tape.post("", json!({"id": "w", "metadata": {"team": "a"}})).await;
        tape.post("/w/sessions", json!({"id": "s"})).await;
        tape.delete("/w").await;
        tape.delete("/w/sessions/s").await;
        tape.delete("/w").await;
        tape.delete("/w").await;
        tape.post("/list", json!({})).await;
        tape.post("/w/peers/list", json!({})).await;
        tape.tick();
        tape.post("", json!({"id": "w"})).await;
        tape.post("/w/sessions/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
