//! `/v3/workspaces/{w}/conclusions`

use serde_json::{Value, json};

use super::{Tape, play, text};

/// Peers, a session, and conclusions about two of them; gives their ids.
async fn concluded(tape: &mut Tape) -> Vec<String> {
    tape.post("/w/sessions", json!({"id": "s", "peers": {"maya": {}, "bob": {}}}))
        .await;
    let of = |content: &str, observer: &str, observed: &str, session: Option<&str>| json!({"content": content, "observer_id": observer, "observed_id": observed, "session_id": session});
    let mut ids = Vec::new();
    for conclusion in [
        of("maya plays the violin", "maya", "maya", Some("s")),
        of("maya lives in Porto", "maya", "maya", None),
        of("maya likes bob", "bob", "maya", Some("s")),
    ] {
        let made = tape.post("/w/conclusions", json!({"conclusions": [conclusion]})).await;
        ids.push(text(&made[0]["id"]));
        tape.tick();
    }
    ids
}

#[tokio::test]
async fn created_as_they_are_even_twice() {
    let said = play(async |tape| {
        concluded(tape).await;
        let again = json!({"content": "maya lives in Porto", "observer_id": "maya", "observed_id": "maya"});
        tape.post("/w/conclusions", json!({"observations": [again, again]}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn listed_newest_first_by_what_the_sdk_filters_by() {
    let said = play(async |tape| {
        let ids = concluded(tape).await;
        tape.silence();
        tape.call("POST", "/w/conclusions/list", None).await;
        let path = "/w/conclusions/list?size=1&reverse=true";
        tape.post(path, json!({"filters": {"observer_id": "maya", "observed_id": "maya"}}))
            .await;
        for filters in [
            json!({"observer": "bob", "observed": "maya"}),
            json!({"session_id": "s"}),
            json!({"level": ["deductive", "explicit"], "observer": "bob"}),
            json!({"id": {"in": [ids[1], ids[2], "no such id"]}}),
            json!({"source_ids": {"contains": ids[0]}}),
            json!({"observer_id": "nobody", "observed_id": "maya"}),
            json!({"observer_id": "no name"}),
            json!({"observer_id": "maya", "observer": "bob"}),
        ] {
            tape.post(path, json!({ "filters": filters })).await;
        }
        tape.post("/w/conclusions/list?page=3&size=2", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_a_dream_derived_names_its_sources() {
    let said = play(async |tape| {
        tape.dreamed().await;
        tape.post(
            "/w/conclusions/list",
            json!({"filters": {"level": ["deductive", "inductive"]}}),
        )
        .await;
        let derived = tape.said[0].answer["items"][0].clone();
        let source = &derived["source_ids"][0];
        tape.post(
            "/w/conclusions/list",
            json!({"filters": {"source_ids": {"contains": source}}}),
        )
        .await;
        tape.get(&format!("/w/conclusions/{}", text(source))).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn queried_by_meaning_nearest_first() {
    let said = play(async |tape| {
        concluded(tape).await;
        tape.silence();
        let filters = json!({"observer_id": "maya", "observed": "maya"});
        tape.post(
            "/w/conclusions/query",
            json!({"query": "playing violin", "filters": filters}),
        )
        .await;
        tape.post(
            "/w/conclusions/query",
            json!({"query": "where she lives: Porto", "top_k": 1, "filters": filters}),
        )
        .await;
        tape.post(
            "/w/conclusions/query",
            json!({"query": "playing violin", "distance": 0.0, "filters": filters}),
        )
        .await;
        let filters = json!({"observer_id": "maya", "observed": "maya", "session_id": "s"});
        tape.post("/w/conclusions/query", json!({"query": "Porto", "filters": filters}))
            .await;
        let filters = json!({"observer": "maya", "observed": "nobody"});
        tape.post("/w/conclusions/query", json!({"query": "Porto", "filters": filters}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn read_and_deleted_by_id() {
    let said = play(async |tape| {
        let ids = concluded(tape).await;
        tape.silence();
        let path = format!("/w/conclusions/{}", ids[0]);
        tape.get(&path).await;
        tape.delete(&path).await;
        tape.get(&path).await;
        tape.delete(&path).await;
        tape.get("/w/conclusions/nothing").await;
        tape.delete("/w/conclusions/nothing").await;
        tape.post("", json!({"id": "other"})).await;
        tape.get(&format!("/other/conclusions/{}", ids[1])).await;
        tape.delete(&format!("/other/conclusions/{}", ids[1])).await;
        tape.post("/w/conclusions/list", json!({"filters": {"observer": "maya"}}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn only_known_peers_and_sessions_have_conclusions() {
    let said = play(async |tape| {
        let of = |observer: &str, observed: &str, session: Value| {
            json!({"conclusions": [{"content": "x", "observer_id": observer, "observed_id": observed, "session_id": session}]})
        };
        tape.post("/w/conclusions", of("maya", "maya", Value::Null)).await;
        tape.post("/w/peers", json!({"id": "maya"})).await;
        tape.post("/w/conclusions", of("nobody", "maya", Value::Null)).await;
        tape.post("/w/conclusions", of("maya", "no name", Value::Null)).await;
        tape.post("/w/conclusions", of("maya", "maya", "nowhere".into())).await;
        tape.post("/w/conclusions", of("maya", "maya", "no where".into())).await;
        // One that cannot be is enough: nothing is written.
        let some = json!([{"content": "x", "observer_id": "maya", "observed_id": "maya"}, {"content": "x", "observer_id": "maya", "observed_id": "nobody"}]);
        tape.post("/w/conclusions", json!({ "conclusions": some })).await;
        tape.post("/w/conclusions/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_in_the_contracts_shape() {
    let said = play(async |tape| {
        let path = "/w/conclusions";
        tape.post(path, json!({})).await;
        tape.post(path, json!({"conclusions": []})).await;
        tape.post_large(path, json!({"conclusions": vec!["more than is repeated"; 101]}))
            .await;
        for conclusion in [
            json!({}),
            json!(1),
            json!({"content": "", "observer_id": 1, "observed_id": null, "session_id": []}),
        ] {
            let right = json!({"content": "x", "observer_id": "maya", "observed_id": "maya"});
            tape.post(path, json!({"conclusions": [right, conclusion]})).await;
        }
        for text in ["x".repeat(65_536), "x ".repeat(9_000)] {
            tape.post_large(
                path,
                json!({"conclusions": [{"content": text, "observer_id": "maya", "observed_id": "maya"}]}),
            )
            .await;
        }
        tape.post("/w/conclusions/list?size=101", json!({"filters": []})).await;
        for filters in [
            json!({"bogus": 1}),
            json!({"level": "loud"}),
            json!({"id": {"gt": 5}}),
            json!({"source_ids": ["x"]}),
            json!({"AND": {}}),
            json!({"OR": [{"times_derived": {"contains": "1"}}]}),
            json!({"session_id": {"like": "x"}}),
        ] {
            tape.post("/w/conclusions/list", json!({ "filters": filters })).await;
        }
        tape.post(
            "/w/conclusions/query",
            json!({"top_k": 101, "distance": 1.5, "filters": 1}),
        )
        .await;
        tape.post(
            "/w/conclusions/query",
            json!({"query": 1, "top_k": 0, "distance": "far"}),
        )
        .await;
        tape.post("/w/conclusions/query", json!({"query": "x"})).await;
        tape.post(
            "/w/conclusions/query",
            json!({"query": "x", "filters": {"observer": "maya", "observed": ["a", "b"]}}),
        )
        .await;
        let filters = json!({"observer": "maya", "observed": "maya"});
        tape.post("/w/conclusions/query", json!({"query": "x", "filters": filters}))
            .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
