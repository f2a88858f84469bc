//! Reading requests: all problems of path, query and body are collected and reported at once, in FastAPI's shapes
//! (`contracts/honcho.md` section 1).
//!
//! A [`Node`] is a place in a request with the value found there; reading it gives the value, or notes a [`Problem`].
//! Values are read as leniently as the contract's server reads them: `"3"` is an integer, `"true"` a flag.

use std::borrow::Cow;

use reverie_core::id::{MAX_NAME_CHARS, NAME_PATTERN, NameError};
use reverie_core::text::without_nul;
use reverie_core::time::Time;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Error;

/// The most problems that one answer lists.
const MAX_PROBLEMS: usize = 100;
/// The most bytes of an input that an answer repeats; a larger one is left out.
const MAX_ECHO: usize = 2_000;

/// A step of a place: a key or an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Step {
    Key(Cow<'static, str>),
    Index(usize),
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    loc: Vec<Step>,
    msg: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ctx: Option<Value>,
}

/// Collects problems while a request is read.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<Problem>,
    /// The body cannot be read at all, which has been noted: nothing more is said about it.
    no_body: bool,
}

impl Problems {
    /// What was read, unless there were problems. A reader gives `None` only after noting one.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Error> {
        match read {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(Error::Invalid(self.found)),
        }
    }

    fn note(&mut self, node: &Node, kind: &'static str, msg: impl Into<String>, ctx: Option<Value>) {
        self.push(kind, node.loc.clone(), msg.into(), node.value, ctx);
    }

    fn push(&mut self, kind: &'static str, loc: Vec<Step>, msg: String, input: Option<&Value>, ctx: Option<Value>) {
        let of_body = matches!(loc.first(), Some(Step::Key(place)) if place == "body");
        if self.found.len() >= MAX_PROBLEMS || (self.no_body && of_body) {
            return;
        }
        let input = input.filter(|value| is_small(value)).cloned();
        self.found.push(Problem {
            kind,
            loc,
            msg,
            input,
            ctx,
        });
    }

    /// Notes that a body is not JSON.
    pub(crate) fn not_json(&mut self, at: usize, error: &str) {
        let loc = vec![Step::Key("body".into()), Step::Index(at)];
        let ctx = json!({ "error": error });
        self.push(
            "json_invalid",
            loc,
            "JSON decode error".to_owned(),
            Some(&json!({})),
            Some(ctx),
        );
        self.no_body = true;
    }
}

/// Whether a value is small enough to be repeated in an answer; looks at no more of it than it must.
fn is_small(value: &Value) -> bool {
    fn size(value: &Value, left: &mut usize) -> Option<()> {
        let own = match value {
            Value::String(text) => text.len(),
            _ => 4,
        };
        *left = left.checked_sub(own)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| size(item, left)),
            Value::Object(map) => map.iter().try_for_each(|(key, item)| {
                *left = left.checked_sub(key.len())?;
                size(item, left)
            }),
            _ => Some(()),
        }
    }
    size(value, &mut MAX_ECHO.clone()).is_some()
}

/// A place in a request and what is there.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    value: Option<&'a Value>,
    parent: Option<&'a Value>,
    loc: Vec<Step>,
}

impl<'a> Node<'a> {
    /// The whole path, query or body.
    pub(crate) fn root(place: &'static str, value: Option<&'a Value>) -> Self {
        Self {
            value,
            parent: None,
            loc: vec![Step::Key(place.into())],
        }
    }

