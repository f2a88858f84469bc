//! The largest of everything: it works end to end, or is refused before anything is written.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::text;
use crate::rig::{Faults, Rig, Scripted, config};

/// Text of so many characters of four bytes each that hardly compresses.
fn noise(chars: usize, seed: &mut u64) -> String {
    let mut next = || {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 40) as u32
    };
    (0..chars)
        .map(|_| char::from_u32(0x2_0000 + next() % 0xA000).unwrap())
        .collect()
}

#[tokio::test]
async fn ids_of_512_characters_work_end_to_end() {
    let rig = Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await;
    let long = |first: &str| format!("{first}{}", "x".repeat(511));
    let (w, maya, bob, s) = (long("w"), long("m"), long("b"), long("s"));
    let at = format!("/v3/workspaces/{w}");
    rig.post("/v3/workspaces", json!({ "id": w })).await;
    rig.post(
        &format!("{at}/sessions"),
        json!({"id": s, "peers": {&maya: {}, &bob: {"observe_others": true}}}),
    )
    .await;
    let messages: Vec<_> = (0..8)
        .map(|n| json!({"peer_id": maya, "content": format!("fact {n}")}))
        .collect();
    let posted = rig
        .post(&format!("{at}/sessions/{s}/messages"), json!({ "messages": messages }))
        .await;
    let message = text(&posted[0]["id"]);
    assert_eq!(
        rig.get(&format!("{at}/sessions/{s}/messages/{message}")).await["peer_id"],
        maya
    );
    assert_eq!(
        rig.get(&format!("{at}/queue/status?observer_id={maya}&session_id={s}"))
            .await["pending_work_units"],
        1
    );
    assert_eq!(rig.settle().await, 0);
    assert_eq!(rig.texts(&w, &bob, &maya).await.len(), 8);
    rig.ok(
        "PUT",
        &format!("{at}/sessions/{s}/peers/{maya}/config"),
        Some(json!({"observe_me": true})),
    )
    .await;
    rig.ok(
        "PUT",
        &format!("{at}/peers/{bob}/card?target={maya}"),
        Some(json!({"peer_card": ["x"]})),
    )
    .await;
    assert_eq!(
        rig.get(&format!("{at}/peers/{bob}/context?target={maya}")).await["peer_card"],
        json!(["x"])
    );
    assert_eq!(
        rig.post(&format!("{at}/peers/{maya}/sessions"), json!({})).await["items"][0]["id"],
        s
    );
    rig.post(
        &format!("{at}/schedule_dream"),
        json!({"observer": bob, "observed": maya, "session_id": s}),
    )
    .await;
    rig.advance(Duration::from_secs(3601)).await;
    let runs = rig.get(&format!("{at}/dreams?observer={bob}&observed={maya}")).await;
    assert_eq!(
        (&runs["total"], &runs["items"][0]["status"]),
        (&json!(1), &json!("completed")),
        "{runs}"
    );
    let run = text(&runs["items"][0]["id"]);
    let (status, _) = rig.call("POST", &format!("{at}/dreams/{run}/undo"), None).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!(rig.settle().await, 0);
    let id = text(&rig.conclusions(&w, &maya, &maya).await[0]["id"]);
    rig.ok("DELETE", &format!("{at}/conclusions/{id}"), None).await;
    assert_eq!(rig.texts(&w, &maya, &maya).await.len(), 7);
}

#[tokio::test]
async fn messages_of_the_largest_size_are_stored_as_they_are_or_refused_whole() {
    let mut seed = 1;
    let mut statuses = Vec::new();
    for count in [1, 13, 30, 45, 56, 100] {
        let rig = Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await;
        let path = "/v3/workspaces/w/sessions/s/messages";
        let texts: Vec<_> = (0..count).map(|_| noise(25_000, &mut seed)).collect();
        let messages: Vec<_> = texts
            .iter()
            .map(|text| json!({"peer_id": "maya", "content": text}))
            .collect();
        let (status, answer) = rig.call("POST", path, Some(json!({ "messages": messages }))).await;
        statuses.push(status.as_u16());
        if status == StatusCode::CREATED {
            let listed = rig.post(&format!("{path}/list?size=100"), json!({})).await;
            let items = listed["items"].as_array().unwrap();
            assert_eq!((items.len(), answer.as_array().unwrap().len()), (count, count));
            for (item, text) in items.iter().zip(&texts) {
                assert!(item["content"] == *text, "a text changed");
            }
            // Deriving from all of them would only take longer.
            if count == 30 {
                assert_eq!(rig.settle().await, 0);
                assert_eq!(rig.texts("w", "maya", "maya").await.len(), count);
            }
        } else {
            assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{count} messages: {answer}");
            assert!(
                rig.items().await.is_empty(),
                "something of {count} messages was written"
            );
        }
    }
    assert_eq!(statuses, [201, 201, 201, 201, 413, 413]);
}

