//! Rows C1 to C5, C6 (creation), C7, C8, C16 to C18, C20, C21, H37, and who observes whom: what the API stores and gives
//! back of settings, and what ingest and dreams do with them.

use http::StatusCode;
use reverie_core::config::Config;
use reverie_core::reasoner::Thought;
use reverie_core::settings::Defaults;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{MINUTE, ask_for, card, created, dream, facts, list, quiet, runs, say, status};
use crate::rig::{Faults, Rig, Scripted, config};

fn reasoning(enabled: Option<bool>) -> Value {
    enabled.map_or(json!({}), |enabled| json!({"reasoning": {"enabled": enabled}}))
}

async fn workspace(rig: &Rig, configuration: &Value) -> Value {
    rig.ok(
        "PUT",
        "/v3/workspaces/w",
        Some(json!({ "configuration": configuration })),
    )
    .await["configuration"]
        .clone()
}

async fn session(rig: &Rig, configuration: &Value) -> Value {
    let body = json!({"id": "s", "configuration": configuration});
    rig.post("/v3/workspaces/w/sessions", body).await["configuration"].clone()
}

/// Says one thing with settings of the message's own; whether it was reasoned over.
async fn heard(rig: &Rig, message: &Value) -> bool {
    let body = json!({"messages": [{"peer_id": "maya", "content": "maya said so", "configuration": message}]});
    rig.post("/v3/workspaces/w/sessions/s/messages", body).await;
    assert_eq!(rig.settle().await, 0);
    !rig.texts("w", "maya", "maya").await.is_empty()
}

#[tokio::test]
async fn c1_message_beats_session_beats_workspace_beats_global() {
    let (on, off) = (Some(true), Some(false));
    for (message, session_, workspace_, global, expected) in [
        (None, None, None, true, true),
        (None, None, None, false, false),
        (None, None, off, true, false),
        (None, None, on, false, true),
        (None, on, off, true, true),
        (None, off, on, true, false),
        (on, off, off, false, true),
        (off, on, on, true, false),
    ] {
        let defaults = Defaults {
            reasoning: global,
            ..Defaults::default()
        };
        let rig = Rig::with(
            Config { defaults, ..config() },
            Arc::new(Scripted::idle()),
            Faults::none(),
        )
        .await;
        workspace(&rig, &reasoning(workspace_)).await;
        session(&rig, &reasoning(session_)).await;
        let found = heard(&rig, &reasoning(message)).await;
        assert_eq!(found, expected, "{message:?} {session_:?} {workspace_:?} {global}");
    }
}

#[tokio::test]
async fn c1_a_null_inherits() {
    let rig = quiet().await;
    workspace(&rig, &reasoning(Some(false))).await;
    session(&rig, &json!({"reasoning": {"enabled": null}})).await;
    assert!(!heard(&rig, &json!({"reasoning": null})).await);
    assert!(!heard(&rig, &Value::Null).await);
}

#[tokio::test]
async fn c2_a_peers_setting_beats_the_workspace_and_not_session_or_message() {
    let (on, off) = (Some(true), Some(false));
    for (message, session_, workspace_, expected) in [
        (None, None, off, true),
        (None, off, None, false),
        (off, None, None, false),
        (None, off, on, false),
        (on, off, off, true),
    ] {
        let rig = quiet().await;
        workspace(&rig, &reasoning(workspace_)).await;
        session(&rig, &reasoning(session_)).await;
        rig.post(
            "/v3/workspaces/w/peers",
            json!({"id": "maya", "configuration": {"observe_me": true}}),
        )
        .await;
        let found = heard(&rig, &reasoning(message)).await;
        assert_eq!(found, expected, "{message:?} {session_:?} {workspace_:?}");
    }
}