    /// The same value, at a named place.
    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.loc.push(Step::Key(name.into()));
        self
    }

    /// What is under a key.
    pub(crate) fn at(&self, key: impl Into<Cow<'static, str>>) -> Self {
        let key = key.into();
        Self {
            value: self.value.and_then(|value| value.get(key.as_ref())),
            parent: self.value,
            loc: self.loc.iter().cloned().chain([Step::Key(key)]).collect(),
        }
    }

    /// What is under a key, or else under its other name.
    pub(crate) fn either(&self, key: &'static str, other: &'static str) -> Self {
        let found = self.at(key).given().or_else(|| self.at(other).given());
        found.unwrap_or_else(|| self.at(key))
    }

    /// This place, if there is something other than null.
    pub(crate) fn given(self) -> Option<Self> {
        self.value.is_some_and(|value| !value.is_null()).then_some(self)
    }

    fn is_object(&self) -> bool {
        self.value.is_some_and(Value::is_object)
    }

    /// The value; a missing one is a problem.
    pub(crate) fn value(&self, problems: &mut Problems) -> Option<&'a Value> {
        if self.value.is_none() {
            let input = self.parent.unwrap_or(&Value::Null);
            problems.push(
                "missing",
                self.loc.clone(),
                "Field required".to_owned(),
                Some(input),
                None,
            );
        }
        self.value
    }

    /// The request's body, which must be an object.
    pub(crate) fn body(self, problems: &mut Problems) -> Self {
        match self.value {
            Some(Value::Null) => return Self { value: None, ..self }.body(problems),
            None => drop(self.value(problems)),
            Some(_) => {
                self.fields(problems);
            }
        }
        problems.no_body |= !self.is_object();
        self
    }

    /// Whether this is an object, whose fields can be read; anything else is a problem.
    pub(crate) fn fields(&self, problems: &mut Problems) -> bool {
        if self.value(problems).is_some() && !self.is_object() {
            let msg = "Input should be a valid dictionary or object to extract fields from";
            problems.note(self, "model_attributes_type", msg, None);
        }
        self.is_object()
    }

    /// Notes that a value breaks a rule that no type states.
    pub(crate) fn refuse(&self, problems: &mut Problems, rule: &str) {
        problems.note(
            self,
            "value_error",
            format!("Value error, {rule}"),
            Some(json!({"error": {}})),
        );
    }

    /// Text of at least `min` and at most `max` characters, NULs removed.
    pub(crate) fn text(&self, problems: &mut Problems, min: usize, max: usize) -> Option<String> {
        let Value::String(text) = self.value(problems)? else {
            problems.note(self, "string_type", "Input should be a valid string", None);
            return None;
        };
        let text = without_nul(text);
        // Counting characters is only needed when there are enough bytes for too many of them.
        let chars = if text.len() > max || text.len() < 4 * min {
            text.chars().count()
        } else {
            max
        };
        if chars < min {
            let msg = format!("String should have at least {}", counted(min, "character"));
            problems.note(self, "string_too_short", msg, Some(json!({ "min_length": min })));
            return None;
        }
        if chars > max {
            let msg = format!("String should have at most {}", counted(max, "character"));
            problems.note(self, "string_too_long", msg, Some(json!({ "max_length": max })));
            return None;
        }
        Some(text)
    }

    /// A name that is the key of what is here.
    pub(crate) fn key<T>(&self, problems: &mut Problems, parse: fn(&str) -> Result<T, NameError>) -> Option<T> {
        let Some(Step::Key(key)) = self.loc.last() else {
            return None;
        };
        let name = Value::from(key.as_ref());
        let loc = self.loc.iter().cloned().chain([Step::Key("[key]".into())]).collect();
        let node = Node {
            value: Some(&name),
            parent: None,
            loc,
        };
        node.name(problems, parse)
    }

    /// A name of a workspace, peer or session.
    pub(crate) fn name<T>(&self, problems: &mut Problems, parse: fn(&str) -> Result<T, NameError>) -> Option<T> {
        let Some(Value::String(text)) = self.value else {
            // Missing, or not a string: noted by the reader of text.
            self.text(problems, 0, usize::MAX);
            return None;
        };
        match parse(text) {
            Ok(name) => Some(name),
            Err(NameError::Pattern) => {
                let msg = format!("String should match pattern '{NAME_PATTERN}'");
                problems.note(
                    self,
                    "string_pattern_mismatch",
                    msg,
                    Some(json!({"pattern": NAME_PATTERN})),
                );
                None
            }
            Err(NameError::Empty | NameError::TooLong) => {
                self.text(problems, 1, MAX_NAME_CHARS);
                None
            }
        }
    }

    /// A whole number from `low` to `high`.
    pub(crate) fn integer(&self, problems: &mut Problems, low: i64, high: i64) -> Option<i64> {
        let number = match self.value(problems)? {
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => whole,
                (None, Some(float)) if float.fract() == 0.0 => saturating(float),
                _ => {
                    let msg = "Input should be a valid integer, got a number with a fractional part";
                    problems.note(self, "int_from_float", msg, None);
                    return None;
                }
            },
            Value::String(text) => {
                let Ok(whole) = text.trim().parse::<i128>() else {
                    let msg = "Input should be a valid integer, unable to parse string as an integer";
                    problems.note(self, "int_parsing", msg, None);
                    return None;
                };
                i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
            }
            _ => {
                problems.note(self, "int_type", "Input should be a valid integer", None);
                return None;
            }
        };
        if number < low {
            let msg = format!("Input should be greater than or equal to {low}");
            problems.note(self, "greater_than_equal", msg, Some(json!({ "ge": low })));
            return None;
        }
        if number > high {
            let msg = format!("Input should be less than or equal to {high}");
            problems.note(self, "less_than_equal", msg, Some(json!({ "le": high })));
            return None;
        }
        Some(number)
    }

    /// A count from 1 to `high`.
    pub(crate) fn count(&self, problems: &mut Problems, high: usize) -> Option<usize> {
        let high = i64::try_from(high).unwrap_or(i64::MAX);
        self.integer(problems, 1, high)
            .and_then(|count| usize::try_from(count).ok())
    }

    /// A number from 0 to 1.
    pub(crate) fn share(&self, problems: &mut Problems) -> Option<f64> {
        let number = match self.value(problems)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => {
                let parsed = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                if parsed.is_none() {
                    let msg = "Input should be a valid number, unable to parse string as a number";
                    problems.note(self, "float_parsing", msg, None);
                    return None;
                }
                parsed
            }
            _ => None,
        };
        let Some(number) = number else {
            problems.note(self, "float_type", "Input should be a valid number", None);
            return None;
        };
        if number < 0.0 {
            let msg = "Input should be greater than or equal to 0";
            problems.note(self, "greater_than_equal", msg, Some(json!({"ge": 0.0})));
            return None;
        }
        if number > 1.0 {
            let msg = "Input should be less than or equal to 1";
            problems.note(self, "less_than_equal", msg, Some(json!({"le": 1.0})));
            return None;
        }
        Some(number)
    }

    /// A flag.
    pub(crate) fn flag(&self, problems: &mut Problems) -> Option<bool> {
        let word = match self.value(problems)? {
            Value::Bool(flag) => return Some(*flag),
            Value::String(text) => text.to_ascii_lowercase(),
            Value::Number(number) => number.to_string(),
            _ => {
                problems.note(self, "bool_type", "Input should be a valid boolean", None);
                return None;
            }
        };
        match word.as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => {
                let msg = "Input should be a valid boolean, unable to interpret input";
                problems.note(self, "bool_parsing", msg, None);
                None
            }
        }
    }

    /// One of a few words.
    pub(crate) fn one_of(&self, problems: &mut Problems, words: &[&'static str]) -> Option<&'static str> {
        let value = self.value(problems)?;
        let found = words.iter().copied().find(|word| value.as_str() == Some(*word));
        if found.is_none() {
            let expected = alternatives(words);
            let msg = format!("Input should be {expected}");
            problems.note(self, "enum", msg, Some(json!({ "expected": expected })));
        }
        found
    }

    /// A date and time: RFC 3339, or seconds (or milliseconds) since the epoch.
    pub(crate) fn time(&self, problems: &mut Problems) -> Option<Time> {
        let parsed = match self.value(problems)? {
            Value::String(text) => Time::parse(text.trim()).ok(),
            Value::Number(number) => number.as_f64().and_then(|number| {
                let seconds = if number.abs() > 2e10 { number / 1000.0 } else { number };
                let micros = saturating(seconds * 1e6);
                // What cannot be shown with a four-digit year is refused, not bent.
                Some(Time::from_micros(micros)).filter(|time| time.micros() == micros)
            }),
            _ => None,
        };
        if parsed.is_none() {
            let error = "invalid date or time";
            let msg = format!("Input should be a valid datetime, {error}");
            problems.note(self, "datetime_parsing", msg, Some(json!({ "error": error })));
        }
        parsed
    }

    /// The entries of an object.
    pub(crate) fn object(&self, problems: &mut Problems) -> Option<&'a Map<String, Value>> {
        let map = self.value(problems)?.as_object();
        if map.is_none() {
            problems.note(self, "dict_type", "Input should be a valid dictionary", None);
        }
        map
    }

    /// The items of a list of at least `min` and at most `max`.
    pub(crate) fn list(&self, problems: &mut Problems, min: usize, max: usize) -> Vec<Node<'a>> {
        let Some(value) = self.value(problems) else {
            return Vec::new();
        };
        let Value::Array(items) = value else {
            problems.note(self, "list_type", "Input should be a valid list", None);
            return Vec::new();
        };
        let found = items.len();
        if found < min {
            let msg = format!(
                "List should have at least {} after validation, not {found}",
                counted(min, "item")
            );
            let ctx = json!({"field_type": "List", "min_length": min, "actual_length": found});
            problems.note(self, "too_short", msg, Some(ctx));
            return Vec::new();
        }
        if found > max {
            let msg = format!(
                "List should have at most {} after validation, not {found}",
                counted(max, "item")
            );
            let ctx = json!({"field_type": "List", "max_length": max, "actual_length": found});
            problems.note(self, "too_long", msg, Some(ctx));
            return Vec::new();
        }
        let item = |(index, item)| Node {
            value: Some(item),
            parent: self.value,
            loc: self.loc.iter().cloned().chain([Step::Index(index)]).collect(),
        };
        items.iter().enumerate().map(item).collect()
    }
}

