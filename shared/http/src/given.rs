//! Users' metadata and settings, as they come in and as they go out.

use reverie_aws::table::members::MemberConfig;
use reverie_aws::table::workspaces::{Given, Metadata};
use reverie_core::config::Config;
use reverie_core::settings::{Configuration, Defaults, LEAST_LONG, LEAST_SHORT, Levels, explicit, instructions_fit};
use reverie_core::text::map_without_nul;
use serde_json::Value;

use crate::error::Error;
use crate::validate::{Node, Problems};

/// The most keys on the first level of metadata.
const MAX_KEYS: usize = 100;
/// The deepest nesting of metadata, its first level counted.
const MAX_DEPTH: usize = 5;

/// What a section of a configuration may hold under a key.
#[derive(Clone, Copy)]
enum Kind {
    Flag,
    /// Custom instructions.
    Instructions,
    /// A whole number of at least this.
    AtLeast(u64),
}

/// The settings that have a meaning, by section. Other keys are kept, but a section that a client reads back holds
/// only these, because the SDKs refuse others there.
const SECTIONS: &[(&str, &[(&str, Kind)])] = &[
    (
        "reasoning",
        &[("enabled", Kind::Flag), ("custom_instructions", Kind::Instructions)],
    ),
    (
        "peer_card",
        &[
            ("use", Kind::Flag),
            ("create", Kind::Flag),
            ("custom_instructions", Kind::Instructions),
        ],
    ),
    (
        "summary",
        &[
            ("enabled", Kind::Flag),
            ("messages_per_short_summary", Kind::AtLeast(LEAST_SHORT)),
            ("messages_per_long_summary", Kind::AtLeast(LEAST_LONG)),
            ("custom_instructions", Kind::Instructions),
        ],
    ),
    (
        "dream",
        &[("enabled", Kind::Flag), ("custom_instructions", Kind::Instructions)],
    ),
    ("dialectic", &[("custom_instructions", Kind::Instructions)]),
];

/// The level whose configuration is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// A workspace or a session: sections, with instructions of at most so many tokens.
    Sections { instruction_tokens: u32 },
    /// A peer: `observe_me` and anything else.
    Peer,
}

impl Level {
    /// A workspace or a session of this deployment.
    pub(crate) fn sections(config: &Config) -> Self {
        Self::Sections {
            instruction_tokens: config.instruction_tokens,
        }
    }
}

/// Reads `metadata` and `configuration` of a body; missing and null are not given.
pub(crate) fn given(body: &Node, problems: &mut Problems, level: Level) -> Given {
    let configuration = body.at("configuration").given();
    Given {
        metadata: metadata(body, problems),
        configuration: configuration.and_then(|node| match level {
            Level::Sections { instruction_tokens } => sections(&node, problems, SECTIONS, instruction_tokens),
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
    Some(map_without_nul(map))
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

/// Reads a configuration of sections: known settings by their kind, nulls left out, everything else as it is.
fn sections(
    node: &Node,
    problems: &mut Problems,
    known: &[(&'static str, &[(&'static str, Kind)])],
    instruction_tokens: u32,
) -> Option<Configuration> {
    let mut configuration = explicit(&map_without_nul(node.object(problems)?));
    if let Some(text) = node.at("custom_instructions").given()
        && let Some(text) = instructions(&text, problems, instruction_tokens)
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
                Kind::Instructions => instructions(&value, problems, instruction_tokens).map(Value::from),
                Kind::AtLeast(low) => value
                    .integer(problems, i64::try_from(*low).unwrap_or(i64::MAX), i64::MAX)
                    .map(Value::from),
            };
            if let (Some(value), Some(Value::Object(stored))) = (value, configuration.get_mut(*name)) {
                stored.insert((*key).to_owned(), value);
            }
        }
    }
    Some(configuration)
}

/// Refuses settings after which the long summary would not be rarer than the short one, given what the levels above say:
/// a session's `workspace`, or for a workspace only the deployment.
pub(crate) fn check_summaries(
    body: &Node,
    given: &Given,
    workspace: Option<&Configuration>,
    defaults: Defaults,
) -> Result<(), Error> {
    // A section that is given replaces the stored one, so that this is all that the level says of summaries.
    let Some(configuration) = given
        .configuration
        .as_ref()
        .filter(|given| given.contains_key("summary"))
    else {
        return Ok(());
    };
    let levels = Levels {
        session: workspace.map(|_| configuration),
        workspace: workspace.unwrap_or(configuration),
    };
    let mut problems = Problems::default();
    if let Err(uneven) = levels.check_summaries(defaults) {
        body.at("configuration")
            .at("summary")
            .refuse(&mut problems, &uneven.to_string());
    }
    problems.finish(Some(()))
}

/// Reads custom instructions of at most so many tokens.
fn instructions(node: &Node, problems: &mut Problems, tokens: u32) -> Option<String> {
    let text = node.text(problems, 0, usize::MAX)?;
    if !instructions_fit(&text, tokens) {
        node.refuse(
            problems,
            &format!("custom_instructions must not exceed {tokens} tokens"),
        );
        return None;
    }
    Some(text)
}

fn peer(node: &Node, problems: &mut Problems) -> Option<Configuration> {
    let mut configuration = explicit(&map_without_nul(node.object(problems)?));
    if let Some(observe_me) = node.at("observe_me").given()
        && let Some(flag) = observe_me.flag(problems)
    {
        configuration.insert("observe_me".to_owned(), flag.into());
    }
    Some(configuration)
}

