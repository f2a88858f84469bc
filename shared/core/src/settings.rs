//! Settings: message > session > workspace > global, each level optional, nulls inherit (`design.md` section 7).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A configuration as users store it: sections by name. Unknown keys are kept.
pub type Configuration = Map<String, Value>;

/// Which level decided a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The message's own setting.
    Message,
    /// The session's.
    Session,
    /// The peer's `observe_me`.
    Peer,
    /// The workspace's.
    Workspace,
    /// The deployment's default.
    Global,
}

impl DecidedBy {
    /// The word in answers and errors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Session => "session",
            Self::Peer => "peer",
            Self::Workspace => "workspace",
            Self::Global => "global",
        }
    }
}

/// A value and the level that set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided<T> {
    /// The value.
    pub value: T,
    /// Who decided.
    pub by: DecidedBy,
}

/// The stored levels from which a value is resolved. A missing level is an empty map.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a> {
    /// The session's configuration, where there is a session.
    pub session: Option<&'a Configuration>,
    /// The workspace's configuration.
    pub workspace: &'a Configuration,
}

/// Deployment-wide defaults of the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// `reasoning.enabled` (`DERIVER_ENABLED`).
    pub reasoning: bool,
    /// `dream.enabled` (`DREAM_ENABLED`).
    pub dream: bool,
    /// `peer_card.use` and `peer_card.create` (`PEER_CARD_ENABLED`).
    pub peer_card: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            reasoning: true,
            dream: true,
            peer_card: true,
        }
    }
}

fn flag(configuration: &Configuration, section: &str, key: &str) -> Option<bool> {
    configuration.get(section)?.get(key)?.as_bool()
}

impl Levels<'_> {
    fn switch(&self, section: &str, key: &str, global: bool) -> Decided<bool> {
        let levels = [
            (self.session, DecidedBy::Session),
            (Some(self.workspace), DecidedBy::Workspace),
        ];
        levels
            .into_iter()
            .find_map(|(level, by)| flag(level?, section, key).map(|value| Decided { value, by }))
            .unwrap_or(Decided {
                value: global,
                by: DecidedBy::Global,
            })
    }

    /// Whether dreams are on: `reasoning.enabled` and `dream.enabled`. When off, `by` is the level that turned them off.
    pub fn dreaming(&self, defaults: Defaults) -> Decided<bool> {
        let reasoning = self.switch("reasoning", "enabled", defaults.reasoning);
        let dream = self.switch("dream", "enabled", defaults.dream);
        if reasoning.value { dream } else { reasoning }
    }

    /// Whether dreams may write the peer card.
    pub fn card_creation(&self, defaults: Defaults) -> bool {
        self.switch("peer_card", "create", defaults.peer_card).value
    }

    /// Whether messages are reasoned over, with the peer's explicit `observe_me: true` between session and workspace
    /// (`design.md` section 5, "Observed and reasoned").
    pub fn reasoning(
        &self,
        message: Option<&Configuration>,
        peer_observe_me: Option<bool>,
        defaults: Defaults,
    ) -> Decided<bool> {
        let own = message
            .and_then(|m| flag(m, "reasoning", "enabled"))
            .map(|value| (value, DecidedBy::Message));
        let session = self
            .session
            .and_then(|s| flag(s, "reasoning", "enabled"))
            .map(|value| (value, DecidedBy::Session));
        let peer = (peer_observe_me == Some(true)).then_some((true, DecidedBy::Peer));
        let workspace = flag(self.workspace, "reasoning", "enabled").map(|value| (value, DecidedBy::Workspace));
        let (value, by) = own
            .or(session)
            .or(peer)
            .or(workspace)
            .unwrap_or((defaults.reasoning, DecidedBy::Global));
        Decided { value, by }
    }
}

/// Whether a peer's messages in a session are observed: the session's word on the member, else the peer's own, else yes.
pub fn observed(member_observe_me: Option<bool>, peer_observe_me: Option<bool>) -> bool {
    member_observe_me.or(peer_observe_me).unwrap_or(true)
}

/// What a session update stores: each section that is given replaces the stored one, null sections are left out.
pub fn merge_sections(stored: &Configuration, given: &Configuration) -> Configuration {
    let mut merged = stored.clone();
    for (section, value) in given {
        if !value.is_null() {
            merged.insert(section.clone(), value.clone());
        }
    }
    merged
}

/// A configuration as it is read back: explicit settings only, nulls gone, in sections too.
pub fn explicit(configuration: &Configuration) -> Configuration {
    configuration
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| {
            let value = match value {
                Value::Object(section) => Value::Object(
                    section
                        .iter()
                        .filter(|(_, v)| !v.is_null())
                        .map(|(k, v)| (k.clone(), v.clone()))
                        .collect(),
                ),
                other => other.clone(),
            };
            (key.clone(), value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
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
        let stored = map(
            json!({"reasoning": {"enabled": false}, "summary": {"enabled": true, "messages_per_short_summary": 12}}),
        );
        let given = map(json!({"summary": {"enabled": false}, "dream": null}));
        assert_eq!(
            Value::Object(merge_sections(&stored, &given)),
            json!({"reasoning": {"enabled": false}, "summary": {"enabled": false}})
        );
    }
}
