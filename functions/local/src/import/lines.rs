//! JSON lines: one message per line.

use std::collections::HashMap;

use reverie_core::id::{PeerName, SessionName};
use reverie_core::time::Time;
use serde::Deserialize;

use super::{Message, Place, ReadError, Session, split};

/// Unknown fields are an error: a misspelt `created_at` must not lose the dates silently.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    session: String,
    peer: String,
    content: String,
    #[serde(default)]
    created_at: Option<String>,
}

/// Sessions come in the order in which they first appear; the messages of each in the order of their lines.
pub(super) fn parse(text: &str) -> Result<Vec<Session>, ReadError> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (index, text) in text.lines().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        let place = || Place::Line(index + 1);
        let line: Line = serde_json::from_str(text).map_err(|error| ReadError::at(place(), reason(&error)))?;
        let name = SessionName::parse(&line.session)
            .map_err(|error| ReadError::at(place(), format!("session {:?}: {error}", line.session)))?;
        let peer = PeerName::parse(&line.peer)
            .map_err(|error| ReadError::at(place(), format!("peer {:?}: {error}", line.peer)))?;
        let created_at = line
            .created_at
            .map(|date| Time::parse(&date).map_err(|error| ReadError::at(place(), format!("created_at: {error}"))))
            .transpose()?;
        let session = *places.entry(line.session).or_insert_with(|| {
            sessions.push(Session {
                name,
                messages: Vec::new(),
            });
            sessions.len() - 1
        });
        let pieces = split::pieces(&line.content);
        sessions[session]
            .messages
            .extend(pieces.into_iter().map(|content| Message {
                peer: peer.clone(),
                content,
                created_at,
            }));
    }
    Ok(sessions)
}

/// The parser's words without its own idea of the line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line 1 column ") {
        Some((reason, column)) => format!("{reason} (column {column})"),
        None => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_gathered_in_order_of_appearance() {
        let text = r#"{"session":"b","peer":"maya","content":"one","created_at":"2026-01-02T03:04:05Z"}

{"session":"a","peer":"maya","content":"two"}
{"session":"b","peer":"helper","content":"three"}"#;
        let sessions = parse(text).unwrap();
        let names: Vec<_> = sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let contents: Vec<_> = sessions[0].messages.iter().map(|m| m.content.as_str()).collect();
        assert_eq!(contents, ["one", "three"]);
        assert_eq!(
            sessions[0].messages[0].created_at,
            Time::parse("2026-01-02T03:04:05Z").ok()
        );
        assert_eq!(sessions[0].messages[1].created_at, None);
    }

    #[test]
    fn an_error_names_its_line() {
        let good = r#"{"session":"a","peer":"p","content":"c"}"#;
        for (bad, word) in [
            (r#"{"session":"a","peer":"p"}"#, "content"),
            (r#"{"session":"a b","peer":"p","content":"c"}"#, "session \"a b\""),
            (r#"{"session":"a","peer":"","content":"c"}"#, "peer \"\""),
            (
                r#"{"session":"a","peer":"p","content":"c","created_at":"yesterday"}"#,
                "created_at",
            ),
            (
                r#"{"session":"a","peer":"p","content":"c","createdat":"x"}"#,
                "createdat",
            ),
            ("not json", "expected"),
        ] {
            let error = parse(&format!("{good}\n\n{bad}\n")).unwrap_err().to_string();
            assert!(error.starts_with("line 3: "), "{error}");
            assert!(error.contains(word), "{error}");
        }
    }
}
