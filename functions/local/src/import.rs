//! Importing conversations: reading files, and feeding them through the HTTP API so that nothing is lost or doubled,
//! however often it is interrupted.

use std::fmt;
use std::path::Path;

use reverie_core::id::{PeerName, SessionName};
use reverie_core::time::Time;

mod lines;
mod locomo;
mod split;
mod upload;

pub use upload::{UploadError, Uploaded, upload};

/// A session as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: SessionName,
    /// Its messages in order.
    pub messages: Vec<Message>,
}

/// A message as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who said it.
    pub peer: PeerName,
    /// What was said: at most 25,000 characters.
    pub content: String,
    /// When it was said, if the file says so.
    pub created_at: Option<Time>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// LoCoMo's JSON: conversations of numbered sessions.
    Locomo,
    /// One JSON object per line: `session`, `peer`, `content`, `created_at`.
    Lines,
}

/// Which part of a file is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The conversation of this `sample_id`; LoCoMo only.
    pub sample: Option<String>,
    /// The sessions of these names; empty for all.
    pub sessions: Vec<String>,
}

/// Why a file cannot be imported. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read at all.
    #[error("cannot read the file")]
    File(#[from] std::io::Error),
    /// A part of it is not as it should be.
    #[error("{place}: {problem}")]
    Content {
        /// The line, or the conversation and session.
        place: Place,
        /// What is wrong.
        problem: String,
    },
    /// The selection leaves nothing.
    #[error("{0}")]
    Nothing(String),
}

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, from 1.
    Line(usize),
    /// A part, as a path of names.
    Part(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Part(part) => f.write_str(part),
        }
    }
}

impl ReadError {
    fn at(place: Place, problem: impl fmt::Display) -> Self {
        Self::Content {
            place,
            problem: problem.to_string(),
        }
    }
}

/// Reads a whole file before anything of it is sent; without a format, the content tells.
pub fn read(path: &Path, format: Option<Format>, selection: &Selection) -> Result<Vec<Session>, ReadError> {
    parse(&std::fs::read_to_string(path)?, format, selection)
}

/// Reads a file's text.
pub fn parse(text: &str, format: Option<Format>, selection: &Selection) -> Result<Vec<Session>, ReadError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut sessions = match format.unwrap_or_else(|| recognise(text)) {
        Format::Locomo => locomo::parse(text, selection.sample.as_deref())?,
        Format::Lines if selection.sample.is_some() => {
            return Err(ReadError::Nothing(
                "only LoCoMo's files have samples; this one is read as JSON lines".to_owned(),
            ));
        }
        Format::Lines => lines::parse(text)?,
    };
    for wanted in &selection.sessions {
        if !sessions.iter().any(|session| session.name.as_str() == wanted) {
            return Err(ReadError::Nothing(format!("the file has no session {wanted:?}")));
        }
    }
    if !selection.sessions.is_empty() {
        sessions.retain(|session| selection.sessions.iter().any(|wanted| wanted == session.name.as_str()));
    }
    sessions.retain(|session| !session.messages.is_empty());
    if sessions.is_empty() {
        return Err(ReadError::Nothing("the file has no messages".to_owned()));
    }
    Ok(sessions)
}

/// JSON lines are one object after the other; LoCoMo's file is one array, or one object that names a conversation.
fn recognise(text: &str) -> Format {
    let first = text.trim_start();
    let whole = || serde_json::from_str::<serde_json::Value>(first).ok();
    if first.starts_with('[') || whole().is_some_and(|value| value.get("conversation").is_some()) {
        Format::Locomo
    } else {
        Format::Lines
    }
}

/// The names of the peers, in the order in which they first speak.
pub fn peers(sessions: &[Session]) -> Vec<PeerName> {
    let mut peers: Vec<PeerName> = Vec::new();
    for message in sessions.iter().flat_map(|session| &session.messages) {
        if !peers.contains(&message.peer) {
            peers.push(message.peer.clone());
        }
    }
    peers
}
