//! Who is observed, by whom, and what is reasoned over: every combination of the settings that decide
//! (`design.md` section 5, "Observed and reasoned"; report 6).

use std::sync::Arc;

use reverie_core::config::Config;
use reverie_core::settings::Defaults;
use serde_json::{Value, json};

use crate::rig::{Faults, Rig, Scripted, config};

const EITHER: [Option<bool>; 3] = [None, Some(true), Some(false)];

fn name(setting: Option<bool>) -> &'static str {
    match setting {
        None => "unset",
        Some(true) => "on",
        Some(false) => "off",
    }
}

fn reasoning(enabled: Option<bool>) -> Value {
    enabled.map_or(json!({}), |enabled| json!({"reasoning": {"enabled": enabled}}))
}

fn watched(observe_me: Option<bool>) -> Value {
    observe_me.map_or(json!({}), |observe_me| json!({ "observe_me": observe_me }))
}

/// The rule as it is documented, spelled out case by case.
#[allow(clippy::match_same_arms, reason = "an arm per level, in their order")]
fn is_heard(
    member: Option<bool>,
    peer: Option<bool>,
    [message, session, workspace]: [Option<bool>; 3],
    global: bool,
) -> bool {
    let observed = match (member, peer) {
        (Some(word), _) | (None, Some(word)) => word,
        (None, None) => true,
    };
    let reasoned = match (message, session, peer, workspace) {
        (Some(word), ..) | (None, Some(word), ..) => word,
        // Only an explicit yes of the peer counts here.
        (None, None, Some(true), _) => true,
        (None, None, _, Some(word)) => word,
        (None, None, _, None) => global,
    };
    observed && reasoned
}

#[tokio::test]
async fn what_becomes_a_conclusion_of_whom_follows_the_documented_rule_in_every_combination() {
    let mut cases = 0;
    for global in [true, false] {
        let defaults = Defaults {
            reasoning: global,
            ..Defaults::default()
        };
        let rig = Rig::with(
            Config { defaults, ..config() },
            Arc::new(Scripted::idle()),
            Faults::none(),
        )
        .await;
        for workspace in EITHER {
            let w = name(workspace);
            let at = format!("/v3/workspaces/{w}");
            rig.ok("PUT", &at, Some(json!({"configuration": reasoning(workspace)})))
                .await;
            for session in EITHER {
                let s = name(session);
                // The members' names say how they are set; each session has its own, so that they do not mix.
                let mut members = json!({});
                for listener in EITHER {
                    let others = listener.map_or(json!({}), |others| json!({ "observe_others": others }));
                    members[format!("{s}-listener-{}", name(listener))] = others;
                }
                let mut messages = Vec::new();
                for member in EITHER {
                    for peer in EITHER {
                        let sender = format!("{s}-{}-{}", name(member), name(peer));
                        let body = json!({"id": sender, "configuration": watched(peer)});
                        rig.post(&format!("{at}/peers"), body).await;
                        members[&sender] = watched(member);
                        for message in EITHER {
                            messages.push(json!({"peer_id": sender, "content": name(message), "configuration": reasoning(message)}));
                        }
                    }
                }
                let body = json!({"id": s, "peers": members, "configuration": reasoning(session)});
                rig.post(&format!("{at}/sessions"), body).await;
                rig.post(&format!("{at}/sessions/{s}/messages"), json!({ "messages": messages }))
                    .await;
                assert_eq!(rig.settle().await, 0);
                for member in EITHER {
                    for peer in EITHER {
                        let sender = format!("{s}-{}-{}", name(member), name(peer));
                        let expected: Vec<&str> = EITHER
                            .into_iter()
                            .filter(|message| is_heard(member, peer, [*message, session, workspace], global))
                            .map(name)
                            .collect();
                        let case = format!(
                            "member {member:?}, peer {peer:?}, session {session:?}, workspace {workspace:?}, global {global}"
                        );
                        assert_eq!(rig.texts(w, &sender, &sender).await, expected, "{case}");
                        for listener in EITHER {
                            let seen = rig.texts(w, &format!("{s}-listener-{}", name(listener)), &sender).await;
                            let expected: &[&str] = if listener == Some(true) { &expected } else { &[] };
                            assert_eq!(seen, expected, "{case}, observe_others {listener:?}");
                        }
                        // What another says is never taken for what the peer is (report 6).
                        let listener = format!("{s}-listener-on");
                        assert_eq!(rig.texts(w, &listener, &listener).await, [""; 0]);
                        cases += EITHER.len() * EITHER.len();
                    }
                }
            }
        }
    }
    assert_eq!(cases, 2 * 3_usize.pow(6));
}

/// Members of one session, one per combination of settings, all of whom speak.
fn everybody() -> Vec<(String, [Option<bool>; 3])> {
    let mut members = Vec::new();
    for member in EITHER {
        for peer in EITHER {
            for others in EITHER {
                let called = [member, peer, others].map(name).join("-");
                members.push((called, [member, peer, others]));
            }
        }
    }
    members
}

fn settings(observe_me: Option<bool>, observe_others: Option<bool>) -> Value {
    let mut settings = watched(observe_me);
    if let Some(others) = observe_others {
        settings["observe_others"] = json!(others);
    }
    settings
}

async fn quiet() -> Rig {
    Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await
}

async fn say(rig: &Rig, peer: &str, text: &str) {
    let body = json!({"messages": [{"peer_id": peer, "content": text}]});
    rig.post("/v3/workspaces/w/sessions/s/messages", body).await;
    assert_eq!(rig.settle().await, 0);
}