#[tokio::test]
async fn a_hundred_long_messages_of_plain_text_fit() {
    let rig = Rig::new().await;
    let path = "/v3/workspaces/w/sessions/s/messages";
    let content = "I like the sea, and my home is near to it. ".repeat(600)[..25_000].to_owned();
    let messages = vec![json!({"peer_id": "maya", "content": content}); 100];
    let posted = rig.post(path, json!({ "messages": messages })).await;
    assert_eq!(posted.as_array().unwrap().len(), 100);
    let listed = rig.post(&format!("{path}/list?size=100&reverse=true"), json!({})).await;
    assert!(
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["content"] == *content)
    );
    assert_eq!(rig.settle().await, 0);
}

#[tokio::test]
async fn conclusions_of_the_largest_size_are_stored_as_they_are_or_refused_whole() {
    // The most characters that the most tokens allow: short words, wide spaces.
    let content: String = "abcdef\u{3000}\u{3000}\u{3000}".chars().cycle().take(65_535).collect();
    let plain = content.replace('\u{3000}', " ");
    let mut statuses = Vec::new();
    for (count, content) in [
        (1, &content),
        (40, &content),
        (60, &content),
        (60, &plain),
        (95, &plain),
        (100, &content),
    ] {
        let rig = Rig::new().await;
        rig.post("/v3/workspaces/w/peers", json!({"id": "maya"})).await;
        let conclusions: Vec<_> =
            (0..count).map(|n| json!({"content": format!("{n:06}{}", content.chars().skip(6).collect::<String>()), "observer_id": "maya", "observed_id": "maya"})).collect();
        let before = rig.items().await;
        let (status, answer) = rig
            .call(
                "POST",
                "/v3/workspaces/w/conclusions",
                Some(json!({ "conclusions": conclusions })),
            )
            .await;
        statuses.push(status.as_u16());
        if status == StatusCode::CREATED {
            let listed = rig
                .post("/v3/workspaces/w/conclusions/list?size=100&reverse=true", json!({}))
                .await;
            assert_eq!(listed["total"], count);
            for (item, sent) in listed["items"].as_array().unwrap().iter().zip(&conclusions) {
                assert!(item["content"] == sent["content"], "a text changed");
            }
        } else {
            assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{count} conclusions: {answer}");
            assert_eq!(
                rig.items().await,
                before,
                "something of {count} conclusions was written"
            );
        }
    }
    assert_eq!((statuses[0], statuses[5]), (201, 413), "{statuses:?}");
}

#[tokio::test]
async fn a_body_beyond_what_a_function_takes_is_refused() {
    let rig = Rig::new().await;
    let body = json!({"id": "w", "metadata": {"x": "y".repeat(7_000_000)}});
    let answer = rig.call("POST", "/v3/workspaces", Some(body)).await;
    assert_eq!(
        answer,
        (
            StatusCode::PAYLOAD_TOO_LARGE,
            json!({"detail": "Request body is larger than 6291456 bytes"})
        )
    );
}

