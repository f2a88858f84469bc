//! Custom instructions: free text that users give to what reasons for them (checklist C9 to C15).
//!
//! The walk: session, then workspace. The first level that sets an agent's own instructions *or* the shared ones decides;
//! within it the agent's own come first. An empty text means none, and ends the walk as any other text does.

use super::{Configuration, Decided, DecidedBy, Levels};
use crate::text::estimate_tokens;

/// The key of instructions, in a section and, for the shared ones, beside the sections.
const KEY: &str = "custom_instructions";

/// Who follows instructions and falls back to the shared ones. The peer card does not: see
/// [`Levels::card_instructions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Extracts conclusions from messages.
    Deriver,
    /// Summarises sessions.
    Summariser,
    /// Answers questions about peers and workspaces.
    Dialectic,
    /// Deduces and induces.
    Dreamer,
}

impl Agent {
    const fn section(self) -> &'static str {
        match self {
            Self::Deriver => "reasoning",
            Self::Summariser => "summary",
            Self::Dialectic => "dialectic",
            Self::Dreamer => "dream",
        }
    }
}

/// Resolved instructions and the level that set them, or that turned them off; `None` is none.
pub type Instructions<'a> = Decided<Option<&'a str>>;

fn own<'a>(configuration: &'a Configuration, section: &str) -> Option<&'a str> {
    configuration.get(section)?.get(KEY)?.as_str()
}

fn shared(configuration: &Configuration) -> Option<&str> {
    configuration.get(KEY)?.as_str()
}

/// Blank text is no instruction.
fn resolved(found: Option<Decided<&str>>) -> Instructions<'_> {
    found.map_or(Decided::global(None), |found| Decided {
        value: Some(found.value).filter(|text| !text.trim().is_empty()),
        by: found.by,
    })
}

impl<'a> Levels<'a> {
    /// An agent's instructions as session and workspace set them.
    pub fn instructions(&self, agent: Agent) -> Instructions<'a> {
        resolved(self.nearest(|level| own(level, agent.section()).or_else(|| shared(level))))
    }

    /// The deriver's instructions for one message: the message's own override all others.
    pub fn deriver_instructions(&self, message: Option<&'a Configuration>) -> Instructions<'a> {
        match message.and_then(|message| own(message, Agent::Deriver.section())) {
            Some(value) => resolved(Some(Decided {
                value,
                by: DecidedBy::Message,
            })),
            None => self.instructions(Agent::Deriver),
        }
    }

    /// What is to be followed for the peer card, on top of the dreamer's instructions and within the kinds of entries
    /// that a card may have. Never the shared instructions.
    pub fn card_instructions(&self) -> Instructions<'a> {
        resolved(self.nearest(|level| own(level, "peer_card")))
    }
}

/// Whether a message has instructions of its own, be it none.
pub fn has_own_instructions(message: &Configuration) -> bool {
    own(message, Agent::Deriver.section()).is_some()
}

/// Whether instructions have at most so many tokens, by our estimate. A blank text always fits.
pub fn instructions_fit(text: &str, most: u32) -> bool {
    text.trim().is_empty() || estimate_tokens(text) <= most
}
