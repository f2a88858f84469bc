//! What is refused, and with what words.

use super::*;
use crate::filter::{MAX_SESSIONS, MAX_VALUES, session_allowlist};

/// Why filters are refused; nothing when they are not.
fn refusal(schema: &Schema, filters: &Value) -> String {
    parse(schema, filters)
        .err()
        .map_or_else(String::new, |error| error.to_string())
}

#[test]
fn columns_that_are_not_there_are_named_wherever_they_stand() {
    for (schema, column, model) in [
        (Schema::CONCLUSION, "bogus", "Document"),
        (Schema::CONCLUSION, "and", "Document"),
        (Schema::CONCLUSION, "embedding", "Document"),
        (Schema::WORKSPACE, "configuration", "Workspace"),
        (Schema::PEER, "peer_id", "Peer"),
        (Schema::SESSION, "name", "Session"),
        (Schema::MESSAGE, "content", "Message"),
        (Schema::MESSAGE, "id", "Message"),
    ] {
        let leaf = json!({ column: "x" });
        for filters in [leaf.clone(), json!({"OR": [{}, {"NOT": [leaf]}]})] {
            assert_eq!(
                refusal(&schema, &filters),
                format!("column '{column}' does not exist on {model}")
            );
        }
    }
}

#[test]
fn every_column_of_a_schema_is_offered() {
    for schema in [
        Schema::WORKSPACE,
        Schema::PEER,
        Schema::SESSION,
        Schema::MESSAGE,
        Schema::CONCLUSION,
    ] {
        for name in schema.names() {
            assert!(parse(&schema, &json!({ name: null })).is_ok(), "{name}");
        }
    }
}

#[test]
fn logical_operators_hold_lists_of_objects_not_too_deep() {
    let message = |filters: Value| refusal(&Schema::MESSAGE, &filters);
    assert_eq!(
        message(json!({"AND": "x"})),
        "operator 'AND' must contain a list, not a string"
    );
    assert_eq!(
        message(json!({"OR": {"peer_id": "x"}})),
        "operator 'OR' must contain a list, not an object"
    );
    assert_eq!(
        message(json!({"NOT": null})),
        "operator 'NOT' must contain a list, not null"
    );
    for part in [json!(null), json!([]), json!(1), json!("x")] {
        assert!(message(json!({"AND": [{}, part]})).starts_with("operator 'AND' must contain filters, not "));
    }
    let nested = |depth: usize| (0..depth).fold(json!({"peer_id": "x"}), |inner, _| json!({"NOT": [inner]}));
    assert!(parse(&Schema::MESSAGE, &nested(5)).is_ok());
    assert_eq!(message(nested(6)), "filter nesting exceeds maximum depth of 5");
}

#[test]
fn filters_are_bounded() {
    let too_large = format!("filter has more than {MAX_VALUES} conditions and values");
    let ids = |n: usize| (0..n).map(|n| n.to_string()).collect::<Vec<_>>();
    assert!(parse(&Schema::PEER, &json!({"id": ids(MAX_VALUES - 1)})).is_ok());
    for filters in [
        json!({"id": ids(MAX_VALUES)}),
        json!({"OR": vec![json!({}); MAX_VALUES + 1]}),
        json!({"metadata": {"tags": ids(MAX_VALUES)}}),
        json!({"metadata": {"contains": [ids(MAX_VALUES)]}}),
    ] {
        assert_eq!(refusal(&Schema::PEER, &filters), too_large);
    }
    let long = "x".repeat(10_000);
    assert!(refusal(&Schema::PEER, &json!({ long.as_str(): 1 })).len() < 200);
    assert!(refusal(&Schema::PEER, &json!({"metadata": {long.as_str(): {"gt": []}}})).len() < 200);
    assert!(refusal(&Schema::PEER, &json!({"created_at": long})).len() < 200);
}

#[test]
fn operators_that_are_not_there_or_do_not_fit_are_named() {
    for (schema, filters, expected) in [
        (
            Schema::MESSAGE,
            json!({"session_id": {"operator": "null"}}),
            "column 'session_id' has no operator 'operator': expected one of contains, gt, gte, icontains, in, lt, lte, ne",
        ),
        (
            Schema::MESSAGE,
            json!({"session_id": {}}),
            "column 'session_id' has no operator ''",
        ),
        (
            Schema::MESSAGE,
            json!({"token_count": {"gt": 1, "between": 2}}),
            "column 'token_count' has no operator 'between'",
        ),
        (
            Schema::MESSAGE,
            json!({"metadata": {"a": {"b": {"gt": 1, "x": 2}}}}),
            "column 'metadata.a.b' has no operator 'x'",
        ),
        (
            Schema::MESSAGE,
            json!({"token_count": {"contains": 5}}),
            "operator 'contains' does not apply to column 'token_count'",
        ),
        (
            Schema::MESSAGE,
            json!({"created_at": {"icontains": "x"}}),
            "operator 'icontains' does not apply to column 'created_at'",
        ),
        (
            Schema::MESSAGE,
            json!({"metadata": {"icontains": {}}}),
            "operator 'icontains' does not apply to column 'metadata'",
        ),
        (
            Schema::MESSAGE,
            json!({"token_count": {"gt": null}}),
            "operator 'gt' of column 'token_count' does not accept null: use {\"ne\": null} or null on its own",
        ),
        (
            Schema::MESSAGE,
            json!({"peer_id": {"in": "x"}}),
            "operator 'in' must contain a list, not a string",
        ),
        (
            Schema::MESSAGE,
            json!({"metadata": {"a": {"in": {"b": 1}}}}),
            "operator 'in' must contain a list, not an object",
        ),
    ] {
        let refused = refusal(&schema, &filters);
        assert!(refused.starts_with(expected), "{filters}: {refused}");
    }
}

