//! What no client should send, and what is odd but right: never a failure of ours.

use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use super::coverage::ROUTES;
use super::{play, text};
use crate::rig::Rig;

/// Sends bytes as they are.
async fn raw(rig: &Rig, method: &str, path: &str, body: impl Into<Vec<u8>>) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path);
    rig.send(request.body(Body::from(body.into())).unwrap()).await
}

/// The paths of every route with something in the place of each parameter.
fn paths(parameter: &str) -> impl Iterator<Item = (&'static str, String)> {
    ROUTES.iter().map(move |(method, template)| {
        let steps = template
            .split('/')
            .map(|step| if step.starts_with('{') { parameter } else { step });
        (
            *method,
            format!("/v3/workspaces{}", steps.collect::<Vec<_>>().join("/")),
        )
    })
}

#[tokio::test]
async fn a_body_that_is_not_json_says_where() {
    let said = play(async |tape| {
        for text in [
            "{",
            "{\"id\": \"w\",}",
            "nope",
            "{\"id\": \"\\ud800\"}",
            "{\"id\": \"\\ud800\\u0041\"}",
            "{\"id\": 1e999}",
            "\u{feff}{\"id\": \"w\"}",
            "{\"id\": \"a\nb\"}",
            "{} {}",
            "'w'",
        ] {
            tape.raw("POST", "", text).await;
        }
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn of_a_key_that_comes_twice_the_last_counts() {
    let rig = Rig::new().await;
    let (status, answer) = raw(
        &rig,
        "POST",
        "/v3/workspaces",
        r#"{"id": "a", "id": "b", "metadata": {"x": 1, "x": 2}}"#,
    )
    .await;
    assert_eq!(
        (status, &answer["id"], &answer["metadata"]),
        (StatusCode::CREATED, &json!("b"), &json!({"x": 2}))
    );
}

#[tokio::test]
async fn no_body_breaks_a_route() {
    let rig = Rig::new().await;
    rig.post("/v3/workspaces/w/sessions", json!({"id": "w", "peers": {"w": {}}}))
        .await;
    let nested = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let bodies: Vec<Vec<u8>> = vec![
        b"".into(),
        b"null".into(),
        b"[]".into(),
        b"\"text\"".into(),
        b"0".into(),
        b"\xff\xfe{\"id\"".into(),
        b"{\"id\": \"\xf0\x9f\"}".into(),
        b"{\"filters\": {\"observer\": \"\\u0000\", \"observed\": \"\\u0000\"}, \"query\": \"\\u0000\"}".into(),
        b"{\"metadata\": {\"\\u0000\": -1e308}, \"configuration\": {\"\\u0000\": {}}}".into(),
        nested("[", "]").into(),
        nested("{\"a\":", "}").into(),
        format!("{{\"metadata\": {}1{}}}", "{\"a\":".repeat(120), "}".repeat(120)).into(),
    ];
    for body in &bodies {
        for (method, path) in paths("w") {
            let (status, answer) = raw(&rig, method, &path, body.clone()).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
            assert!(!status.is_server_error(), "{method} {path} {shown}: {status} {answer}");
            assert!(
                !status.is_client_error() || !answer["detail"].is_null(),
                "{method} {path} {shown}: {status} {answer}"
            );
        }
    }
    assert_eq!(rig.settle().await, 0);
}

#[tokio::test]
async fn no_path_breaks_a_route() {
    let rig = Rig::new().await;
    for parameter in [
        "%00",
        "%ff%fe",
        "%2F",
        "..",
        "%E2%80%AE",
        "%F0%9F%8C%99",
        "a%20b",
        "%",
        "%zz",
        "*",
        ";x=1",
        "%25",
    ] {
        for (method, path) in paths(parameter) {
            if path.ends_with("/workspaces") || path.ends_with("/workspaces/list") {
                continue;
            }
            let (status, answer) = raw(&rig, method, &path, "{}").await;
            assert!(status.is_client_error(), "{method} {path}: {status} {answer}");
            assert!(!answer["detail"].is_null(), "{method} {path}: {status} {answer}");
        }
    }
    assert_eq!(rig.post("/v3/workspaces/list", json!({})).await["total"], 0);
}

#[tokio::test]
async fn a_query_that_is_no_text_breaks_nothing() {
    let rig = Rig::new().await;
    rig.post("/v3/workspaces/w/sessions", json!({"id": "w", "peers": {"w": {}}}))
        .await;
    for query in [
        "page=%ff",
        "%ff=1",
        "page",
        "page=&size=",
        "=",
        "&&&",
        "target=%00&observer=%00",
        "observer=%ff",
        "page=1&page=2",
        "search_query=%F0%9F%8C%99%00",
        "session_id=%00",
    ] {
        for (method, path) in paths("w") {
            let (status, answer) = raw(&rig, method, &format!("{path}?{query}"), "{}").await;
            assert!(!status.is_server_error(), "{method} {path}?{query}: {status} {answer}");
        }
    }
}

#[tokio::test]
async fn a_name_may_be_percent_encoded_and_the_content_type_anything() {
    let rig = Rig::new().await;
    rig.post("/v3/workspaces/w/sessions", json!({"id": "s"})).await;
    let (status, answer) = raw(&rig, "POST", "/v3/workspaces/%77/%73essions/list", "{}").await;
    assert_eq!((status, &answer["total"]), (StatusCode::NOT_FOUND, &Value::Null));
    let (status, answer) = raw(&rig, "PUT", "/v3/workspaces/%77/sessions/%73", "{}").await;
    assert_eq!((status, &answer["id"]), (StatusCode::OK, &json!("s")));
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
        "nonsense",
    ] {
        let request = Request::builder()
            .method("POST")
            .uri("/v3/workspaces")
            .header("content-type", content_type);
        let (status, answer) = rig.send(request.body(Body::from("{\"id\": \"w\"}")).unwrap()).await;
        assert_eq!(status, StatusCode::OK, "{content_type}: {answer}");
    }
}

/// Texts that must come back as they went in.
const TEXTS: &[&str] = &[
    "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 e\u{301} ≠ é",
    "שלום עולם, مرحبا بالعالم \u{202e}abc\u{202c}",
    "\u{1}\u{7}\u{8}\u{b}\u{1b}[31m\u{7f}\u{85}\u{2028}\u{feff}\u{fffd}\u{10ffff}",
    " \t\r\n leading and trailing \n",
    "\"quotes\" \\ back\\slash / <b>&amp;</b> ${x} {{y}} %s",
    "",
];

#[tokio::test]
async fn text_comes_back_as_it_went_in() {
    let rig = Rig::new().await;
    let path = "/v3/workspaces/w/sessions/s/messages";
    let messages: Vec<_> = TEXTS
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text, "metadata": {*text: [text]}}))
        .collect();
    let posted = rig.post(path, json!({ "messages": messages })).await;
    let listed = rig.post(&format!("{path}/list"), json!({})).await;
    for (place, text) in TEXTS.iter().enumerate() {
        for message in [&posted[place], &listed["items"][place]] {
            assert_eq!(message["content"], *text);
            assert_eq!(message["metadata"], json!({*text: [text]}));
        }
    }
    let said: Vec<_> = TEXTS.iter().filter(|text| !text.is_empty()).collect();
    let conclusions: Vec<_> = said
        .iter()
        .map(|text| json!({"content": text, "observer_id": "maya", "observed_id": "maya"}))
        .collect();
    let made = rig
        .post("/v3/workspaces/w/conclusions", json!({ "conclusions": conclusions }))
        .await;
    for (place, content) in said.iter().enumerate() {
        assert_eq!(made[place]["content"], **content);
        let id = text(&made[place]["id"]);
        assert_eq!(
            rig.get(&format!("/v3/workspaces/w/conclusions/{id}")).await["content"],
            **content
        );
    }
    rig.ok(
        "PUT",
        "/v3/workspaces/w/peers/maya/card",
        Some(json!({"peer_card": TEXTS})),
    )
    .await;
    assert_eq!(
        rig.get("/v3/workspaces/w/peers/maya/card").await["peer_card"],
        json!(TEXTS)
    );
    let shown = rig
        .post(
            "/v3/workspaces/w/peers/maya/representation",
            json!({"search_query": TEXTS[1]}),
        )
        .await;
    assert!(text(&shown["representation"]).contains(TEXTS[1]), "{shown}");
    assert_eq!(rig.settle().await, 0);
}

