//! What each row of the seed says of settings, one by one.

use serde_json::json;

use super::*;

fn map(value: Value) -> Configuration {
    match value {
        Value::Object(map) => map,
        _ => Configuration::new(),
    }
}

#[test]
fn h10_dreams_are_on_by_default_and_the_nearest_level_decides() {
    let (none, off, on) = (
        map(json!({})),
        map(json!({"dream": {"enabled": false}})),
        map(json!({"dream": {"enabled": true}})),
    );
    let decide = |session, workspace| {
        let decided = Levels { session, workspace }.dreaming(Defaults::default());
        (decided.value, decided.by)
    };
    assert_eq!(decide(None, &none), (true, DecidedBy::Global));
    assert_eq!(decide(None, &off), (false, DecidedBy::Workspace));
    assert_eq!(decide(Some(&on), &off), (true, DecidedBy::Session));
    assert_eq!(decide(Some(&off), &none), (false, DecidedBy::Session));
    assert_eq!(
        decide(Some(&map(json!({"dream": {"enabled": null}}))), &off),
        (false, DecidedBy::Workspace)
    );
}

#[test]
fn h37_dreams_are_off_when_reasoning_is_off() {
    let off = map(json!({"reasoning": {"enabled": false}, "dream": {"enabled": true}}));
    let none = map(json!({}));
    let decided = Levels {
        session: None,
        workspace: &off,
    }
    .dreaming(Defaults::default());
    assert_eq!((decided.value, decided.by), (false, DecidedBy::Workspace));
    let decided = Levels {
        session: Some(&none),
        workspace: &none,
    }
    .dreaming(Defaults {
        reasoning: false,
        ..Defaults::default()
    });
    assert_eq!((decided.value, decided.by), (false, DecidedBy::Global));
}

#[test]
fn c2_a_peers_explicit_observe_me_beats_the_workspace_but_not_session_or_message() {
    let (none, off) = (map(json!({})), map(json!({"reasoning": {"enabled": false}})));
    let reasoned = |message: Option<&Configuration>, session, peer, workspace| {
        Levels { session, workspace }
            .reasoning(message, peer, Defaults::default())
            .value
    };
    assert!(reasoned(None, None, Some(true), &off));
    assert!(!reasoned(None, None, None, &off));
    assert!(!reasoned(None, Some(&off), Some(true), &none));
    assert!(!reasoned(Some(&off), None, Some(true), &none));
    assert!(!observed(Some(false), Some(true)));
    assert!(observed(None, None));
}

#[test]
fn c21_session_sections_replace_one_another_and_leave_the_rest() {
    let stored =
        map(json!({"reasoning": {"enabled": false}, "summary": {"enabled": true, "messages_per_short_summary": 12}}));
    let given = map(json!({"summary": {"enabled": false}, "dream": null}));
    assert_eq!(
        Value::Object(merge_sections(&stored, &given)),
        json!({"reasoning": {"enabled": false}, "summary": {"enabled": false}})
    );
}

const AGENTS: [Agent; 4] = [Agent::Deriver, Agent::Summariser, Agent::Dialectic, Agent::Dreamer];

/// What an agent follows, and whose word it is.
fn follows(session: &Value, workspace: &Value, agent: Agent) -> (Option<String>, DecidedBy) {
    let (session, workspace) = (map(session.clone()), map(workspace.clone()));
    let levels = Levels {
        session: Some(&session),
        workspace: &workspace,
    };
    let found = levels.instructions(agent);
    (found.value.map(str::to_owned), found.by)
}

fn text(value: &str, by: DecidedBy) -> (Option<String>, DecidedBy) {
    (Some(value.to_owned()), by)
}

/// A configuration in which one agent has instructions of its own.
fn own_of(agent: Agent, value: &str) -> Value {
    let section = match agent {
        Agent::Deriver => "reasoning",
        Agent::Summariser => "summary",
        Agent::Dialectic => "dialectic",
        Agent::Dreamer => "dream",
    };
    json!({section: {"custom_instructions": value}})
}

#[test]
fn c9_the_shared_instructions_are_every_agents_fallback() {
    let shared = json!({"custom_instructions": "in German"});
    for agent in AGENTS {
        assert_eq!(
            follows(&json!({}), &shared, agent),
            text("in German", DecidedBy::Workspace)
        );
        assert_eq!(
            follows(&shared, &json!({}), agent),
            text("in German", DecidedBy::Session)
        );
        assert_eq!(follows(&json!({}), &json!({}), agent), (None, DecidedBy::Global));
    }
}

