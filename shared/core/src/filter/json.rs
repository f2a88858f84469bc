//! JSON as SQL's `jsonb` sees it: containment, and a value as text.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::number::Number;

/// Whether `left` contains `right` (`@>`): of an object every key, of a list every item, whatever else is there and in
/// whatever order; of anything else the same value, numbers by value.
pub(super) fn contains(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => object_contains(left, right),
        (Value::Array(left), Value::Array(right)) => {
            right.iter().all(|right| left.iter().any(|left| contains(left, right)))
        }
        (Value::Number(left), Value::Number(right)) => Number::of(left) == Number::of(right),
        _ => left == right,
    }
}

/// The same for two objects.
pub(super) fn object_contains(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    right
        .iter()
        .all(|(key, right)| left.get(key).is_some_and(|left| contains(left, right)))
}

/// What lies at a path of keys, JSON's null included.
pub(super) fn at<'a>(metadata: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = metadata.get(first)?;
    rest.iter().try_fold(value, |value, key| value.get(key.as_str()))
}

/// A value as text (`->>`): a string as it is, anything else as JSON; null is none.
pub(super) fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.into()),
        other => Some(other.to_string().into()),
    }
}

/// A value as a number, where its text is one.
pub(super) fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Number::of(number),
        Value::String(text) => Number::parse(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containment_is_that_of_jsonb() {
        let left = json!({"a": 1, "b": {"c": [1, 2, {"d": "x", "e": 0}]}, "n": null, "t": ["x", "y"]});
        for inside in [
            json!({}),
            json!({"a": 1.0}),
            json!({"b": {}}),
            json!({"b": {"c": []}}),
            json!({"b": {"c": [2, 2, 1]}}),
            json!({"b": {"c": [{"d": "x"}]}}),
            json!({"n": null}),
            json!({"t": ["y"]}),
        ] {
            assert!(contains(&left, &inside), "{inside}");
        }
        for outside in [
            json!({"a": "1"}),
            json!({"b": []}),
            json!({"b": {"c": [3]}}),
            json!({"b": {"c": {"d": "x"}}}),
            json!({"m": null}),
            json!({"a": null}),
            json!({"t": "x"}),
            json!({"t": ["x", "z"]}),
            json!([]),
            json!("a"),
        ] {
            assert!(!contains(&left, &outside), "{outside}");
        }
    }
}