#[tokio::test]
async fn c3_setting_a_workspaces_configuration_replaces_all_of_it_and_nothing_else() {
    let rig = quiet().await;
    workspace(
        &rig,
        &json!({"reasoning": {"enabled": false}, "dream": {"enabled": false}, "custom_instructions": "be brief"}),
    )
    .await;
    session(&rig, &json!({"dream": {"enabled": true}})).await;
    let next = json!({"dream": {"enabled": true}});
    assert_eq!(workspace(&rig, &next).await, next);
    assert_eq!(
        rig.post("/v3/workspaces", json!({"id": "w"})).await["configuration"],
        next
    );
    // What is gone has no effect any more.
    assert!(heard(&rig, &json!({})).await);
    assert_eq!(workspace(&rig, &json!({})).await, json!({}));
    assert_eq!(
        session(&rig, &json!({})).await,
        json!({"dream": {"enabled": true}}),
        "the session keeps its own"
    );
}

#[tokio::test]
async fn c4_an_empty_configuration_clears_and_a_missing_one_leaves() {
    let rig = quiet().await;
    let stored = json!({"reasoning": {"enabled": false}});
    workspace(&rig, &stored).await;
    for (body, expected) in [
        (json!({"metadata": {"a": 1}}), &stored),
        (json!({"metadata": {"a": 2}, "configuration": null}), &stored),
        (json!({}), &stored),
        (json!({"configuration": {}}), &json!({})),
    ] {
        let answer = rig.ok("PUT", "/v3/workspaces/w", Some(body.clone())).await;
        assert_eq!(answer["configuration"], *expected, "{body}");
        assert_eq!(rig.post("/v3/workspaces/list", json!({})).await["items"][0], answer);
    }
    assert_eq!(
        rig.post("/v3/workspaces/list", json!({})).await["items"][0]["metadata"],
        json!({"a": 2})
    );
}

#[tokio::test]
async fn c4_creating_a_workspace_that_is_there_changes_nothing() {
    let rig = quiet().await;
    let first = json!({"id": "w", "metadata": {"a": 1}, "configuration": {"dream": {"enabled": false}}});
    let created = rig.post("/v3/workspaces", first).await;
    let body = json!({"id": "w", "metadata": {"b": 2}, "configuration": {}});
    let (status, again) = rig.call("POST", "/v3/workspaces", Some(body)).await;
    assert_eq!((status, again), (StatusCode::OK, created));
}

#[tokio::test]
async fn c5_without_reasoning_there_are_no_facts_and_no_representation() {
    let rig = quiet().await;
    workspace(&rig, &reasoning(Some(false))).await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    assert_eq!(rig.texts("w", "maya", "maya").await, [""; 0]);
    let text = rig.post("/v3/workspaces/w/peers/maya/representation", json!({})).await;
    assert_eq!(text, json!({"representation": ""}));
    assert_eq!(status(&rig).await["verdict"], "unknown_representation");
    // The messages are kept, and nothing waits.
    assert_eq!(
        rig.post("/v3/workspaces/w/sessions/s/messages/list", json!({})).await["total"],
        5
    );
    assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["total_work_units"], 0);
}

#[tokio::test]
async fn c6_no_card_is_written_where_its_creation_is_off() {
    for (workspace_, session_, expected) in [
        (None, None, true),
        (Some(false), None, false),
        (None, Some(false), false),
        (Some(false), Some(true), true),
    ] {
        let rig = Rig::new().await;
        let create = |create: Option<bool>| create.map_or(json!({}), |create| json!({"peer_card": {"create": create}}));
        workspace(&rig, &create(workspace_)).await;
        session(&rig, &create(session_)).await;
        say(&rig, "s", "maya", &["I live in Lisbon."]).await;
        rig.settle().await;
        let ran = dream(&rig).await;
        assert_eq!(created(&ran), ["maya lives in Portugal."], "the rest is dreamt");
        assert_eq!(ran["peer_card_updated"], expected, "{workspace_:?} {session_:?}");
        assert_eq!(card(&rig).await.is_array(), expected);
    }
}

