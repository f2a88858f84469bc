//! Messages as the engine and the deriver see them.

use serde::{Deserialize, Serialize};

use crate::id::{PeerName, Seq};
use crate::time::Time;

/// A stored message of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its place in the session.
    pub seq: Seq,
    /// Who said it.
    pub peer: PeerName,
    /// What was said.
    pub content: String,
    /// Users' metadata as it was posted; a later edit is an overlay.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Users' settings of this message (`reasoning` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<serde_json::Map<String, serde_json::Value>>,
    /// When it was said, as its sender dates it (event time).
    pub created_at: Time,
    /// When it reached us (arrival time).
    pub arrived_at: Time,
    /// Its size in tokens, estimated.
    pub tokens: u32,
}