#[tokio::test]
async fn metadata_has_a_hundred_keys_and_five_levels() {
    let keys = |count: usize| -> Map<String, Value> { (0..count).map(|n| (n.to_string(), json!(n))).collect() };
    let levels = |count: usize| (1..count).fold(json!({"x": 1}), |inner, _| json!({ "x": inner }));
    let rig = Rig::new().await;
    // Where the name is in the path, the one in the body is not looked at.
    let body = |path: &str, metadata: Value| {
        if path.ends_with("/messages") {
            json!({"messages": [{"peer_id": "p", "content": "x", "metadata": metadata}]})
        } else {
            json!({"id": "w", "metadata": metadata})
        }
    };
    for (method, path) in [
        ("POST", "/v3/workspaces"),
        ("PUT", "/v3/workspaces/w"),
        ("POST", "/v3/workspaces/w/peers"),
        ("PUT", "/v3/workspaces/w/peers/p"),
        ("POST", "/v3/workspaces/w/sessions"),
        ("PUT", "/v3/workspaces/w/sessions/s"),
        ("POST", "/v3/workspaces/w/sessions/s/messages"),
    ] {
        for fits in [json!(keys(100)), levels(5)] {
            rig.ok(method, path, Some(body(path, fits))).await;
        }
        for (metadata, rule) in [
            (json!(keys(101)), "more than 100 top-level keys"),
            (levels(6), "more than 5 levels deep"),
        ] {
            let (status, answer) = rig.call(method, path, Some(body(path, metadata))).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{method} {path}");
            assert!(
                text(&answer["detail"][0]["msg"]).contains(rule),
                "{method} {path}: {answer}"
            );
            assert_eq!(answer["detail"][0]["type"], "value_error");
        }
    }
}

#[tokio::test]
async fn metadata_settings_and_cards_that_cannot_be_stored_are_refused_before_anything_is_written() {
    let rig = Rig::new().await;
    let large = json!({"x": "y".repeat(1_000_000)});
    for (method, path, body) in [
        ("POST", "/v3/workspaces", json!({"id": "w", "metadata": large})),
        ("PUT", "/v3/workspaces/w", json!({ "configuration": large })),
        ("POST", "/v3/workspaces/w/peers", json!({"id": "p", "metadata": large})),
        ("PUT", "/v3/workspaces/w/peers/p", json!({ "configuration": large })),
        (
            "POST",
            "/v3/workspaces/w/sessions",
            json!({"id": "s", "metadata": large}),
        ),
        (
            "PUT",
            "/v3/workspaces/w/sessions/s",
            json!({ "configuration": {"x": large["x"]} }),
        ),
        (
            "PUT",
            "/v3/workspaces/w/peers/p/card",
            json!({"peer_card": [large["x"]]}),
        ),
    ] {
        let (status, answer) = rig.call(method, path, Some(body)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{method} {path}: {answer}");
        assert!(answer["detail"].is_string(), "{method} {path}: {answer}");
        let items = rig.items().await;
        assert!(
            items.iter().all(|item| !item.to_string().contains("yyyy")),
            "{method} {path}: {items:?}"
        );
    }
    // What a message says of itself is stored with it, and gets what room there is.
    let message = json!({"peer_id": "p", "content": "x", "metadata": large});
    let posted = rig
        .post("/v3/workspaces/w/sessions/s/messages", json!({"messages": [message]}))
        .await;
    let id = text(&posted[0]["id"]);
    let path = format!("/v3/workspaces/w/sessions/s/messages/{id}");
    assert_eq!(rig.get(&path).await["metadata"], large);
    let (status, _) = rig.call("PUT", &path, Some(json!({ "metadata": large }))).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_session_of_a_thousand_members_is_managed() {
    let rig = Rig::new().await;
    let members = |from: usize, to: usize| -> Map<String, Value> {
        (from..to).map(|n| (format!("p{n:04}"), json!({}))).collect()
    };
    let (status, answer) = rig
        .call(
            "POST",
            "/v3/workspaces/w/sessions",
            Some(json!({"id": "s", "peers": members(0, 1000)})),
        )
        .await;
    assert!(status.is_success() || status.is_client_error(), "{status} {answer}");
    if status.is_success() {
        assert_eq!(rig.get("/v3/workspaces/w/sessions/s/peers").await["total"], 1000);
        rig.ok(
            "PUT",
            "/v3/workspaces/w/sessions/s/peers",
            Some(json!(members(500, 1500))),
        )
        .await;
        assert_eq!(
            rig.get("/v3/workspaces/w/sessions/s/peers?size=100&page=10").await["items"][99]["id"],
            "p1499"
        );
    }
}
