//! Activity: when a peer's last message arrived, and in which session, as an item of its own.
//!
//! | item | key |
//! |---|---|
//! | activity | `P#<workspace uid>#<peer digest>` / `ACT` |
//!
//! Written in the transaction of a POST, at most every `min(5 s, idle / 20)`, so that a busy peer is no hot spot.

use reverie_core::id::{PeerName, Seq, SessionUid, WorkspaceUid};
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::{Key, Result, Table, Write, peers, to_item};

/// A peer's last known activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// When its message arrived.
    pub at: Time,
    /// In which session.
    pub session: SessionUid,
    /// Which message.
    pub seq: Seq,
}

pub(crate) fn key(workspace: &WorkspaceUid, peer: &PeerName) -> Key {
    Key::new(peers::head(workspace, peer).pk, "ACT")
}

pub(crate) fn put(workspace: &WorkspaceUid, peer: &PeerName, activity: &Activity) -> Result<Write> {
    Ok(Write::put(to_item(&key(workspace, peer), "activity", activity)?))
}

impl Table {
    /// When the peer's last message arrived; `None` when it never sent one.
    pub async fn activity(&self, workspace: &WorkspaceUid, peer: &PeerName) -> Result<Option<Activity>> {
        self.get_as(&key(workspace, peer)).await
    }
}