/// `1 item`, `2 items`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `'a', 'b' or 'c'`.
fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn saturating(number: f64) -> i64 {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, which is what is wanted"
    )]
    let whole = number as i64;
    whole
}

#[cfg(test)]
mod tests {
    use reverie_core::id::PeerName;

    use super::*;

    /// The problems of reading one body, as they are answered.
    fn problems(body: &Value, read: impl FnOnce(Node, &mut Problems)) -> Value {
        let mut problems = Problems::default();
        read(Node::root("body", Some(body)), &mut problems);
        serde_json::to_value(problems.found).unwrap_or_default()
    }

    #[test]
    fn a_bad_name_is_answered_as_the_contract_shows() {
        let read = |body: Value| problems(&body, |node, p| drop(node.at("id").name(p, PeerName::parse)));
        assert_eq!(
            read(json!({"id": "bad id!"})),
            json!([{"type": "string_pattern_mismatch", "loc": ["body", "id"],
                "msg": "String should match pattern '^[a-zA-Z0-9_-]+$'", "input": "bad id!",
                "ctx": {"pattern": "^[a-zA-Z0-9_-]+$"}}])
        );
        assert_eq!(
            read(json!({})),
            json!([{"type": "missing", "loc": ["body", "id"], "msg": "Field required", "input": {}}])
        );
        assert_eq!(
            read(json!({"id": ""})),
            json!([{"type": "string_too_short", "loc": ["body", "id"],
                "msg": "String should have at least 1 character", "input": "", "ctx": {"min_length": 1}}])
        );
        let long = "a".repeat(513);
        assert_eq!(
            read(json!({ "id": long })),
            json!([{"type": "string_too_long", "loc": ["body", "id"],
                "msg": "String should have at most 512 characters", "input": long, "ctx": {"max_length": 512}}])
        );
        assert_eq!(
            read(json!({"id": 7})),
            json!([{"type": "string_type", "loc": ["body", "id"], "msg": "Input should be a valid string", "input": 7}])
        );
        assert_eq!(read(json!({"id": "a".repeat(512)})), json!([]));
    }