#[test]
fn c10_each_agent_has_its_own_and_the_cards_are_added_and_never_shared() {
    for agent in AGENTS {
        for other in AGENTS {
            let expected = if agent == other {
                text("mine", DecidedBy::Workspace)
            } else {
                (None, DecidedBy::Global)
            };
            assert_eq!(follows(&json!({}), &own_of(agent, "mine"), other), expected);
        }
    }
    let card = |session: Value, workspace: Value| {
        let (session, workspace) = (map(session), map(workspace));
        let found = Levels {
            session: Some(&session),
            workspace: &workspace,
        }
        .card_instructions();
        (found.value.map(str::to_owned), found.by)
    };
    let (of_card, shared) = (
        json!({"peer_card": {"custom_instructions": "only work"}}),
        json!({"custom_instructions": "in German"}),
    );
    assert_eq!(card(json!({}), shared.clone()), (None, DecidedBy::Global));
    assert_eq!(
        card(json!({}), of_card.clone()),
        text("only work", DecidedBy::Workspace)
    );
    // A session's shared value says nothing about the card.
    assert_eq!(card(shared, of_card.clone()), text("only work", DecidedBy::Workspace));
    assert_eq!(
        card(json!({"peer_card": {"custom_instructions": ""}}), of_card.clone()),
        (None, DecidedBy::Session)
    );
    // Nor does the card's own word reach anybody else.
    for agent in AGENTS {
        assert_eq!(follows(&of_card, &json!({}), agent), (None, DecidedBy::Global));
    }
}

#[test]
fn c11_the_most_specific_level_wins_its_shared_value_beats_the_workspaces_own() {
    for agent in AGENTS {
        assert_eq!(
            follows(&json!({"custom_instructions": "session"}), &own_of(agent, "own"), agent),
            text("session", DecidedBy::Session)
        );
        // A null, an empty section and a value that is no text say nothing.
        let silent =
            json!({"custom_instructions": null, "summary": {}, "dream": {"custom_instructions": null}, "dialectic": 1});
        assert_eq!(
            follows(&silent, &own_of(agent, "own"), agent),
            text("own", DecidedBy::Workspace)
        );
    }
}

#[test]
fn c12_within_a_level_an_agents_own_value_beats_the_shared_one() {
    for agent in AGENTS {
        let mut both = own_of(agent, "own");
        both["custom_instructions"] = json!("shared");
        assert_eq!(follows(&both, &json!({}), agent), text("own", DecidedBy::Session));
        assert_eq!(follows(&json!({}), &both, agent), text("own", DecidedBy::Workspace));
    }
}

#[test]
fn c13_an_empty_text_means_none_and_ends_the_walk() {
    for agent in AGENTS {
        let mut off = own_of(agent, "");
        off["custom_instructions"] = json!("shared");
        assert_eq!(
            follows(&off, &own_of(agent, "workspace"), agent),
            (None, DecidedBy::Session)
        );
        let shared_off = json!({"custom_instructions": "  "});
        assert_eq!(
            follows(&shared_off, &own_of(agent, "workspace"), agent),
            (None, DecidedBy::Session)
        );
    }
    // The seed's own example.
    let seed = json!({
        "custom_instructions": "Always write in German.",
        "summary": {"custom_instructions": "Write summaries as bullet points in German."},
        "dialectic": {"custom_instructions": ""},
    });
    let of = |agent| follows(&json!({}), &seed, agent).0;
    assert_eq!(of(Agent::Deriver).as_deref(), Some("Always write in German."));
    assert_eq!(of(Agent::Dreamer).as_deref(), Some("Always write in German."));
    assert_eq!(
        of(Agent::Summariser).as_deref(),
        Some("Write summaries as bullet points in German.")
    );
    assert_eq!(of(Agent::Dialectic), None);
}

#[test]
fn c14_only_the_deriver_follows_reasonings_instructions() {
    let session = json!({"reasoning": {"custom_instructions": "facts only"}});
    for agent in AGENTS {
        let (value, _) = follows(&session, &json!({"custom_instructions": "shared"}), agent);
        let expected = if agent == Agent::Deriver {
            "facts only"
        } else {
            "shared"
        };
        assert_eq!(value.as_deref(), Some(expected), "{agent:?}");
    }
}

#[test]
fn c18_a_messages_own_instructions_override_everything_for_the_deriver() {
    let (session, workspace) = (
        map(json!({"reasoning": {"custom_instructions": "session"}})),
        map(json!({"custom_instructions": "workspace"})),
    );
    let levels = Levels {
        session: Some(&session),
        workspace: &workspace,
    };
    let of = |message: Option<&Configuration>| {
        let found = levels.deriver_instructions(message);
        (found.value.map(str::to_owned), found.by)
    };
    let message = |value: Value| map(json!({"reasoning": {"custom_instructions": value}}));
    assert_eq!(of(None), text("session", DecidedBy::Session));
    assert_eq!(of(Some(&message(Value::Null))), text("session", DecidedBy::Session));
    assert_eq!(of(Some(&message(json!("CRM")))), text("CRM", DecidedBy::Message));
    assert_eq!(of(Some(&message(json!("")))), (None, DecidedBy::Message));
    // A message has no shared value.
    let shared = map(json!({"custom_instructions": "message", "dream": {"custom_instructions": "message"}}));
    assert_eq!(of(Some(&shared)), text("session", DecidedBy::Session));
    assert!(has_own_instructions(&message(json!(""))) && !has_own_instructions(&shared));
}

