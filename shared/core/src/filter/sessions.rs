//! The narrow filter of recalls (representation, chat): which sessions may be recalled from.
//!
//! Only `session_id`, as one name, a list, or `{"in": list}`; no wildcards, and everything else is refused: a condition
//! that was passed over would let more be recalled than was meant.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::parse::FilterError;
use crate::id::SessionName;

/// The most sessions of one recall.
pub const MAX_SESSIONS: usize = 1_000;

/// The sessions that a recall's filters name; `session_id` next to them must be among them. An empty list recalls
/// nothing.
pub fn session_allowlist(
    filters: &Map<String, Value>,
    session_id: Option<&str>,
) -> Result<BTreeSet<SessionName>, FilterError> {
    let refuse = |text: String| Err(FilterError::Sessions(text));
    if filters.keys().any(|key| key != "session_id") {
        return refuse("only 'session_id' can be filtered by here".to_owned());
    }
    let Some(value) = filters.get("session_id") else {
        return refuse("filters must contain 'session_id'".to_owned());
    };
    let listed = match value {
        Value::Object(map) if map.len() == 1 => map.get("in").and_then(Value::as_array),
        other => other.as_array(),
    };
    let entries = match (value, listed) {
        (Value::String(_), _) => std::slice::from_ref(value),
        (_, Some(list)) => list,
        _ => return refuse("filter 'session_id' must be a session id, a list of them, or {\"in\": [...]}".to_owned()),
    };
    if entries.len() > MAX_SESSIONS {
        return refuse(format!("filter 'session_id' has more than {MAX_SESSIONS} sessions"));
    }
    let names = entries
        .iter()
        .map(|entry| entry.as_str().and_then(|text| SessionName::parse(text).ok()));
    let Some(names) = names.collect::<Option<BTreeSet<_>>>() else {
        return refuse("filter 'session_id' has an entry that is no session id".to_owned());
    };
    match session_id {
        Some(session) if !names.iter().any(|name| name.as_str() == session) => {
            refuse("the filter's sessions must include session_id".to_owned())
        }
        _ => Ok(names),
    }
}
