//! Users' metadata and settings, as they come in and as they go out.

use reverie_aws::table::sessions::MemberConfig;
use reverie_aws::table::workspaces::{Given, Metadata};
use reverie_core::settings::{Configuration, explicit};
use reverie_core::text::without_nul;
use serde_json::{Map, Value};

use crate::validate::{Node, Problems};

/// The most keys on the first level of metadata.
const MAX_KEYS: usize = 100;
/// The deepest nesting of metadata, its first level counted.
const MAX_DEPTH: usize = 5;

/// What a section of a configuration may hold under a key.
#[derive(Clone, Copy)]
enum Kind {
    Flag,
    Text,
    /// A whole number of at least this.
    AtLeast(i64),
}

/// The settings that have a meaning, by section. Other keys are kept, but a section that a client reads back holds
/// only these, because the SDKs refuse others there.
const SECTIONS: &[(&str, &[(&str, Kind)])] = &[
    (
        "reasoning",
        &[("enabled", Kind::Flag), ("custom_instructions", Kind::Text)],
    ),
    (
        "peer_card",
        &[
            ("use", Kind::Flag),
            ("create", Kind::Flag),
            ("custom_instructions", Kind::Text),
        ],
    ),
    (
        "summary",
        &[
            ("enabled", Kind::Flag),
            (SHORT, Kind::AtLeast(10)),
            (LONG, Kind::AtLeast(20)),
            ("custom_instructions", Kind::Text),
        ],
    ),
    ("dream", &[("enabled", Kind::Flag), ("custom_instructions", Kind::Text)]),
    ("dialectic", &[("custom_instructions", Kind::Text)]),
];
const SHORT: &str = "messages_per_short_summary";
const LONG: &str = "messages_per_long_summary";

/// The level whose configuration is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// A workspace or a session: sections.
    Sections,
    /// A peer: `observe_me` and anything else.
    Peer,
}

/// Reads `metadata` and `configuration` of a body; missing and null are not given.
pub(crate) fn given(body: &Node, problems: &mut Problems, level: Level) -> Given {
    let configuration = body.at("configuration").given();
    Given {
        metadata: metadata(body, problems),
        configuration: configuration.and_then(|node| match level {
            Level::Sections => sections(&node, problems, SECTIONS),
            Level::Peer => peer(&node, problems),
        }),
    }
}

/// Reads `metadata`, NULs removed.
pub(crate) fn metadata(body: &Node, problems: &mut Problems) -> Option<Metadata> {
    let node = body.at("metadata").given()?;
    let map = node.object(problems)?;
    if map.len() > MAX_KEYS {
        node.refuse(problems, &format!("metadata has more than {MAX_KEYS} top-level keys"));
        return None;
    }
    if map.values().any(|value| deeper_than(value, MAX_DEPTH - 1)) {
        let rule = format!("metadata is nested more than {MAX_DEPTH} levels deep");
        node.refuse(problems, &rule);
        return None;
    }
    Some(cleaned(map))
}

/// Whether a value has more than `levels` levels of objects and lists.
fn deeper_than(value: &Value, levels: usize) -> bool {
    let mut children: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => return false,
    };
    levels == 0 || children.any(|child| deeper_than(child, levels - 1))
}

/// A map without NUL characters in keys and values.
fn cleaned(map: &Map<String, Value>) -> Map<String, Value> {
    fn clean(value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(without_nul(text)),
            Value::Array(items) => items.iter().map(clean).collect(),
            Value::Object(map) => Value::Object(cleaned(map)),
            other => other.clone(),
        }
    }
    map.iter()
        .map(|(key, value)| (without_nul(key), clean(value)))
        .collect()
}

