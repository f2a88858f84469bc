//! Feeding a session through the HTTP API: resumable, and done twice it changes nothing.
//!
//! What the session already holds is the only state: before anything is sent, and again after a failed call, its last
//! message is compared with the file, and the rest follows.

use std::time::Duration;

use reverie_core::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Message, Session};
use crate::api::{Api, ApiError};

/// The most messages of one call (`contracts/honcho.md`).
const BATCH_MESSAGES: usize = 100;
/// The most bytes of content in one call, far below what the API refuses.
const BATCH_BYTES: usize = 1_000_000;
/// How often a call that failed for the moment is tried again.
const ATTEMPTS: u32 = 6;

/// What came of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Messages sent now.
    pub sent: usize,
    /// Messages that were there already.
    pub found: usize,
}

/// Why a session was not imported, or not to its end. What was sent stays; running again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The API failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The session holds something else than the file.
    #[error("session {session} already holds other messages: its message {number} is not the file's")]
    Other {
        /// The session.
        session: String,
        /// The message's place, from 1.
        number: usize,
    },
}

#[derive(Serialize)]
struct NewMessage<'a> {
    peer_id: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Stored>,
    total: usize,
}

#[derive(Deserialize)]
struct Stored {
    peer_id: String,
    content: String,
    created_at: String,
}

impl Stored {
    fn is(&self, message: &Message) -> bool {
        let date = message.created_at;
        self.peer_id == message.peer.as_str()
            && self.content == message.content
            && (date.is_none() || date == Time::parse(&self.created_at).ok())
    }
}

/// Brings a session up to the file; `progress` hears of every message that is there, once.
pub fn upload(api: &Api, session: &Session, progress: &mut dyn FnMut(usize)) -> Result<Uploaded, UploadError> {
    let mut known = 0;
    let mut uploaded: Option<Uploaded> = None;
    let mut attempt = 0;
    loop {
        let outcome = found(api, session).and_then(|found| {
            let sum = uploaded.get_or_insert(Uploaded { sent: 0, found });
            // After a failed call: it may have arrived all the same.
            sum.sent = found.saturating_sub(sum.found);
            progress(found.saturating_sub(known));
            known = found;
            let rest = &session.messages[found..];
            for batch in batches(rest) {
                post(api, session, known, batch)?;
                attempt = 0;
                sum.sent += batch.len();
                known += batch.len();
                progress(batch.len());
            }
            Ok(*sum)
        });
        match outcome {
            Ok(sum) => return Ok(sum),
            Err(UploadError::Api(error)) if error.is_transient() && attempt < ATTEMPTS => {
                std::thread::sleep(Duration::from_millis(500) * 2_u32.pow(attempt));
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// How many of the file's messages the session holds, which must be its first ones.
fn found(api: &Api, session: &Session) -> Result<usize, UploadError> {
    let page = |query: &str| {
        let path = format!("/sessions/{}/messages/list?{query}&size=1", session.name);
        match api.post::<Page>(&path, &json!({})) {
            Err(error) if error.is_not_found() => Ok(Page {
                items: Vec::new(),
                total: 0,
            }),
            other => other,
        }
    };
    let last = page("page=1&reverse=true")?;
    if last.total == 0 {
        return Ok(0);
    }
    // A session that has grown since is compared at the file's last message.
    let number = last.total.min(session.messages.len());
    let stored = if number == last.total {
        last
    } else {
        page(&format!("page={number}"))?
    };
    let same = match (stored.items.first(), number.checked_sub(1)) {
        (Some(stored), Some(index)) => stored.is(&session.messages[index]),
        _ => false,
    };
    if !same {
        return Err(UploadError::Other {
            session: session.name.to_string(),
            number,
        });
    }
    Ok(number)
}

/// The messages in runs that one call takes.
fn batches(messages: &[Message]) -> Vec<&[Message]> {
    let mut batches = Vec::new();
    let mut rest = messages;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fitting = rest
            .iter()
            .take(BATCH_MESSAGES)
            .take_while(|message| {
                bytes += message.content.len();
                bytes <= BATCH_BYTES
            })
            .count();
        // A single message always fits.
        let (batch, after) = rest.split_at(fitting.max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

/// The key names the state from which the call goes on, so a call whose answer was lost is not done twice.
fn post(api: &Api, session: &Session, from: usize, batch: &[Message]) -> Result<(), ApiError> {
    let messages: Vec<_> = batch
        .iter()
        .map(|message| NewMessage {
            peer_id: message.peer.as_str(),
            content: &message.content,
            created_at: message.created_at.map(|date| date.to_string()),
        })
        .collect();
    let digest = {
        let body = serde_json::to_string(&messages).unwrap_or_default();
        reverie_core::id::digest(&["import", session.name.as_str(), &from.to_string(), &body])
    };
    let path = format!("/sessions/{}/messages", session.name);
    api.post_once::<serde_json::Value>(&path, &json!({ "messages": messages }), Some(&digest))
        .map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use reverie_core::id::PeerName;

    use super::*;

    #[test]
    fn batches_are_bounded_by_messages_and_bytes() {
        let message = |size: usize| Message {
            peer: PeerName::parse("p").unwrap(),
            content: "x".repeat(size),
            created_at: None,
        };
        let sizes = |messages: &[Message]| batches(messages).iter().map(|batch| batch.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&vec![message(1); 250]), [100, 100, 50]);
        assert_eq!(sizes(&vec![message(400_000); 5]), [2, 2, 1]);
        assert_eq!(sizes(&vec![message(2_000_000); 2]), [1, 1]);
        assert!(sizes(&[]).is_empty());
    }
}