#[test]
fn c15_instructions_are_measured_in_tokens() {
    assert!(instructions_fit(&"word ".repeat(2000), 2000));
    assert!(!instructions_fit(&"word ".repeat(2001), 2000));
    assert!(
        !instructions_fit(&"字".repeat(2001), 2000),
        "not by letters, and not by words"
    );
    assert!(instructions_fit("", 0) && instructions_fit(" \n", 0) && !instructions_fit("a", 0));
}

#[test]
fn c19_the_defaults_are_those_of_the_documented_schema() {
    let none = map(json!({}));
    let levels = Levels {
        session: None,
        workspace: &none,
    };
    let defaults = Defaults::default();
    assert_eq!(levels.reasoning(None, None, defaults), Decided::global(true));
    assert_eq!(levels.dreaming(defaults), Decided::global(true));
    assert_eq!(levels.card_use(defaults), Decided::global(true));
    assert_eq!(levels.card_creation(defaults), Decided::global(true));
    assert_eq!(
        levels.summaries(defaults),
        Summaries {
            enabled: Decided::global(true),
            short: Decided::global(20),
            long: Decided::global(60),
        }
    );
    for agent in AGENTS {
        assert_eq!(levels.instructions(agent), Decided::global(None));
    }
    assert_eq!(levels.deriver_instructions(None), Decided::global(None));
    assert_eq!(levels.card_instructions(), Decided::global(None));
}

#[test]
fn c6_use_and_creation_of_the_card_are_set_apart_and_say_who_set_them() {
    let (session, workspace) = (
        map(json!({"peer_card": {"create": false}})),
        map(json!({"peer_card": {"create": true, "use": false}})),
    );
    let levels = Levels {
        session: Some(&session),
        workspace: &workspace,
    };
    let decided = |value, by| Decided { value, by };
    assert_eq!(
        levels.card_creation(Defaults::default()),
        decided(false, DecidedBy::Session)
    );
    assert_eq!(
        levels.card_use(Defaults::default()),
        decided(false, DecidedBy::Workspace)
    );
}

/// Whether, and after how many messages, summaries come.
fn summaries(session: Value, workspace: Value) -> (bool, u64, u64) {
    let (session, workspace) = (map(session), map(workspace));
    let found = Levels {
        session: Some(&session),
        workspace: &workspace,
    }
    .summaries(Defaults::default());
    (found.enabled.value, found.short.value, found.long.value)
}

fn every(short: Option<u64>, long: Option<u64>) -> Value {
    let given = [
        ("messages_per_short_summary", short),
        ("messages_per_long_summary", long),
    ];
    let section: Configuration = given
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.into())))
        .collect();
    json!({ "summary": section })
}

#[test]
fn c7_summaries_are_resolved_value_by_value_from_the_nearest_level() {
    let workspace =
        json!({"summary": {"enabled": false, "messages_per_short_summary": 12, "messages_per_long_summary": 48}});
    assert_eq!(summaries(json!({}), workspace.clone()), (false, 12, 48));
    assert_eq!(
        summaries(json!({"summary": {"enabled": true}}), workspace.clone()),
        (true, 12, 48)
    );
    assert_eq!(summaries(every(Some(30), None), workspace), (false, 30, 48));
    // What was stored below the least, by whatever way, is not followed below it.
    assert_eq!(
        summaries(every(Some(1), Some(2)), json!({})),
        (true, LEAST_SHORT, LEAST_LONG)
    );
}

#[test]
fn c7_the_long_summary_is_rarer_than_the_short_one_on_resolved_values_too() {
    let levels_fit = |session: &Value, workspace: &Value| {
        let (session, workspace) = (map(session.clone()), map(workspace.clone()));
        Levels {
            session: Some(&session),
            workspace: &workspace,
        }
        .check_summaries(Defaults::default())
        .is_ok()
    };
    for (session, workspace, expected) in [
        // Only the short one, over the default of the long one.
        (every(Some(70), None), json!({}), (70, 210)),
        (every(None, Some(20)), json!({}), (10, 20)),
        // The workspace changed after the session was set: the session has its way.
        (every(Some(40), None), every(None, Some(30)), (40, 120)),
        (every(None, Some(45)), every(Some(50), Some(90)), (15, 45)),
        (json!({}), every(Some(60), None), (60, 180)),
    ] {
        assert!(!levels_fit(&session, &workspace), "{session} {workspace}");
        let (_, short, long) = summaries(session.clone(), workspace.clone());
        assert_eq!((short, long), expected, "{session} {workspace}");
        assert!(short < long && short >= LEAST_SHORT && long >= LEAST_LONG);
    }
    assert!(levels_fit(&every(Some(59), None), &json!({})));
    assert!(levels_fit(&every(Some(70), None), &every(None, Some(71))));
}