/// Reads a configuration of sections: known settings by their kind, nulls left out, everything else as it is.
fn sections(
    node: &Node,
    problems: &mut Problems,
    known: &[(&'static str, &[(&'static str, Kind)])],
) -> Option<Configuration> {
    let mut configuration = explicit(&cleaned(node.object(problems)?));
    if let Some(text) = node.at("custom_instructions").given()
        && let Some(text) = text.text(problems, 0, usize::MAX)
    {
        configuration.insert("custom_instructions".to_owned(), text.into());
    }
    for (name, keys) in known {
        let Some(section) = node.at(*name).given() else {
            continue;
        };
        if section.object(problems).is_none() {
            continue;
        }
        for (key, kind) in *keys {
            let Some(value) = section.at(*key).given() else {
                continue;
            };
            let value = match kind {
                Kind::Flag => value.flag(problems).map(Value::from),
                Kind::Text => value.text(problems, 0, usize::MAX).map(Value::from),
                Kind::AtLeast(low) => value.integer(problems, *low, i64::MAX).map(Value::from),
            };
            if let (Some(value), Some(Value::Object(stored))) = (value, configuration.get_mut(*name)) {
                stored.insert((*key).to_owned(), value);
            }
        }
    }
    let summary = configuration.get("summary");
    let every = |key| summary.and_then(|section| section.get(key)).and_then(Value::as_i64);
    if let (Some(short), Some(long)) = (every(SHORT), every(LONG))
        && short >= long
    {
        node.at("summary")
            .refuse(problems, &format!("{SHORT} must be less than {LONG}"));
    }
    Some(configuration)
}

fn peer(node: &Node, problems: &mut Problems) -> Option<Configuration> {
    let mut configuration = explicit(&cleaned(node.object(problems)?));
    if let Some(observe_me) = node.at("observe_me").given()
        && let Some(flag) = observe_me.flag(problems)
    {
        configuration.insert("observe_me".to_owned(), flag.into());
    }
    Some(configuration)
}

/// Reads a message's configuration: `reasoning`, and nothing else has an effect.
pub(crate) fn message(body: &Node, problems: &mut Problems) -> Option<Configuration> {
    let node = body.at("configuration").given()?;
    let mut configuration = sections(&node, problems, &SECTIONS[..1])?;
    configuration.retain(|key, _| key == "reasoning");
    Some(configuration).filter(|configuration| !configuration.is_empty())
}

/// Reads a peer's settings in a session.
pub(crate) fn member(node: &Node, problems: &mut Problems) -> MemberConfig {
    let mut flag = |key| node.at(key).given().and_then(|node| node.flag(problems));
    MemberConfig {
        observe_me: flag("observe_me"),
        observe_others: flag("observe_others"),
    }
}