#[tokio::test]
async fn c7_summaries_have_least_distances_and_the_long_one_is_rarer() {
    let rig = quiet().await;
    let of = |short: u32, long: u32| json!({"summary": {"messages_per_short_summary": short, "messages_per_long_summary": long}});
    for (short, long, fits) in [
        (10, 20, true),
        (9, 20, false),
        (10, 19, false),
        (30, 30, false),
        (30, 31, true),
    ] {
        for path in ["/v3/workspaces/w", "/v3/workspaces/w/sessions/s"] {
            let (status, _) = rig
                .call("PUT", path, Some(json!({"configuration": of(short, long)})))
                .await;
            assert_eq!(
                status,
                if fits {
                    StatusCode::OK
                } else {
                    StatusCode::UNPROCESSABLE_ENTITY
                },
                "{path} {short} {long}"
            );
        }
    }
}

/// What a dream is told, and for its card.
async fn dreamt_under(session_: &Value, workspace_: &Value) -> (Option<String>, Option<String>) {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let rig = super::scripted(Scripted::thinking(move |request| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        log.lock()
            .unwrap()
            .push((owned(request.instructions), owned(request.card_instructions)));
        Ok(Thought {
            done: true,
            ..Thought::default()
        })
    }))
    .await;
    workspace(&rig, workspace_).await;
    session(&rig, session_).await;
    say(&rig, "s", "maya", &["maya is tall"]).await;
    rig.settle().await;
    dream(&rig).await;
    let mut told = told.lock().unwrap().clone();
    told.dedup();
    assert_eq!(told.len(), 1, "every phase is told the same: {told:?}");
    told.remove(0)
}

#[tokio::test]
async fn c10_c23_a_dream_is_given_its_instructions_and_those_for_the_card_on_top() {
    let all = json!({
        "custom_instructions": "shared",
        "reasoning": {"custom_instructions": "deriver"},
        "dream": {"custom_instructions": "dream"},
        "peer_card": {"custom_instructions": "card"},
    });
    let card = json!({"peer_card": {"custom_instructions": "card"}});
    let shared = json!({"custom_instructions": "nearer"});
    let off = json!({"dream": {"custom_instructions": ""}, "peer_card": {"custom_instructions": ""}});
    for (session_, workspace_, dream, of_card) in [
        (&json!({}), &json!({}), None, None),
        (&json!({}), &all, Some("dream"), Some("card")),
        (&shared, &all, Some("nearer"), Some("card")),
        (&off, &all, None, None),
        (&shared, &json!({}), Some("nearer"), None),
        (
            &card,
            &json!({"custom_instructions": "shared"}),
            Some("shared"),
            Some("card"),
        ),
        (
            &json!({}),
            &json!({"reasoning": {"custom_instructions": "deriver"}}),
            None,
            None,
        ),
    ] {
        let expected = (dream.map(str::to_owned), of_card.map(str::to_owned));
        assert_eq!(
            dreamt_under(session_, workspace_).await,
            expected,
            "{session_} {workspace_}"
        );
    }
}

