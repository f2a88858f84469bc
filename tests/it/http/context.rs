//! `/v3/workspaces/{w}/sessions/{s}/summaries` and `…/context`

use reverie_core::config::Config;
use serde_json::{Value, json};

use super::play;
use crate::rig::{Faults, Rig, Scripted, config};

/// Messages of maya and tom in turn, numbered.
fn talk(numbers: std::ops::RangeInclusive<u32>) -> Value {
    let message = |number: u32| {
        let peer = if number.is_multiple_of(2) { "tom" } else { "maya" };
        json!({"peer_id": peer, "content": format!("I have {number} cats.")})
    };
    json!({"messages": numbers.map(message).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_session_has_its_summaries_and_a_context_of_these_and_the_newest_messages() {
    let said = play(async |tape| {
        let every = json!({"messages_per_short_summary": 10, "messages_per_long_summary": 20});
        tape.post("/w/sessions", json!({"id": "s", "configuration": {"summary": every}}))
            .await;
        tape.get("/w/sessions/s/summaries").await;
        tape.get("/w/sessions/s/context").await;
        tape.post("/w/sessions/s/messages", talk(1..=22)).await;
        tape.rig.settle().await;
        tape.get("/w/sessions/s/summaries").await;
        tape.get("/w/sessions/s/context?tokens=30").await;
        tape.get("/w/sessions/s/context?tokens=30&summary=false").await;
        tape.get("/w/sessions/s/context?tokens=400&peer_target=maya").await;
        tape.get("/w/sessions/s/context?tokens=0&peer_target=maya").await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn a_context_shows_a_peer_as_another_or_itself_knows_it() {
    let said = play(async |tape| {
        tape.dreamed().await;
        let tokens = "tokens=120&summary=false";
        tape.get(&format!("/w/sessions/s/context?{tokens}&peer_target=maya"))
            .await;
        tape.get(&format!("/w/sessions/s/context?{tokens}&peer_target=maya&peer_perspective=maya&search_query=violin&search_top_k=1&max_conclusions=1"))
            .await;
        // Inside the session: what was said there, and no card.
        tape.get(&format!("/w/sessions/s/context?{tokens}&peer_target=maya&limit_to_session=true"))
            .await;
        tape.get(&format!("/w/sessions/s/context?{tokens}&peer_target=nobody")).await;
        tape.get(&format!("/w/sessions/s/context?{tokens}&peer_target=no%20body&peer_perspective=maya"))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.post("/w/sessions", json!({"id": "s"})).await;
        tape.get("/w/sessions/nowhere/context").await;
        tape.get("/w/sessions/nowhere/summaries").await;
        tape.get("/nowhere/sessions/s/summaries").await;
        tape.get("/w/sessions/s/context?tokens=100001").await;
        tape.get("/w/sessions/s/context?tokens=-1&summary=perhaps&limit_to_session=3&peer_perspective=maya&scope=a&sessions=s&search_top_k=0")
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

/// Ids of the messages in an answer.
fn ids(answer: &Value) -> Vec<String> {
    let messages = answer["messages"].as_array().unwrap();
    messages.iter().map(|message| message["id"].to_string()).collect()
}

#[tokio::test]
async fn a_context_keeps_to_every_budget_and_takes_as_many_messages_as_fit() {
    let config = Config {
        short_summary_tokens: 100,
        long_summary_tokens: 200,
        ..config()
    };
    let rig = Rig::with(config, std::sync::Arc::new(Scripted::idle()), Faults::none()).await;
    for from in [1, 101, 201] {
        rig.post("/v3/workspaces/w/sessions/s/messages", talk(from..=from + 99))
            .await;
    }
    rig.settle().await;
    let all = rig.get("/v3/workspaces/w/sessions/s/context").await;
    assert_eq!(
        (ids(&all).len(), &all["summary"]["summary_type"]),
        (300, &json!("long"))
    );
    for tokens in [0, 1, 50, 249, 250, 400, 499, 500, 1000, 5000] {
        let answer = rig
            .get(&format!("/v3/workspaces/w/sessions/s/context?tokens={tokens}"))
            .await;
        let summary = answer["summary"]["token_count"].as_u64().unwrap_or(0);
        let of = |message: &Value| message["token_count"].as_u64().unwrap();
        let messages: u64 = answer["messages"].as_array().unwrap().iter().map(of).sum();
        assert!(summary + messages <= tokens, "{tokens}");
        assert!(summary <= tokens * 40 / 100, "{tokens}");
        let shown = ids(&answer);
        assert_eq!(shown, ids(&all)[300 - shown.len()..], "the newest, in order");
        if let Some(next) = all["messages"].as_array().unwrap().iter().rev().nth(shown.len()) {
            assert!(summary + messages + of(next) > tokens, "{tokens}: one more would fit");
        }
    }
}
