//! `/v3/workspaces/{w}/schedule_dream` and `…/dreams`

use std::time::Duration;

use serde_json::json;

use super::{play, text};

const MAYA: &str = "/w/dreams/status?observer=maya";

#[tokio::test]
async fn an_idle_dream_is_recorded_with_all_that_it_changed() {
    let said = play(async |tape| {
        let run = tape.dreamed().await;
        tape.get("/w/dreams").await;
        tape.get(&format!("/w/dreams/{run}")).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn a_dream_is_undone_and_both_are_recorded() {
    let said = play(async |tape| {
        let run = tape.dreamed().await;
        let undo = tape.post(&format!("/w/dreams/{run}/undo"), json!({})).await;
        // Twice is once.
        tape.call("POST", &format!("/w/dreams/{run}/undo"), None).await;
        tape.rig.settle().await;
        tape.call("POST", &format!("/w/dreams/{run}/undo"), None).await;
        tape.get(&format!("/w/dreams/{}", text(&undo["id"]))).await;
        tape.get(&format!("/w/dreams/{run}")).await;
        tape.get("/w/peers/maya/card").await;
        tape.post("/w/conclusions/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn listed_newest_first_by_observer_and_observed() {
    let said = play(async |tape| {
        let run = tape.dreamed().await;
        tape.tick();
        tape.post(&format!("/w/dreams/{run}/undo"), json!({})).await;
        tape.rig.settle().await;
        tape.silence();
        tape.get("/w/dreams?observer=maya&observed=maya&size=1").await;
        tape.get("/w/dreams?size=1&reverse=true").await;
        tape.get("/w/dreams?observer=nobody").await;
        tape.get("/w/dreams?observed=no%20body").await;
        tape.call("POST", "/w/dreams/list?page=2&size=1", None).await;
        tape.post("/w/dreams/list?size=1", json!({"observer": "maya", "observed": "maya"}))
            .await;
        tape.post(
            "/w/dreams/list?size=1",
            json!({"filters": {"observer_id": "maya", "observed_id": "bob"}}),
        )
        .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn one_that_is_asked_for_waits_and_runs_or_is_cancelled() {
    let said = play(async |tape| {
        tape.told().await;
        tape.post(
            "/w/schedule_dream",
            json!({"observer": "maya", "observed": "maya", "dream_type": "omni", "session_id": "s"}),
        )
        .await;
        tape.post("/w/schedule_dream", json!({"observer": "maya"})).await;
        tape.post(
            "/w/schedule_dream",
            json!({"observer": "maya", "dream_type": "card_refresh", "rebuild": true}),
        )
        .await;
        tape.get(MAYA).await;
        let runs = tape.get("/w/dreams").await;
        let id = |dream_type: &str| {
            let mut items = runs["items"].as_array().unwrap().iter();
            text(&items.find(|run| run["dream_type"] == dream_type).unwrap()["id"])
        };
        tape.call("POST", &format!("/w/dreams/{}/undo", id("omni")), None).await;
        tape.call("POST", &format!("/w/dreams/{}/cancel", id("card_refresh")), None)
            .await;
        tape.call("POST", &format!("/w/dreams/{}/cancel", id("card_refresh")), None)
            .await;
        tape.rig.settle().await;
        tape.get(&format!("/w/dreams/{}", id("card_refresh"))).await;
        tape.get(&format!("/w/dreams/{}", id("omni"))).await;
        tape.call("POST", &format!("/w/dreams/{}/cancel", id("omni")), None)
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn a_dry_run_shows_what_would_change_and_changes_nothing() {
    let said = play(async |tape| {
        tape.told().await;
        let run = tape
            .post("/w/schedule_dream", json!({"observer": "maya", "dry_run": true}))
            .await;
        tape.rig.settle().await;
        tape.get(&format!("/w/dreams/{}", text(&run["id"]))).await;
        tape.call("POST", &format!("/w/dreams/{}/undo", text(&run["id"])), None)
            .await;
        tape.post(
            "/w/conclusions/list?size=1",
            json!({"filters": {"level": ["deductive", "inductive"]}}),
        )
        .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn why_no_dream_comes_is_answered_at_every_stage() {
    let said = play(async |tape| {
        tape.post("/w/peers", json!({"id": "maya"})).await;
        tape.silence();
        tape.get(MAYA).await;
        tape.post(
            "/w/sessions/s/messages",
            json!({"messages": [{"peer_id": "maya", "content": "maya reads"}]}),
        )
        .await;
        tape.said.pop();
        tape.rig.settle().await;
        tape.get("/w/dreams/status?observer=maya&observed=maya").await;
        let messages: Vec<_> = crate::crash::MESSAGES
            .iter()
            .map(|text| json!({"peer_id": "maya", "content": text}))
            .collect();
        tape.post("/w/sessions/s/messages", json!({ "messages": messages }))
            .await;
        tape.said.pop();
        tape.rig.settle().await;
        tape.get(MAYA).await;
        tape.rig.pass(Duration::from_mins(30));
        tape.put("/w/sessions/s", json!({"configuration": {"dream": {"enabled": false}}}))
            .await;
        tape.get(MAYA).await;
        tape.put("/w/sessions/s", json!({"configuration": {"dream": {"enabled": true}}}))
            .await;
        tape.rig.advance(Duration::from_secs(1801)).await;
        tape.get(MAYA).await;
        let messages: Vec<_> = (0..6)
            .map(|n| json!({"peer_id": "maya", "content": format!("maya counts {n}")}))
            .collect();
        tape.post("/w/sessions/s/messages", json!({ "messages": messages }))
            .await;
        tape.said.pop();
        tape.rig.settle().await;
        tape.get(MAYA).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn where_dreams_are_disabled_none_can_be_asked_for() {
    let said = play(async |tape| {
        tape.told().await;
        tape.put("/w", json!({"configuration": {"dream": {"enabled": false}}}))
            .await;
        tape.silence();
        tape.post("/w/schedule_dream", json!({"observer": "maya"})).await;
        tape.put("/w", json!({"configuration": {"reasoning": {"enabled": false}}}))
            .await;
        tape.post("/w/schedule_dream", json!({"observer": "maya"})).await;
        tape.put("/w", json!({"configuration": {}})).await;
        tape.put("/w/sessions/s", json!({"configuration": {"dream": {"enabled": false}}}))
            .await;
        tape.post("/w/schedule_dream", json!({"observer": "maya", "session_id": "s"}))
            .await;
        tape.get("/w/dreams").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let said = play(async |tape| {
        let run = tape.dreamed().await;
        tape.post("/nowhere/schedule_dream", json!({"observer": "maya"})).await;
        tape.get("/nowhere/dreams").await;
        tape.post("/w/schedule_dream", json!({"observer": "nobody"})).await;
        tape.post("/w/schedule_dream", json!({"observer": "maya", "observed": "no body"}))
            .await;
        tape.post(
            "/w/schedule_dream",
            json!({"observer": "maya", "session_id": "nowhere"}),
        )
        .await;
        tape.get("/w/dreams/nothing").await;
        tape.post("/w/dreams/nothing/cancel", json!({})).await;
        tape.post("/w/dreams/nothing/undo", json!({})).await;
        tape.get("/w/dreams/status?observer=nobody").await;
        tape.get("/w/dreams/status?observer=maya&observed=nobody").await;
        tape.post("", json!({"id": "other"})).await;
        tape.get(&format!("/other/dreams/{run}")).await;
        tape.post(&format!("/other/dreams/{run}/undo"), json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.call("POST", "/w/schedule_dream", None).await;
        tape.post("/w/schedule_dream", json!({})).await;
        tape.post("/w/schedule_dream", json!({"observer": 1, "observed": [], "dream_type": "nap", "session_id": {}, "dry_run": "x", "rebuild": []})).await;
        tape.post("/w/schedule_dream", json!({"observer": "maya", "dream_type": "card_refresh", "dry_run": true})).await;
        tape.get("/w/dreams/status").await;
        tape.get("/w/dreams?page=0&size=0").await;
        tape.post("/w/dreams/list?size=x", json!({"filters": []})).await;
        tape.post("/w/dreams/list", json!({"observer": 7})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
