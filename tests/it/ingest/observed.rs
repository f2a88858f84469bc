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
