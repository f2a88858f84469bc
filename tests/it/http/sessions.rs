//! `/v3/workspaces/{w}/sessions`

use serde_json::{Map, Value, json};

use super::play;

#[tokio::test]
async fn created_with_peers_then_metadata_replaced_and_configuration_merged_by_section() {
    let said = play(async |tape| {
        let body = json!({"id": "s", "metadata": {"a": 1},
            "peers": {"maya": {"observe_others": true}, "bob": {}, "eve": null},
            "configuration": {"reasoning": {"enabled": true, "custom_instructions": "x"}, "dream": {"enabled": false}}});
        tape.post("/w/sessions", body).await;
        tape.tick();
        tape.post("/w/sessions", json!({"id": "s"})).await;
        tape.post("/w/sessions", json!({"id": "s", "metadata": {"b": 2}, "configuration": {"reasoning": {"enabled": false}},
            "peers": {"dan": {}, "maya": {"observe_others": false}}, "scopes": []})).await;
        tape.get("/w/sessions/s/peers").await;
        tape.get("/w/sessions/s/peers/maya/config").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn an_update_creates_and_merges() {
    let said = play(async |tape| {
        tape.put(
            "/w/sessions/s",
            json!({"metadata": {"a": 1}, "configuration": {"dream": {"enabled": false}}}),
        )
        .await;
        tape.put(
            "/w/sessions/s",
            json!({"configuration": {"summary": {"enabled": false}, "mine": 1}}),
        )
        .await;
        tape.put("/w/sessions/s", json!({"metadata": {}, "configuration": {}}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn listed_in_pages() {
    let said = play(async |tape| {
        for name in ["a", "b", "c"] {
            tape.post("/w/sessions", json!({ "id": name })).await;
        }
        tape.silence();
        tape.call("POST", "/w/sessions/list", None).await;
        tape.post("/w/sessions/list?size=2&page=2&reverse=true", json!({}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn members_are_added_set_and_removed() {
    let said = play(async |tape| {
        tape.post("/w/sessions/s/peers", json!({"maya": {"observe_me": false}, "bob": {}}))
            .await;
        tape.tick();
        // Who is in keeps the old settings.
        tape.post(
            "/w/sessions/s/peers",
            json!({"maya": {"observe_me": true}, "eve": {"observe_others": true}}),
        )
        .await;
        tape.get("/w/sessions/s/peers/maya/config").await;
        tape.call(
            "DELETE",
            "/w/sessions/s/peers",
            Some(json!(["maya", "nobody", "no name"])),
        )
        .await;
        tape.get("/w/sessions/s/peers?size=1&page=2").await;
        // Who comes back takes the new ones.
        tape.post("/w/sessions/s/peers", json!({"maya": {"observe_me": true}}))
            .await;
        tape.get("/w/sessions/s/peers/maya/config").await;
        tape.put(
            "/w/sessions/s/peers",
            json!({"dan": {}, "bob": {"observe_others": true}}),
        )
        .await;
        tape.get("/w/sessions/s/peers").await;
        tape.put("/w/sessions/s/peers", json!({})).await;
        tape.get("/w/sessions/s/peers").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn a_members_settings_are_read_and_replaced() {
    let said = play(async |tape| {
        tape.post(
            "/w/sessions",
            json!({"id": "s", "peers": {"maya": {"observe_me": false}}}),
        )
        .await;
        tape.put("/w/sessions/s/peers/maya/config", json!({"observe_others": "yes"}))
            .await;
        tape.get("/w/sessions/s/peers/maya/config").await;
        tape.put(
            "/w/sessions/s/peers/maya/config",
            json!({"observe_me": null, "observe_others": null}),
        )
        .await;
        tape.get("/w/sessions/s/peers/maya/config").await;
        tape.put("/w/sessions/s/peers/new/config", json!({"observe_me": true}))
            .await;
        tape.get("/w/sessions/s/peers/new/config").await;
        tape.get("/w/sessions/s/peers/nobody/config").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn an_eleventh_observer_is_one_too_many() {
    let observers = |count: usize| -> Map<String, Value> {
        (0..count)
            .map(|n| (format!("p{n:02}"), json!({"observe_others": true})))
            .collect()
    };
    let said = play(async |tape| {
        tape.post("/w/sessions", json!({"id": "full", "peers": observers(11)}))
            .await;
        tape.post("/w/sessions/list", json!({})).await;
        tape.post("/w/sessions", json!({"id": "full", "peers": observers(10)}))
            .await;
        tape.post("/w/sessions/full/peers", json!({"one-more": {"observe_others": true}}))
            .await;
        tape.put("/w/sessions/full/peers", json!(observers(11))).await;
        tape.put(
            "/w/sessions/full/peers/one-more/config",
            json!({"observe_others": true}),
        )
        .await;
        tape.post("/w/sessions/full/peers", json!({"quiet": {}})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.post(
            "/w/sessions",
            json!({"id": "no name", "metadata": 1, "peers": ["maya"], "scopes": ["a"]}),
        )
        .await;
        tape.post(
            "/w/sessions",
            json!({"id": "s", "peers": {"no name": {}, "maya": {"observe_me": 3, "observe_others": []}, "bob": 7}}),
        )
        .await;
        tape.post_large(
            "/w/sessions",
            json!({"id": "s", "scopes": vec!["more than is repeated"; 101]}),
        )
        .await;
        tape.put("/w/sessions/no%20name", json!({"configuration": {"dream": 1}}))
            .await;
        tape.post("/w/sessions/s/peers", json!(["maya"])).await;
        tape.call("PUT", "/w/sessions/s/peers", None).await;
        tape.call("DELETE", "/w/sessions/s/peers", Some(json!({"maya": {}})))
            .await;
        tape.call("DELETE", "/w/sessions/s/peers", Some(json!([1, "maya", null])))
            .await;
        tape.delete("/w/sessions/s/peers").await;
        tape.put("/w/sessions/s/peers/maya/config", json!({"observe_me": "perhaps"}))
            .await;
        tape.get("/w/sessions/s/peers?page=0&size=x").await;
        tape.post("/w/sessions/list?size=1000", json!({"filters": 1})).await;
        tape.post("/w/sessions/list", json!({"filters": {"is_active": "true"}}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn deleted_it_is_gone_at_once_and_its_name_is_free_when_all_of_it_is() {
    let said = play(async |tape| {
        tape.told().await;
        tape.delete("/w/sessions/other").await;
        tape.delete("/v/sessions/s").await;
        tape.delete("/w/sessions/s").await;
        tape.delete("/w/sessions/s").await;
        tape.post("/w/sessions", json!({"id": "s"})).await;
        tape.post(
            "/w/sessions/s/messages",
            json!({"messages": [{"peer_id": "maya", "content": "late"}]}),
        )
        .await;
        tape.post("/w/sessions/s/messages/list", json!({})).await;
        tape.get("/w/sessions/s/peers").await;
        tape.post("/w/sessions/list", json!({})).await;
        tape.post("/w/peers/maya/sessions", json!({})).await;
        tape.rig.settle().await;
        tape.post("/w/conclusions/list", json!({})).await;
        tape.tick();
        tape.post("/w/sessions", json!({"id": "s"})).await;
        tape.post("/w/sessions/s/messages/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