/// Reads a message's configuration: `reasoning`, and nothing else has an effect.
pub(crate) fn message(body: &Node, problems: &mut Problems, instruction_tokens: u32) -> Option<Configuration> {
    let node = body.at("configuration").given()?;
    let mut configuration = sections(&node, problems, &SECTIONS[..1], instruction_tokens)?;
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
    use serde_json::{Map, json};

    use super::*;

    const SECTIONS_LEVEL: Level = Level::Sections {
        instruction_tokens: 2000,
    };

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
        match read(body, SECTIONS_LEVEL) {
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
            kept(&fits, SECTIONS_LEVEL)["metadata"],
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
            kept(&json!({"metadata": null}), SECTIONS_LEVEL),
            json!({"metadata": null, "configuration": null})
        );
        assert_eq!(
            kept(&json!({"metadata": {}, "configuration": {}}), SECTIONS_LEVEL),
            json!({"metadata": {}, "configuration": {}})
        );
    }

    #[test]
    fn settings_are_checked_and_nulls_are_left_out() {
        let body = json!({"configuration": {
            "reasoning": {"enabled": "false", "custom_instructions": null, "mine": 1},
            "summary": null, "custom_instructions": "", "other": {"a": null}}});
        assert_eq!(
            kept(&body, SECTIONS_LEVEL)["configuration"],
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
    fn c7_the_short_summary_comes_more_often_than_the_long_one_with_what_other_levels_say() {
        let defaults = Defaults::default();
        let check = |summary: Value, workspace: Option<Value>| {
            let body = json!({"configuration": {"summary": summary}});
            let given = read(&body, SECTIONS_LEVEL).unwrap_or_default();
            let workspace = workspace.map(|section| Configuration::from_iter([("summary".to_owned(), section)]));
            match check_summaries(&Node::root("body", Some(&body)), &given, workspace.as_ref(), defaults) {
                Err(Error::Invalid(problems)) => serde_json::to_value(problems).unwrap_or_default()[0].clone(),
                other => json!(format!("{other:?}")),
            }
        };
        let short = |every: u32| json!({"messages_per_short_summary": every});
        let long = |every: u32| json!({"messages_per_long_summary": every});
        let both =
            |short: u32, long: u32| json!({"messages_per_short_summary": short, "messages_per_long_summary": long});
        for (summary, workspace) in [
            (both(19, 20), None),
            (short(59), None),
            (long(21), None),
            (short(60), Some(long(61))),
            (long(20), Some(short(19))),
            (json!({"enabled": false}), Some(long(80))),
        ] {
            assert_eq!(
                check(summary.clone(), workspace.clone()),
                "Ok(())",
                "{summary} {workspace:?}"
            );
        }
        for (summary, workspace) in [
            (both(20, 20), None),
            (short(60), None),
            (long(20), None),
            (short(40), Some(long(40))),
            (long(30), Some(both(30, 90))),
        ] {
            let problem = check(summary.clone(), workspace.clone());
            assert_eq!(
                problem["loc"],
                json!(["body", "configuration", "summary"]),
                "{summary} {workspace:?}"
            );
        }
        assert_eq!(
            check(short(70), Some(json!({})))["msg"],
            "Value error, messages_per_short_summary (70, set by the session configuration) must be less than \
             messages_per_long_summary (60, set by the global configuration)"
        );
    }

    #[test]
    fn c15_instructions_have_a_limit_of_tokens_wherever_they_stand() {
        let long = "word ".repeat(2001);
        let with = |text: &str| {
            let section = json!({ "custom_instructions": text });
            json!({"configuration": {"custom_instructions": text, "reasoning": section, "peer_card": section,
                "summary": section, "dream": section, "dialectic": section}})
        };
        assert!(read(&with(&"word ".repeat(2000)), SECTIONS_LEVEL).is_ok());
        let found = refused(&with(&long));
        let places: Vec<_> = found
            .as_array()
            .into_iter()
            .flatten()
            .map(|problem| &problem["loc"])
            .collect();
        let own = |section: &str| json!(["body", "configuration", section, "custom_instructions"]);
        let shared = json!(["body", "configuration", "custom_instructions"]);
        let sections = ["reasoning", "peer_card", "summary", "dream", "dialectic"].map(own);
        assert_eq!(places, [&shared].into_iter().chain(&sections).collect::<Vec<_>>());
        assert_eq!(
            found[0]["msg"],
            "Value error, custom_instructions must not exceed 2000 tokens"
        );
        // A message's own are limited, too; a limit of 0 allows none, but for the empty text that turns them off.
        let message = |text: &str, tokens| {
            let body = json!({"configuration": {"reasoning": {"custom_instructions": text}}});
            let mut problems = Problems::default();
            let read = message(&Node::root("body", Some(&body)), &mut problems, tokens);
            problems.finish(read).is_ok()
        };
        assert!(!message(&long, 2000) && message("a", 1) && !message("a", 0) && message("", 0));
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
        let read = message(&Node::root("body", Some(&body)), &mut problems, 2000);
        assert_eq!(
            problems.finish(read).map(Value::Object).ok(),
            Some(json!({"reasoning": {"enabled": false}}))
        );
    }
}
