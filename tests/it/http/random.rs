//! Random JSON at every route that takes a body: never a failure of ours, and every refusal says why.

use axum::body::Body;
use http::Request;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::coverage::ROUTES;
use crate::rig::Rig;

/// Words that mean something somewhere, so that what is random is not refused at its door.
const KEYS: &[&str] = &[
    "id",
    "name",
    "metadata",
    "configuration",
    "messages",
    "content",
    "peer_id",
    "created_at",
    "peers",
    "observe_me",
    "observe_others",
    "filters",
    "conclusions",
    "observer_id",
    "observed_id",
    "session_id",
    "observer",
    "observed",
    "query",
    "top_k",
    "distance",
    "level",
    "in",
    "contains",
    "source_ids",
    "AND",
    "OR",
    "NOT",
    "gt",
    "ne",
    "icontains",
    "is_active",
    "token_count",
    "peer_card",
    "target",
    "search_query",
    "search_top_k",
    "max_conclusions",
    "dream_type",
    "dry_run",
    "rebuild",
    "reasoning",
    "summary",
    "dream",
    "enabled",
    "custom_instructions",
    "maya",
    "s",
    "",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-2_i64..102).prop_map(Value::from),
        proptest::sample::select(vec![
            "maya",
            "s",
            "w",
            "omni",
            "explicit",
            "true",
            "1",
            "2026-01-01T00:00:00Z",
            "I work at Intel.",
            "\0",
            ""
        ])
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(
                proptest::sample::select(KEYS).prop_map(str::to_owned),
                inner.clone(),
                0..6
            )
            .prop_map(|map| map.into_iter().collect()),
            proptest::collection::btree_map(".{0,6}", inner, 0..3).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// A body that a route would take, but for one value somewhere.
fn nearly_right() -> impl Strategy<Value = Value> {
    let right = json!({"id": "s", "metadata": {"a": 1}, "configuration": {"reasoning": {"enabled": true}, "observe_me": true},
        "messages": [{"peer_id": "maya", "content": "I live in Porto.", "metadata": {"a": 1}, "created_at": "2026-01-01T00:00:00Z",
            "configuration": {"reasoning": {"enabled": true}}}],
        "conclusions": [{"content": "x", "observer_id": "maya", "observed_id": "maya", "session_id": "s"}],
        "filters": {"observer": "maya", "observed": "maya"}, "query": "x", "top_k": 3, "distance": 0.5, "peer_card": ["x"],
        "observer": "maya", "observed": "maya", "session_id": "s", "dream_type": "omni", "dry_run": false, "maya": {"observe_me": true},
        "peers": {"maya": {"observe_me": true}}});
    let mut places = Vec::new();
    collect(&right, String::new(), &mut places);
    (proptest::sample::select(places), any_json()).prop_map(move |(place, value)| {
        let mut body = right.clone();
        *body.pointer_mut(&place).unwrap() = value;
        body
    })
}

/// The pointers of everything inside a value.
fn collect(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| collect(value, format!("{at}/{key}"), places)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(n, value)| collect(value, format!("{at}/{n}"), places)),
        _ => {}
    }
    places.push(at);
}

#[test]
fn random_json_is_never_a_failure() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let rig = runtime.block_on(async {
        let rig = Rig::new().await;
        rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": {"maya": {}}}))
            .await;
        rig
    });
    let id = |template: &str| {
        let path = template
            .replace("{w}", "w")
            .replace("{p}", "maya")
            .replace("{s}", "s")
            .replace("{id}", "x");
        format!("/v3/workspaces{path}")
    };
    let mut runner = TestRunner::new(Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&prop_oneof![any_json(), nearly_right()], |body| {
        let text = body.to_string();
        for (method, template) in ROUTES.iter().filter(|(method, _)| *method != "GET") {
            let path = id(template);
            let request = Request::builder()
                .method(*method)
                .uri(&path)
                .body(Body::from(text.clone()))
                .unwrap();
            let (status, answer) = runtime.block_on(rig.send(request));
            let refused_with_reason =
                status.is_client_error() && (answer["detail"].is_string() || answer["detail"].is_array());
            if !status.is_success() && !refused_with_reason {
                return Err(TestCaseError::fail(format!("{method} {path}: {status} {answer}")));
            }
        }
        let failures = runtime.block_on(rig.settle());
        if failures > 0 {
            Err(TestCaseError::fail("what was accepted cannot be handled"))
        } else {
            Ok(())
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