#[test]
fn values_that_cannot_be_compared_are_named_however_they_are_wrapped() {
    for (schema, column, value, expected) in [
        (Schema::MESSAGE, "peer_id", json!(5), "expected a string, got a number"),
        (
            Schema::MESSAGE,
            "peer_id",
            json!(true),
            "expected a string, got a boolean",
        ),
        (
            Schema::MESSAGE,
            "token_count",
            json!("nope"),
            "expected a number, got 'nope'",
        ),
        (
            Schema::MESSAGE,
            "token_count",
            json!("NaN"),
            "expected a number, got 'NaN'",
        ),
        (
            Schema::MESSAGE,
            "token_count",
            json!(true),
            "expected a number, got a boolean",
        ),
        (
            Schema::MESSAGE,
            "created_at",
            json!("2024-01-01 OR 1=1"),
            "expected a date and time, got '2024-01-01 OR 1=1'",
        ),
        (
            Schema::MESSAGE,
            "created_at",
            json!(5),
            "expected a date and time, got a number",
        ),
        (
            Schema::SESSION,
            "is_active",
            json!("true"),
            "expected true or false, got a string",
        ),
        (
            Schema::SESSION,
            "is_active",
            json!(1),
            "expected true or false, got a number",
        ),
        (
            Schema::CONCLUSION,
            "level",
            json!("loud"),
            "expected one of explicit, deductive, inductive, contradiction, got 'loud'",
        ),
        (
            Schema::CONCLUSION,
            "source_ids",
            json!("x"),
            "expected an id or a list of ids under 'contains', got a string",
        ),
        (
            Schema::PEER,
            "metadata",
            json!("x"),
            "expected an object, on its own or under 'contains', got a string",
        ),
    ] {
        for filters in [
            json!({ column: value }),
            json!({column: {"ne": value}}),
            json!({column: {"gte": value}}),
            json!({column: {"in": [value]}}),
        ] {
            assert_eq!(
                refusal(&schema, &filters),
                format!("invalid value for column '{column}': {expected}"),
                "{filters}"
            );
        }
    }
}

#[test]
fn values_that_are_no_scalars_are_refused() {
    for filters in [
        json!({"peer_id": [null]}),
        json!({"peer_id": [["x"]]}),
        json!({"peer_id": {"ne": {"a": 1}}}),
        json!({"peer_id": {"contains": ["x"]}}),
        json!({"token_count": {"lt": [1, 2]}}),
        json!({"metadata": 5}),
        json!({"metadata": {"ne": {"a": 1}}}),
        json!({"metadata": {"contains": "x"}}),
        json!({"metadata": {"score": {"gte": [1, 2, 3]}}}),
        json!({"metadata": {"score": {"gte": null}}}),
        json!({"metadata": {"score": {"in": [null]}}}),
        json!({"metadata": {"score": {"contains": {"a": 1}}}}),
    ] {
        assert!(parse(&Schema::MESSAGE, &filters).is_err(), "{filters}");
    }
    for filters in [
        json!({"source_ids": ["x"]}),
        json!({"source_ids": {"contains": [1]}}),
        json!({"source_ids": {"kind": "x"}}),
    ] {
        assert!(parse(&Schema::CONCLUSION, &filters).is_err(), "{filters}");
    }
}

#[test]
fn a_recall_is_narrowed_to_sessions_and_to_nothing_else() {
    let read = |filters: Value, session: Option<&str>| {
        let read = session_allowlist(&map(&filters), session);
        read.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    for (filters, names) in [
        (json!({"session_id": "a"}), vec!["a"]),
        (json!({"session_id": ["b", "a", "b"]}), vec!["a", "b"]),
        (json!({"session_id": {"in": ["a"]}}), vec!["a"]),
        (json!({"session_id": []}), vec![]),
    ] {
        assert_eq!(
            read(filters.clone(), None).ok(),
            Some(names.iter().map(ToString::to_string).collect())
        );
        assert_eq!(read(filters, Some("a")).is_ok(), names.contains(&"a"));
    }
    let many: Vec<_> = (0..=MAX_SESSIONS).map(|n| n.to_string()).collect();
    for filters in [
        json!({}),
        json!({"peer_id": "a"}),
        json!({"session_id": "a", "level": "explicit"}),
        json!({"session_id": "*"}),
        json!({"session_id": ["a", ""]}),
        json!({"session_id": ["a", 1]}),
        json!({"session_id": {"ne": "a"}}),
        json!({"session_id": {"in": ["a"], "ne": "b"}}),
        json!({"session_id": null}),
        json!({ "session_id": many }),
    ] {
        assert!(read(filters.clone(), None).is_err(), "{filters}");
    }
}