#[tokio::test]
async fn who_sees_whom_follows_the_settings_of_both_in_every_combination() {
    let rig = quiet().await;
    let everybody = everybody();
    let mut members = json!({});
    for (called, [member, peer, others]) in &everybody {
        let body = json!({"id": called, "configuration": watched(*peer)});
        rig.post("/v3/workspaces/w/peers", body).await;
        members[called] = settings(*member, *others);
    }
    rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": members}))
        .await;
    let said: Vec<_> = everybody
        .iter()
        .map(|(called, _)| json!({"peer_id": called, "content": format!("said by {called}")}))
        .collect();
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": said }))
        .await;
    assert_eq!(rig.settle().await, 0);
    let mut seen = 0;
    for (observer, [_, _, others]) in &everybody {
        for (sender, [member, peer, _]) in &everybody {
            let observed = member.or(*peer).unwrap_or(true);
            // Whether the observer is observed itself makes no difference to what it sees of others; nor does its
            // observing others to what it knows of itself.
            let sees = observed && (observer == sender || *others == Some(true));
            let expected: &[String] = if sees { &[format!("said by {sender}")] } else { &[] };
            assert_eq!(
                rig.texts("w", observer, sender).await,
                expected,
                "{observer} of {sender}"
            );
            seen += usize::from(sees);
        }
    }
    // 5 of 9 combinations are observed: 15 members, each by itself and by 9 observers; 5 of these are among the 15.
    assert_eq!(seen, 15 + 15 * 9 - 5);
}

#[tokio::test]
async fn an_observer_sees_what_is_said_while_it_is_in_the_session() {
    let rig = quiet().await;
    let session = "/v3/workspaces/w/sessions/s";
    let observing = json!({"observe_others": true});
    rig.post(
        "/v3/workspaces/w/sessions",
        json!({"id": "s", "peers": {"maya": {}, "ann": observing}}),
    )
    .await;
    say(&rig, "maya", "one").await;
    // One joins later: what was derived before is not its own.
    rig.post(&format!("{session}/peers"), json!({"bob": observing})).await;
    say(&rig, "maya", "two").await;
    // One leaves, and one that stays stops observing.
    rig.ok("DELETE", &format!("{session}/peers"), Some(json!(["ann"])))
        .await;
    let path = format!("{session}/peers/bob/config");
    rig.ok("PUT", &path, Some(json!({"observe_others": false}))).await;
    say(&rig, "maya", "three").await;
    // Who comes back takes the new settings; without any, it does not observe.
    rig.post(&format!("{session}/peers"), json!({"ann": {}})).await;
    say(&rig, "maya", "four").await;
    rig.ok("DELETE", &format!("{session}/peers"), Some(json!(["ann"])))
        .await;
    rig.post(&format!("{session}/peers"), json!({"ann": observing})).await;
    // All are replaced: who is not named leaves.
    say(&rig, "maya", "five").await;
    rig.ok(
        "PUT",
        &format!("{session}/peers"),
        Some(json!({"maya": {}, "eve": observing})),
    )
    .await;
    say(&rig, "maya", "six").await;
    let seen = async |observer: &str| {
        let mut texts = rig.texts("w", observer, "maya").await;
        texts.sort();
        texts
    };
    assert_eq!(seen("maya").await, ["five", "four", "one", "six", "three", "two"]);
    assert_eq!(seen("ann").await, ["five", "one", "two"]);
    assert_eq!(seen("bob").await, ["two"]);
    assert_eq!(seen("eve").await, ["six"]);
}

#[tokio::test]
async fn a_sender_that_speaks_again_after_it_left_is_a_member_like_any_new_one() {
    let rig = quiet().await;
    let session = "/v3/workspaces/w/sessions/s";
    let members = json!({"maya": {"observe_me": false}, "ann": {"observe_others": true}});
    rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": members}))
        .await;
    // Said while it was not observed, and derived from after it has left: still not observed.
    let body = json!({"messages": [{"peer_id": "maya", "content": "one"}]});
    rig.post(&format!("{session}/messages"), body).await;
    rig.ok("DELETE", &format!("{session}/peers"), Some(json!(["maya"])))
        .await;
    rig.settle().await;
    assert_eq!(rig.texts("w", "maya", "maya").await, [""; 0]);
    // It comes back by speaking, with no settings of its own.
    say(&rig, "maya", "two").await;
    for observer in ["maya", "ann"] {
        assert_eq!(rig.texts("w", observer, "maya").await, ["two"], "{observer}");
    }
    // Its own word counts then.
    let body = json!({"id": "maya", "configuration": {"observe_me": false}});
    rig.post("/v3/workspaces/w/peers", body).await;
    say(&rig, "maya", "three").await;
    assert_eq!(rig.texts("w", "ann", "maya").await, ["two"]);
}

#[tokio::test]
async fn c16_what_creates_a_peer_again_replaces_its_configuration_and_what_names_it_does_not() {
    let rig = quiet().await;
    let create = async |body: Value| rig.post("/v3/workspaces/w/peers", body).await["configuration"].clone();
    let off = json!({"observe_me": false, "mine": 1});
    create(json!({"id": "maya", "configuration": off})).await;
    // Without a configuration, and by joining and speaking, it stays.
    assert_eq!(create(json!({"id": "maya"})).await, off);
    assert_eq!(create(json!({"id": "maya", "configuration": null})).await, off);
    say(&rig, "maya", "one").await;
    assert_eq!(create(json!({"id": "maya", "metadata": {"a": 1}})).await, off);
    assert_eq!(rig.texts("w", "maya", "maya").await, [""; 0]);
    // Replaced whole: what is not given is gone, and nothing said means observed.
    assert_eq!(create(json!({"id": "maya", "configuration": {}})).await, json!({}));
    say(&rig, "maya", "two").await;
    assert_eq!(rig.texts("w", "maya", "maya").await, ["two"]);
}