/// A workspace's or session's configuration as it is shown: explicit settings only, and in the known sections only
/// known keys.
pub(crate) fn shown(configuration: &Configuration) -> Configuration {
    let mut shown = explicit(configuration);
    for (name, keys) in SECTIONS {
        if let Some(Value::Object(section)) = shown.get_mut(*name) {
            section.retain(|key, _| keys.iter().any(|(known, _)| known == key));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Error;

    fn read(body: &Value, level: Level) -> Result<Given, Error> {
        let mut problems = Problems::default();
        let given = given(&Node::root("body", Some(body)), &mut problems, level);
        problems.finish(Some(given))
    }

    fn kept(body: &Value, level: Level) -> Value {
        let given = read(body, level).unwrap_or_default();
        json!({"metadata": given.metadata, "configuration": given.configuration})
    }

    fn refused(body: &Value) -> Value {
        match read(body, Level::Sections) {
            Err(Error::Invalid(problems)) => serde_json::to_value(problems).unwrap_or_default(),
            other => json!(format!("{other:?}")),
        }
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({"x": 1}), |inner, _| json!({ "x": inner }))
    }

    #[test]
    fn metadata_has_limits_and_loses_nul() {
        let fits = json!({"metadata": {"a\0b": ["c\0", {"d": "\0e\u{1b}"}]}});
        assert_eq!(
            kept(&fits, Level::Sections)["metadata"],
            json!({"ab": ["c", {"d": "e\u{1b}"}]})
        );
        assert!(read(&json!({"metadata": nested(5)}), Level::Peer).is_ok());
        assert_eq!(
            refused(&json!({"metadata": nested(6)}))[0]["msg"],
            "Value error, metadata is nested more than 5 levels deep"
        );
        let keys: Map<_, _> = (0..101).map(|n| (n.to_string(), json!(n))).collect();
        assert_eq!(refused(&json!({ "metadata": keys }))[0]["type"], "value_error");
        assert_eq!(
            refused(&json!({"metadata": []})),
            json!([{"type": "dict_type", "loc": ["body", "metadata"], "msg": "Input should be a valid dictionary",
                "input": []}])
        );
    }

    #[test]
    fn missing_and_null_are_not_given_and_an_empty_object_is() {
        assert_eq!(
            kept(&json!({"metadata": null}), Level::Sections),
            json!({"metadata": null, "configuration": null})
        );
        assert_eq!(
            kept(&json!({"metadata": {}, "configuration": {}}), Level::Sections),
            json!({"metadata": {}, "configuration": {}})
        );
    }

    #[test]
    fn settings_are_checked_and_nulls_are_left_out() {
        let body = json!({"configuration": {
            "reasoning": {"enabled": "false", "custom_instructions": null, "mine": 1},
            "summary": null, "custom_instructions": "", "other": {"a": null}}});
        assert_eq!(
            kept(&body, Level::Sections)["configuration"],
            json!({"reasoning": {"enabled": false, "mine": 1}, "custom_instructions": "", "other": {}})
        );
        let bad = json!({"configuration": {"dream": {"enabled": "perhaps"}, "peer_card": {"use": []},
            "summary": {"messages_per_short_summary": 9, "messages_per_long_summary": 19},
            "reasoning": {"custom_instructions": 3}}});
        let places: Vec<_> = refused(&bad)
            .as_array()
            .into_iter()
            .flatten()
            .map(|problem| json!([problem["type"], problem["loc"][2], problem["loc"][3]]))
            .collect();
        assert_eq!(
            places,
            [
                json!(["string_type", "reasoning", "custom_instructions"]),
                json!(["bool_type", "peer_card", "use"]),
                json!(["greater_than_equal", "summary", "messages_per_short_summary"]),
                json!(["greater_than_equal", "summary", "messages_per_long_summary"]),
                json!(["bool_parsing", "dream", "enabled"]),
            ]
        );
    }

    #[test]
    fn c7_the_short_summary_comes_more_often_than_the_long_one() {
        let body = |short: u32, long: u32| json!({"configuration": {"summary": {"messages_per_short_summary": short, "messages_per_long_summary": long}}});
        assert!(read(&body(19, 20), Level::Sections).is_ok());
        assert_eq!(
            refused(&body(20, 20))[0]["loc"],
            json!(["body", "configuration", "summary"])
        );
    }

    #[test]
    fn what_the_sdks_forbid_is_kept_but_not_shown() {
        let stored = json!({"reasoning": {"enabled": true, "mine": 1}, "other": {"a": 1}});
        let shown = shown(stored.as_object().unwrap_or(&Map::new()));
        assert_eq!(
            Value::Object(shown),
            json!({"reasoning": {"enabled": true}, "other": {"a": 1}})
        );
    }

    #[test]
    fn a_peer_keeps_any_setting_and_a_message_only_reasoning() {
        let body = json!({"configuration": {"observe_me": "no", "mine": {"deep": true}, "none": null}});
        assert_eq!(
            kept(&body, Level::Peer)["configuration"],
            json!({"observe_me": false, "mine": {"deep": true}})
        );
        let body = json!({"configuration": {"reasoning": {"enabled": false}, "dream": {"enabled": "perhaps"}}});
        let mut problems = Problems::default();
        let read = message(&Node::root("body", Some(&body)), &mut problems);
        assert_eq!(
            problems.finish(read).map(Value::Object).ok(),
            Some(json!({"reasoning": {"enabled": false}}))
        );
    }
}