#[tokio::test]
async fn nul_is_left_out_wherever_text_is_stored() {
    let rig = Rig::new().await;
    let message = json!({"peer_id": "maya", "content": "a\0b", "metadata": {"k\0": ["\0v"]}, "configuration": {"reasoning": {"custom_instructions": "\0"}}});
    let posted = rig
        .post("/v3/workspaces/w/sessions/s/messages", json!({"messages": [message]}))
        .await;
    assert_eq!(
        (&posted[0]["content"], &posted[0]["metadata"]),
        (&json!("ab"), &json!({"k": ["v"]}))
    );
    let updated = rig
        .ok(
            "PUT",
            "/v3/workspaces/w",
            Some(json!({"configuration": {"custom_instructions": "x\0y", "mine\0": {"\0": "\0"}}})),
        )
        .await;
    assert_eq!(
        updated["configuration"],
        json!({"custom_instructions": "xy", "mine": {"": ""}})
    );
    let conclusion = json!({"content": "a\0b", "observer_id": "maya", "observed_id": "maya"});
    let made = rig
        .post("/v3/workspaces/w/conclusions", json!({"conclusions": [conclusion]}))
        .await;
    assert_eq!(made[0]["content"], "ab");
    let card = rig
        .ok(
            "PUT",
            "/v3/workspaces/w/peers/maya/card",
            Some(json!({"peer_card": ["\0c"]})),
        )
        .await;
    assert_eq!(card["peer_card"], json!(["c"]));
    let (status, _) = rig.call("POST", "/v3/workspaces", Some(json!({"id": "w\0"}))).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(rig.settle().await, 0);
}

