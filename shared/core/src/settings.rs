//! Settings: message > session > workspace > global, each level optional, nulls inherit (`design.md` section 7).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod instructions;
mod summaries;

pub use instructions::{Agent, Instructions, has_own_instructions, instructions_fit};
pub use summaries::{LEAST_LONG, LEAST_SHORT, Summaries, Uneven};

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

impl<T> Decided<T> {
    /// The deployment's default.
    pub const fn global(value: T) -> Self {
        Self {
            value,
            by: DecidedBy::Global,
        }
    }
}

/// The stored levels from which a value is resolved. A missing level is an empty map.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a> {
    /// The session's configuration, where there is a session.
    pub session: Option<&'a Configuration>,
    /// The workspace's configuration.
    pub workspace: &'a Configuration,
}

/// Deployment-wide defaults of what users may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// `reasoning.enabled` (`DERIVER_ENABLED`).
    pub reasoning: bool,
    /// `dream.enabled` (`DREAM_ENABLED`).
    pub dream: bool,
    /// `peer_card.use` and `peer_card.create` (`PEER_CARD_ENABLED`).
    pub peer_card: bool,
    /// `summary.enabled` (`SUMMARY_ENABLED`).
    pub summary: bool,
    /// `summary.messages_per_short_summary` (`SUMMARY_MESSAGES_PER_SHORT_SUMMARY`), at least [`LEAST_SHORT`].
    pub short_summary: u64,
    /// `summary.messages_per_long_summary` (`SUMMARY_MESSAGES_PER_LONG_SUMMARY`), at least [`LEAST_LONG`] and more than
    /// the short one.
    pub long_summary: u64,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            reasoning: true,
            dream: true,
            peer_card: true,
            summary: true,
            short_summary: 20,
            long_summary: 60,
        }
    }
}

fn flag(configuration: &Configuration, section: &str, key: &str) -> Option<bool> {
    configuration.get(section)?.get(key)?.as_bool()
}

impl<'a> Levels<'a> {
    /// What the nearest level says, if any says something.
    fn nearest<T>(&self, read: impl Fn(&'a Configuration) -> Option<T>) -> Option<Decided<T>> {
        let levels = [
            (self.session, DecidedBy::Session),
            (Some(self.workspace), DecidedBy::Workspace),
        ];
        levels
            .into_iter()
            .find_map(|(level, by)| read(level?).map(|value| Decided { value, by }))
    }

    fn switch(&self, section: &str, key: &str, global: bool) -> Decided<bool> {
        self.nearest(|level| flag(level, section, key))
            .unwrap_or(Decided::global(global))
    }

    /// Whether dreams are on: `reasoning.enabled` and `dream.enabled`. When off, `by` is the level that turned them off.
    pub fn dreaming(&self, defaults: Defaults) -> Decided<bool> {
        let reasoning = self.switch("reasoning", "enabled", defaults.reasoning);
        let dream = self.switch("dream", "enabled", defaults.dream);
        if reasoning.value { dream } else { reasoning }
    }

    /// Whether dreams may write the peer card.
    pub fn card_creation(&self, defaults: Defaults) -> Decided<bool> {
        self.switch("peer_card", "create", defaults.peer_card)
    }

    /// Whether what the peer card says is used in reasoning.
    pub fn card_use(&self, defaults: Defaults) -> Decided<bool> {
        self.switch("peer_card", "use", defaults.peer_card)
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
#[allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]
mod tests;
