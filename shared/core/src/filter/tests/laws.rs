//! Laws that hold for every filter and every row.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::filter::expression::{Comparison, Expression, Test};

const SCHEMA: Schema = Schema::CONCLUSION;

/// Any JSON, with words that mean something in places where they do.
fn anything() -> impl Strategy<Value = Value> {
    let word = select(vec![
        "AND",
        "OR",
        "NOT",
        "gt",
        "lt",
        "ne",
        "in",
        "contains",
        "session_id",
        "metadata",
        "level",
        "source_ids",
        "created_at",
        "times_derived",
        "*",
        "5",
        "",
    ]);
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    scalar.prop_recursive(8, 60, 5, move |inner| {
        let key = prop_oneof![4 => word.clone().prop_map(str::to_owned), 1 => ".{0,3}"];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(key, inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A condition that is right.
fn condition() -> impl Strategy<Value = Value> {
    let text = || select(vec!["a", "b", "*"]);
    let number = || {
        prop_oneof![
            (0_i64..4).prop_map(Value::from),
            select(vec!["1", "x"]).prop_map(Value::from)
        ]
    };
    let order = || select(vec!["gt", "gte", "lt", "lte", "ne"]);
    prop_oneof![
        (select(vec!["session_id", "observer", "id"]), text()).prop_map(|(column, text)| json!({ column: text })),
        Just(json!({"session_id": null})),
        Just(json!({"session_id": {"ne": null}})),
        (select(vec!["session_id", "observer"]), order(), text())
            .prop_map(|(column, op, text)| json!({column: {op: text}})),
        (select(vec!["session_id", "observer"]), vec(text(), 0..3)).prop_map(|(column, list)| json!({ column: list })),
        (order(), 0_u64..4).prop_map(|(op, number)| json!({"times_derived": {op: number}})),
        (order(), number()).prop_map(|(op, value)| json!({"metadata": {"n": {op: value}}})),
        vec(number(), 0..3).prop_map(|list| json!({"metadata": {"n": {"in": list}}})),
        number().prop_map(|value| json!({"metadata": {"n": value}})),
        Just(json!({"metadata": {"n": null}})),
        select(vec!["explicit", "deductive"]).prop_map(|level| json!({"level": level})),
        text().prop_map(|id| json!({"source_ids": {"contains": id}})),
    ]
}

/// A filter that is right, at most three levels deep, so that laws can wrap it.
fn filter() -> impl Strategy<Value = Value> {
    condition().prop_recursive(3, 20, 3, |inner| {
        let list = vec(inner, 0..4);
        (
            select(vec!["AND", "OR", "NOT"]),
            list,
            proptest::option::of(condition()),
        )
            .prop_map(|(word, list, beside)| {
                let mut all = beside.as_ref().map(map).unwrap_or_default();
                all.insert(word.to_owned(), list.into());
                Value::Object(all)
            })
    })
}

fn row() -> impl Strategy<Value = Fixture> {
    let number = prop_oneof![
        Just(json!({})),
        Just(json!({"n": null})),
        (0_i64..4).prop_map(|n| json!({ "n": n })),
        select(vec!["1", "x"]).prop_map(|n| json!({ "n": n })),
    ];
    (
        proptest::option::of(select(vec!["a", "b"])),
        select(vec!["a", "b"]),
        select(vec!["explicit", "deductive"]),
        0_u64..4,
        vec(select(vec!["a", "b"]), 0..3),
        number,
    )
        .prop_map(|(session, peer, level, tokens, sources, metadata)| Fixture {
            session,
            peer,
            level,
            tokens,
            sources,
            metadata,
            ..Fixture::default()
        })
}

/// SQL's three truth values, as the contract states them: a comparison with null is unknown, `ne` and the tests for null
/// never are, and `NOT` is `IS NOT TRUE`.
fn truth(expression: &Expression, row: &Fixture) -> Option<bool> {
    let of = |parts: &[Expression]| parts.iter().map(|part| truth(part, row)).collect::<Vec<_>>();
    match expression {
        Expression::All(parts) => {
            let parts = of(parts);
            if parts.contains(&Some(false)) {
                Some(false)
            } else {
                (!parts.contains(&None)).then_some(true)
            }
        }
        Expression::Any(parts) => {
            let parts = of(parts);
            if parts.contains(&Some(true)) {
                Some(true)
            } else {
                (!parts.contains(&None)).then_some(false)
            }
        }
        Expression::Not(part) => Some(truth(part, row) != Some(true)),
        Expression::Test(target, test) => {
            let unset = match row.value(target.column) {
                Datum::Null => true,
                Datum::Metadata(metadata) => target
                    .path
                    .first()
                    .is_some_and(|key| metadata.get(key).is_none_or(Value::is_null) && !matches!(test, Test::Holds(_))),
                _ => false,
            };
            let never_unknown = matches!(
                test,
                Test::Null | Test::Present | Test::Compare(Comparison::NotEqual, _)
            );
            let holds = Filter(Some(expression.clone())).matches(row);
            (never_unknown || !unset).then_some(holds)
        }
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().rev().map(reversed).collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .rev()
                .map(|(key, value)| (key.clone(), reversed(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_json_is_read_or_refused_in_a_bounded_sentence(filters in btree_map(".{0,3}|AND|OR|NOT|metadata|level|session_id|source_ids", anything(), 0..4), row in row()) {
        let filters = filters.into_iter().collect();
        for schema in [Schema::WORKSPACE, Schema::PEER, Schema::SESSION, Schema::MESSAGE, Schema::CONCLUSION] {
            match Filter::parse(&filters, &schema) {
                Ok(filter) => drop(filter.matches(&row)),
                Err(error) => prop_assert!(error.to_string().chars().count() < 300),
            }
        }
    }

    #[test]
    fn two_truth_values_decide_as_three_do(filters in filter(), row in row()) {
        let parsed = parse(&SCHEMA, &filters);
        prop_assert!(parsed.is_ok(), "{filters}: {parsed:?}");
        let Ok(Filter(Some(expression))) = parsed else { return Ok(()) };
        prop_assert_eq!(Filter(Some(expression.clone())).matches(&row), truth(&expression, &row) == Some(true));
    }

    #[test]
    fn not_not_and_de_morgan(a in filter(), b in filter(), row in row()) {
        let holds = |filters: &Value| matches(&SCHEMA, filters, &row);
        prop_assert_eq!(holds(&json!({"NOT": [{"NOT": [a]}]})), holds(&a));
        prop_assert_eq!(
            holds(&json!({"NOT": [{"OR": [a, b]}]})),
            holds(&json!({"AND": [{"NOT": [a]}, {"NOT": [b]}]}))
        );
        prop_assert_eq!(
            holds(&json!({"NOT": [{"AND": [a, b]}]})),
            holds(&json!({"OR": [{"NOT": [a]}, {"NOT": [b]}]}))
        );
        prop_assert_eq!(holds(&json!({"NOT": [a, b]})), holds(&json!({"NOT": [{"OR": [a, b]}]})));
    }

    #[test]
    fn order_does_not_matter(filters in filter(), row in row()) {
        prop_assert_eq!(matches(&SCHEMA, &filters, &row), matches(&SCHEMA, &reversed(&filters), &row));
    }

    #[test]
    fn rows_that_need_not_be_read_never_match(filters in filter(), row in row()) {
        let Ok(filter) = parse(&SCHEMA, &filters) else { return Err(TestCaseError::fail(filters.to_string())) };
        for column in [Column::Id, Column::Observer, Column::Session] {
            if let (Some(values), true) = (filter.values_of(column), filter.matches(&row)) {
                let Datum::Text(text) = row.value(column) else {
                    return Err(TestCaseError::fail(format!("{filters}: null matches")));
                };
                prop_assert!(values.contains(text), "{filters}");
            }
        }
    }
}
