//! Idempotency keys: what a request with such a key did, for a day, so that the same request is answered and not done
//! again.
//!
//! | item | key |
//! |---|---|
//! | record of a request | `I#<workspace uid>` / digest of the route and the key; ttl 24 h |
//!
//! Written in the transaction of the request's effect; where that takes several, in each of them, with how many are done.
//! It keeps references to what was made and a digest of the body,
//! no text. TTL deletes late, so readers pass over expired records, and a new request writes over them.

use std::time::Duration;

use reverie_core::id::{RunId, Seq, SessionUid, WorkspaceUid, digest};
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::expression::{Condition, n};
use super::schema::key;
use super::{Key, Result, Table, Write, to_item, to_value};

/// How long a key is remembered.
const LIFE: Duration = Duration::from_hours(24);

/// A request that carries an idempotency key, as digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedRequest {
    place: String,
    body: String,
}

impl KeyedRequest {
    /// A request to `route`, which names all that its path names within the workspace.
    pub fn new(route: &[&str], key: &str, body: &str) -> Self {
        let parts: Vec<_> = ["idempotency", key].into_iter().chain(route.iter().copied()).collect();
        Self {
            place: digest(&parts),
            body: digest(&["body", body]),
        }
    }

    /// What the record keeps of the body: the digest is the workspace's own, so that equal bodies cannot be told from
    /// outside.
    fn body_in(&self, workspace: &WorkspaceUid) -> String {
        digest(&[workspace.as_str(), &self.body])
    }
}

/// What a request did: references from which its answer is rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It stored messages.
    Messages {
        /// Their session.
        session: SessionUid,
        /// The first.
        first: Seq,
        /// The last.
        last: Seq,
    },
    /// It was answered by a dream.
    Dream {
        /// The run.
        run: RunId,
    },
    /// It stated conclusions, in several transactions.
    Conclusions {
        /// When it came: a part of their ids.
        at: Time,
        /// What their ids were made from.
        seed: String,
        /// How many of the transactions are done.
        done: usize,
    },
}

/// What is remembered of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    body: String,
    until: Time,
    /// What it did.
    pub effect: Effect,
}

impl Record {
    /// Whether it still counts.
    pub fn counts(&self, now: Time) -> bool {
        now < self.until
    }

    /// Whether it is the record of a request with the same body.
    pub fn is_of(&self, workspace: &WorkspaceUid, request: &KeyedRequest) -> bool {
        self.body == request.body_in(workspace)
    }
}

/// A record to be written, over what was read in its place: one that has expired, or is that of the transaction before.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The workspace.
    pub workspace: WorkspaceUid,
    /// The request.
    pub request: KeyedRequest,
    /// The record that is there, if any.
    pub over: Option<Record>,
    /// When the request came.
    pub at: Time,
}

impl Recording {
    /// The record as it is written.
    pub fn record(&self, effect: Effect) -> Record {
        Record {
            body: self.request.body_in(&self.workspace),
            until: self.at + LIFE,
            effect,
        }
    }

    /// The write; its condition fails when the key has been used meanwhile.
    pub(crate) fn put(&self, effect: Effect) -> Result<Write> {
        let record = self.record(effect);
        let mut item = to_item(&place(&self.workspace, &self.request), "request", &record)?;
        item.insert(key::TTL.to_owned(), n(record.until.seconds() + 1));
        let absent = Condition::Absent(key::PK);
        let free = match &self.over {
            Some(over) => Condition::Any(vec![
                absent,
                Condition::All(vec![
                    Condition::Equals("until", to_value(&over.until)?),
                    Condition::Equals("effect", to_value(&over.effect)?),
                ]),
            ]),
            None => absent,
        };
        Ok(Write::put(item).when(free))
    }
}

/// The partition of a workspace's records.
pub(crate) fn partition(workspace: &WorkspaceUid) -> String {
    format!("I#{workspace}")
}

/// Where a request's record is.
pub(crate) fn place(workspace: &WorkspaceUid, request: &KeyedRequest) -> Key {
    Key::new(partition(workspace), &request.place)
}

impl Table {
    /// What is remembered of a request under its key; it may have expired.
    pub async fn request_record(&self, workspace: &WorkspaceUid, request: &KeyedRequest) -> Result<Option<Record>> {
        self.get_as(&place(workspace, request)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_for_its_route_and_nothing_else() {
        let of = |route: &[&str], key: &str| KeyedRequest::new(route, key, "{}").place;
        assert_eq!(of(&["messages", "s"], "k"), of(&["messages", "s"], "k"));
        assert_ne!(of(&["messages", "s"], "k"), of(&["messages", "t"], "k"));
        assert_ne!(of(&["messages", "s"], "k"), of(&["messages"], "ks"));
        assert_ne!(of(&["messages"], "k"), of(&["dreams"], "k"));
    }

    #[test]
    fn equal_bodies_of_two_workspaces_leave_different_digests() {
        let request = KeyedRequest::new(&["messages"], "k", "hello");
        assert_ne!(
            request.body_in(&WorkspaceUid::trusted("a")),
            request.body_in(&WorkspaceUid::trusted("b"))
        );
    }
}