#[tokio::test]
async fn numbers_and_times_at_the_ends_break_nothing() {
    let rig = Rig::new().await;
    let path = "/v3/workspaces/w/sessions/s/messages";
    let metadata =
        json!({"big": u64::MAX, "small": i64::MIN, "float": 1.797_693_134_862_315_7e308, "tiny": 5e-324, "zero": -0.0});
    let posted = rig
        .post(
            path,
            json!({"messages": [{"peer_id": "maya", "content": "x", "metadata": metadata}]}),
        )
        .await;
    assert_eq!(posted[0]["metadata"], metadata);
    for created_at in [
        json!(0),
        json!(-1e300),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(253_402_300_799_u64),
        json!(253_402_300_800_000_u64),
        json!("0001-01-01T00:00:00Z"),
        json!("9999-12-31T23:59:59.999999Z"),
        json!("9999-12-31T23:59:59-23:59"),
        json!("-009999-01-01T00:00:00Z"),
        json!("2026-02-30T00:00:00Z"),
        json!("2026-01-01T00:00:60Z"),
        json!("2026-01-01"),
        json!("2026-01-01T00:00:00"),
        json!(""),
        json!("0"),
        json!(true),
        json!([]),
    ] {
        let message = json!({"peer_id": "maya", "content": "I live in Porto.", "created_at": created_at});
        let (status, answer) = rig.call("POST", path, Some(json!({"messages": [message]}))).await;
        assert!(matches!(status.as_u16(), 201 | 422), "{created_at}: {status} {answer}");
        assert_eq!(rig.settle().await, 0, "{created_at}");
    }
    let listed = rig.post(&format!("{path}/list?size=100"), json!({})).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), listed["total"]);
    rig.post("/v3/workspaces/w/conclusions/list", json!({})).await;
    rig.post("/v3/workspaces/w/peers/maya/representation", json!({})).await;
}