    #[test]
    fn numbers_flags_and_words_are_read_as_leniently_as_the_contract_does() {
        let body = json!({"a": "3", "b": 3.0, "c": "yes", "d": 1, "e": "0.5", "f": "omni"});
        let mut p = Problems::default();
        let node = Node::root("body", Some(&body));
        assert_eq!(node.at("a").integer(&mut p, 1, 9), Some(3));
        assert_eq!(node.at("b").integer(&mut p, 1, 9), Some(3));
        assert_eq!(node.at("c").flag(&mut p), Some(true));
        assert_eq!(node.at("d").flag(&mut p), Some(true));
        assert_eq!(node.at("e").share(&mut p), Some(0.5));
        assert_eq!(node.at("f").one_of(&mut p, &["omni"]), Some("omni"));
        assert!(p.found.is_empty());
    }

    #[test]
    fn every_problem_is_answered_at_once() {
        let body =
            json!({"page": "x", "size": 101, "top": 0, "reverse": "maybe", "type": "nap", "far": 2, "at": "now"});
        let found = problems(&body, |node, p| {
            node.at("page").integer(p, 1, 9);
            node.at("size").integer(p, 1, 100);
            node.at("top").integer(p, 1, 100);
            node.at("reverse").flag(p);
            node.at("type").one_of(p, &["omni", "card_refresh"]);
            node.at("far").share(p);
            node.at("at").time(p);
        });
        assert_eq!(
            found,
            json!([
                {"type": "int_parsing", "loc": ["body", "page"], "input": "x",
                    "msg": "Input should be a valid integer, unable to parse string as an integer"},
                {"type": "less_than_equal", "loc": ["body", "size"], "input": 101,
                    "msg": "Input should be less than or equal to 100", "ctx": {"le": 100}},
                {"type": "greater_than_equal", "loc": ["body", "top"], "input": 0,
                    "msg": "Input should be greater than or equal to 1", "ctx": {"ge": 1}},
                {"type": "bool_parsing", "loc": ["body", "reverse"], "input": "maybe",
                    "msg": "Input should be a valid boolean, unable to interpret input"},
                {"type": "enum", "loc": ["body", "type"], "input": "nap",
                    "msg": "Input should be 'omni' or 'card_refresh'", "ctx": {"expected": "'omni' or 'card_refresh'"}},
                {"type": "less_than_equal", "loc": ["body", "far"], "input": 2,
                    "msg": "Input should be less than or equal to 1", "ctx": {"le": 1.0}},
                {"type": "datetime_parsing", "loc": ["body", "at"], "input": "now",
                    "msg": "Input should be a valid datetime, invalid date or time",
                    "ctx": {"error": "invalid date or time"}},
            ])
        );
    }