#[tokio::test]
async fn c15_instructions_that_are_too_long_are_refused_at_every_level() {
    let rig = quiet().await;
    let (fits, long) = ("word ".repeat(2000), "word ".repeat(2001));
    for (method, path) in [("PUT", "/v3/workspaces/w"), ("PUT", "/v3/workspaces/w/sessions/s")] {
        for (text, expected) in [(&long, StatusCode::UNPROCESSABLE_ENTITY), (&fits, StatusCode::OK)] {
            for configuration in [
                json!({"custom_instructions": text}),
                json!({"dream": {"custom_instructions": text}}),
            ] {
                let body = json!({ "configuration": configuration });
                let (status, answer) = rig.call(method, path, Some(body)).await;
                assert_eq!(status, expected, "{path} {answer}");
            }
        }
    }
    for (text, expected) in [(&long, StatusCode::UNPROCESSABLE_ENTITY), (&fits, StatusCode::CREATED)] {
        let body = json!({"messages": [{"peer_id": "maya", "content": "a",
            "configuration": {"reasoning": {"custom_instructions": text}}}]});
        let (status, answer) = rig
            .call("POST", "/v3/workspaces/w/sessions/s/messages", Some(body))
            .await;
        assert_eq!(status, expected, "{answer}");
    }
    let config = Config {
        instruction_tokens: 3,
        ..config()
    };
    let rig = Rig::with(config, Arc::new(Scripted::idle()), Faults::none()).await;
    let put = async |text: &str| {
        let body = json!({"configuration": {"custom_instructions": text}});
        rig.call("PUT", "/v3/workspaces/w", Some(body)).await.0
    };
    assert_eq!(put("one two three").await, StatusCode::OK);
    assert_eq!(put("one two three four").await, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn c7_a_session_is_checked_with_what_its_workspace_says() {
    let rig = quiet().await;
    let short = |every: u32| json!({"summary": {"messages_per_short_summary": every}});
    let put = async |path: &str, configuration: Value| {
        let body = json!({ "configuration": configuration });
        rig.call("PUT", path, Some(body)).await
    };
    let (refused, answer) = put("/v3/workspaces/w/sessions/s", short(70)).await;
    assert_eq!(refused, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer["detail"][0]["loc"], json!(["body", "configuration", "summary"]));
    let long = json!({"summary": {"messages_per_long_summary": 71}});
    assert_eq!(put("/v3/workspaces/w", long).await.0, StatusCode::OK);
    assert_eq!(put("/v3/workspaces/w/sessions/s", short(70)).await.0, StatusCode::OK);
    let body = json!({"id": "t", "configuration": short(71)});
    let (refused, _) = rig.call("POST", "/v3/workspaces/w/sessions", Some(body)).await;
    assert_eq!(refused, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        put("/v3/workspaces/w", short(60)).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn c8_h37_dreams_are_off_where_reasoning_is_off() {
    for (workspace_, session_, by) in [
        (
            json!({"reasoning": {"enabled": false}, "dream": {"enabled": true}}),
            json!({}),
            Some("workspace"),
        ),
        (
            json!({}),
            json!({"reasoning": {"enabled": false}, "dream": {"enabled": true}}),
            Some("session"),
        ),
        (
            json!({"reasoning": {"enabled": false}}),
            json!({"reasoning": {"enabled": true}}),
            None,
        ),
    ] {
        let rig = quiet().await;
        session(&rig, &json!({})).await;
        say(&rig, "s", "maya", &facts(0..5)).await;
        rig.settle().await;
        // Turned off after the facts are there and the timer is set.
        workspace(&rig, &workspace_).await;
        session(&rig, &session_).await;
        rig.advance(61 * MINUTE).await;
        assert_eq!(
            runs(&rig).await.len(),
            usize::from(by.is_none()),
            "{workspace_} {session_}"
        );
        let (answered, body) = ask_for(&rig, json!({"observer": "maya", "session_id": "s"})).await;
        let Some(by) = by else {
            assert_eq!(answered, StatusCode::NO_CONTENT);
            continue;
        };
        assert_eq!(answered, StatusCode::BAD_REQUEST);
        assert!(body["detail"].as_str().unwrap().contains(by), "{body}");
        let status = status(&rig).await;
        assert_eq!(
            (&status["verdict"], &status["decided_by"]),
            (&json!("disabled"), &json!(by))
        );
    }
}

#[tokio::test]
async fn c16_a_peer_that_is_not_observed_has_no_representation() {
    let rig = quiet().await;
    rig.post(
        "/v3/workspaces/w/peers",
        json!({"id": "maya", "configuration": {"observe_me": false}}),
    )
    .await;
    assert!(!heard(&rig, &json!({})).await);
    // Not even where a message asks for reasoning: both must hold.
    assert!(!heard(&rig, &reasoning(Some(true))).await);
    // Nor by those who observe others.
    rig.post(
        "/v3/workspaces/w/sessions/s/peers",
        json!({"bob": {"observe_others": true}}),
    )
    .await;
    assert!(!heard(&rig, &json!({})).await);
    assert_eq!(rig.texts("w", "bob", "maya").await, [""; 0]);
}

#[tokio::test]
async fn c16_the_sessions_word_on_observation_overrides_the_peers() {
    for (peer, member, expected) in [(false, true, true), (true, false, false)] {
        let rig = quiet().await;
        rig.post(
            "/v3/workspaces/w/peers",
            json!({"id": "maya", "configuration": {"observe_me": peer}}),
        )
        .await;
        rig.post(
            "/v3/workspaces/w/sessions",
            json!({"id": "s", "peers": {"maya": {"observe_me": member}}}),
        )
        .await;
        assert_eq!(heard(&rig, &json!({})).await, expected);
        let config = rig.get("/v3/workspaces/w/sessions/s/peers/maya/config").await;
        assert_eq!(config, json!({"observe_me": member, "observe_others": null}));
        // In another session the peer's own word counts.
        say(&rig, "t", "maya", &["maya said more"]).await;
        rig.settle().await;
        assert_eq!(
            rig.texts("w", "maya", "maya")
                .await
                .contains(&"maya said more".to_owned()),
            peer
        );
    }
}

#[tokio::test]
async fn c16_creating_a_peer_again_replaces_its_configuration() {
    let rig = quiet().await;
    let create = async |configuration: Value| {
        let body = json!({"id": "maya", "configuration": configuration});
        rig.post("/v3/workspaces/w/peers", body).await["configuration"].clone()
    };
    create(json!({"observe_me": false, "mine": 1})).await;
    assert_eq!(create(json!({"observe_me": true})).await, json!({"observe_me": true}));
    assert!(heard(&rig, &json!({})).await);
}

#[tokio::test]
async fn c17_a_session_takes_the_whole_schema_and_a_message_only_reasoning() {
    let rig = quiet().await;
    let whole = json!({
        "reasoning": {"enabled": true, "custom_instructions": "a"},
        "peer_card": {"use": true, "create": false, "custom_instructions": "b"},
        "summary": {"enabled": false, "messages_per_short_summary": 12, "messages_per_long_summary": 48, "custom_instructions": "c"},
        "dream": {"enabled": false, "custom_instructions": "d"},
        "dialectic": {"custom_instructions": "e"},
        "custom_instructions": "f",
    });
    assert_eq!(session(&rig, &whole).await, whole);
    assert_eq!(
        rig.post("/v3/workspaces/w/sessions/list", json!({})).await["items"][0]["configuration"],
        whole
    );
    session(
        &rig,
        &json!({"dream": {"enabled": true}, "peer_card": {"create": true}}),
    )
    .await;
    // Of a message's settings, those beside reasoning have no effect.
    let body = json!({"messages": facts(0..5).iter().map(|text| json!({"peer_id": "maya", "content": text,
        "configuration": {"dream": {"enabled": false}, "peer_card": {"create": false}}})).collect::<Vec<_>>()});
    rig.post("/v3/workspaces/w/sessions/s/messages", body).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 1);
}

#[tokio::test]
async fn c18_a_message_can_be_left_out_of_a_batch() {
    let rig = quiet().await;
    let messages = json!({"messages": [
        {"peer_id": "maya", "content": "maya said one"},
        {"peer_id": "maya", "content": "maya said two", "configuration": {"reasoning": {"enabled": false}}},
        {"peer_id": "maya", "content": "maya said three"},
    ]});
    rig.post("/v3/workspaces/w/sessions/s/messages", messages).await;
    rig.settle().await;
    assert_eq!(
        rig.texts("w", "maya", "maya").await,
        ["maya said one", "maya said three"]
    );
    // It is activity all the same.
    assert_eq!(status(&rig).await["last_activity"], "2026-01-01T00:00:00Z");
}

#[tokio::test]
async fn c20_only_what_was_set_is_read_back() {
    let rig = quiet().await;
    for path in ["/v3/workspaces", "/v3/workspaces/w/sessions", "/v3/workspaces/w/peers"] {
        let name = if path.ends_with("workspaces") { "w" } else { "x" };
        assert_eq!(
            rig.post(path, json!({ "id": name })).await["configuration"],
            json!({}),
            "{path}"
        );
    }
    let set = json!({"dream": {"enabled": true}, "reasoning": {"enabled": null}, "summary": null});
    assert_eq!(
        workspace(&rig, &set).await,
        json!({"dream": {"enabled": true}, "reasoning": {}})
    );
    assert_eq!(workspace(&rig, &json!({})).await, json!({}));
    // Keys that the SDKs forbid in sections are kept and not shown.
    let unknown = json!({"dream": {"enabled": true, "mine": 1}, "mine": {"deep": 1}});
    assert_eq!(
        workspace(&rig, &unknown).await,
        json!({"dream": {"enabled": true}, "mine": {"deep": 1}})
    );
}

#[tokio::test]
async fn c21_a_sessions_sections_are_updated_one_by_one_and_what_is_not_given_stays() {
    let rig = quiet().await;
    session(
        &rig,
        &json!({"dream": {"enabled": false}, "reasoning": {"enabled": true, "custom_instructions": "a"}}),
    )
    .await;
    let update = async |body: Value| rig.ok("PUT", "/v3/workspaces/w/sessions/s", Some(body)).await;
    let answer = update(json!({"configuration": {"reasoning": {"enabled": false}}})).await;
    assert_eq!(
        answer["configuration"],
        json!({"dream": {"enabled": false}, "reasoning": {"enabled": false}})
    );
    let answer = update(json!({"metadata": {"a": 1}})).await;
    assert_eq!(
        answer["configuration"],
        json!({"dream": {"enabled": false}, "reasoning": {"enabled": false}})
    );
    let answer = update(json!({"configuration": {}})).await;
    assert_eq!(
        (&answer["metadata"], &answer["configuration"]["dream"]),
        (&json!({"a": 1}), &json!({"enabled": false}))
    );
    // A peer: metadata and configuration each on its own.
    let path = "/v3/workspaces/w/peers/maya";
    rig.ok(
        "PUT",
        path,
        Some(json!({"metadata": {"a": 1}, "configuration": {"observe_me": false}})),
    )
    .await;
    let answer = rig.ok("PUT", path, Some(json!({"metadata": {"b": 2}}))).await;
    assert_eq!(
        (&answer["metadata"], &answer["configuration"]),
        (&json!({"b": 2}), &json!({"observe_me": false}))
    );
    let answer = rig
        .ok("PUT", path, Some(json!({"configuration": {"observe_me": true}})))
        .await;
    assert_eq!(
        (&answer["metadata"], &answer["configuration"]),
        (&json!({"b": 2}), &json!({"observe_me": true}))
    );
}

#[tokio::test]
async fn members_who_observe_others_have_a_view_of_the_sender_of_their_own() {
    let rig = quiet().await;
    let members = json!({"maya": {}, "bob": {"observe_others": true}, "eve": {"observe_others": true, "observe_me": false}, "tom": {}});
    rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": members}))
        .await;
    say(&rig, "s", "maya", &["maya is tall"]).await;
    say(&rig, "s", "eve", &["eve is secret"]).await;
    rig.settle().await;
    let views = async |observed: &str| {
        let mut views = Vec::new();
        for observer in ["maya", "bob", "eve", "tom"] {
            if !rig.texts("w", observer, observed).await.is_empty() {
                views.push(observer);
            }
        }
        views
    };
    assert_eq!(views("maya").await, ["maya", "bob", "eve"]);
    assert_eq!(views("eve").await, [""; 0], "not observed in this session");
    // A view is one's own: what is erased from bob's stays in eve's.
    let of_bob = rig.conclusions("w", "bob", "maya").await;
    let path = format!("/v3/workspaces/w/conclusions/{}", super::id(&of_bob[0]));
    rig.ok("DELETE", &path, None).await;
    assert_eq!(views("maya").await, ["maya", "eve"]);
    // Who leaves hears no more; who begins to listen hears from then on.
    rig.ok("DELETE", "/v3/workspaces/w/sessions/s/peers", Some(json!(["eve"])))
        .await;
    let (status, _) = rig
        .call(
            "PUT",
            "/v3/workspaces/w/sessions/s/peers/tom/config",
            Some(json!({"observe_others": true})),
        )
        .await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    say(&rig, "s", "maya", &["maya is strong"]).await;
    rig.settle().await;
    assert_eq!(rig.texts("w", "eve", "maya").await, ["maya is tall"]);
    assert_eq!(rig.texts("w", "tom", "maya").await, ["maya is strong"]);
    assert_eq!(list(&rig.get("/v3/workspaces/w/dreams").await["items"]).len(), 0);
}