    #[test]
    fn lists_say_how_many_they_should_have() {
        let body = json!({"none": [], "many": [1, 2, 3], "text": "x"});
        let found = problems(&body, |node, p| {
            node.at("none").list(p, 1, 100);
            node.at("many").list(p, 1, 2);
            node.at("text").list(p, 1, 2);
        });
        assert_eq!(
            found,
            json!([
                {"type": "too_short", "loc": ["body", "none"], "input": [],
                    "msg": "List should have at least 1 item after validation, not 0",
                    "ctx": {"field_type": "List", "min_length": 1, "actual_length": 0}},
                {"type": "too_long", "loc": ["body", "many"], "input": [1, 2, 3],
                    "msg": "List should have at most 2 items after validation, not 3",
                    "ctx": {"field_type": "List", "max_length": 2, "actual_length": 3}},
                {"type": "list_type", "loc": ["body", "text"], "input": "x", "msg": "Input should be a valid list"},
            ])
        );
    }

    #[test]
    fn a_body_that_is_no_object_is_one_problem() {
        let read = |body: Option<&Value>| {
            let mut problems = Problems::default();
            Node::root("body", body).body(&mut problems);
            serde_json::to_value(problems.found).unwrap_or_default()
        };
        assert_eq!(
            read(None),
            json!([{"type": "missing", "loc": ["body"], "msg": "Field required", "input": null}])
        );
        assert_eq!(
            read(Some(&json!([1]))),
            json!([{"type": "model_attributes_type", "loc": ["body"], "input": [1],
                "msg": "Input should be a valid dictionary or object to extract fields from"}])
        );
    }

    #[test]
    fn large_inputs_are_not_repeated_and_problems_are_bounded() {
        let body = json!({"text": "x".repeat(30_000)});
        let found = problems(&body, |node, p| drop(node.at("text").text(p, 0, 25_000)));
        assert_eq!(
            found,
            json!([{"type": "string_too_long", "loc": ["body", "text"],
                "msg": "String should have at most 25000 characters", "ctx": {"max_length": 25000}}])
        );
        let found = problems(&json!({}), |node, p| {
            for n in 0..500 {
                node.at(n.to_string()).flag(p);
            }
        });
        assert_eq!(found.as_array().map(Vec::len), Some(MAX_PROBLEMS));
    }

    #[test]
    fn nul_is_removed_and_text_is_counted_in_characters() {
        let body = json!({"text": "a\0é\u{7}", "nul": "\0"});
        let mut p = Problems::default();
        let node = Node::root("body", Some(&body));
        assert_eq!(node.at("text").text(&mut p, 3, 3).as_deref(), Some("aé\u{7}"));
        assert!(p.found.is_empty());
        assert_eq!(node.at("nul").text(&mut p, 1, 3), None);
        assert_eq!(p.found.len(), 1);
    }
}
