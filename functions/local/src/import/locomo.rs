//! LoCoMo's files: conversations of two speakers over numbered, dated sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use reverie_core::id::{PeerName, SessionName};
use reverie_core::time::Time;
use serde::Deserialize;
use serde_json::Value;

use super::{Message, Place, ReadError, Session, split};

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    conversation: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    text: String,
}

/// `1:56 pm on 8 May, 2023`, taken as UTC.
const DATE: &str = "%I:%M %p on %d %B, %Y";

/// Message `i` of a session is dated the session's date and `i` seconds, which keeps their order.
///
/// A speaker whose name occurs in several conversations of the file is a different person in each, so there the
/// conversation's id goes before the name.
pub(super) fn parse(text: &str, sample: Option<&str>) -> Result<Vec<Session>, ReadError> {
    let samples: Vec<Sample> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::from_str(text).map(|sample| vec![sample])
    }
    .map_err(|error| ReadError::at(Place::Line(error.line()), &error))?;
    let read = samples
        .into_iter()
        .map(|sample| {
            let sessions = numbered_sessions(&sample)?;
            Ok((sample.sample_id, sessions))
        })
        .collect::<Result<Vec<_>, ReadError>>()?;

    let mut conversations_of: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for (id, sessions) in &read {
        for turn in sessions.iter().flat_map(|session| &session.turns) {
            conversations_of.entry(&turn.speaker).or_default().insert(id);
        }
    }
    let mut sessions = Vec::new();
    let mut found = false;
    for (id, numbered) in &read {
        if sample.is_some_and(|sample| sample != id) {
            continue;
        }
        found = true;
        for session in numbered {
            let shared = |speaker: &str| conversations_of.get(speaker).is_some_and(|ids| ids.len() > 1);
            sessions.push(session.named(id, shared)?);
        }
    }
    if !found && sample.is_some() {
        let ids: Vec<_> = read.iter().map(|(id, _)| id.as_str()).collect();
        return Err(ReadError::Nothing(format!(
            "the file has no sample {:?}; it has {}",
            sample.unwrap_or_default(),
            ids.join(", ")
        )));
    }
    Ok(sessions)
}

struct Numbered {
    number: u32,
    date: Time,
    turns: Vec<Turn>,
}

/// The sessions in the order of their numbers.
fn numbered_sessions(sample: &Sample) -> Result<Vec<Numbered>, ReadError> {
    let mut sessions = Vec::new();
    for (key, value) in &sample.conversation {
        let Some(number) = key.strip_prefix("session_").and_then(|number| number.parse().ok()) else {
            continue;
        };
        let place = || Place::Part(format!("{} {key}", sample.sample_id));
        let turns: Vec<Turn> =
            Deserialize::deserialize(value).map_err(|error: serde_json::Error| ReadError::at(place(), error))?;
        let date = sample
            .conversation
            .get(&format!("{key}_date_time"))
            .and_then(Value::as_str)
            .ok_or_else(|| ReadError::at(place(), "the session has no date"))?;
        let date = parse_date(date).ok_or_else(|| ReadError::at(place(), format!("not a date: {date:?}")))?;
        sessions.push(Numbered { number, date, turns });
    }
    sessions.sort_by_key(|session| session.number);
    Ok(sessions)
}

impl Numbered {
    fn named(&self, sample: &str, shared: impl Fn(&str) -> bool) -> Result<Session, ReadError> {
        let name = format!("{}-session-{}", valid(sample), self.number);
        let place = || Place::Part(format!("{sample} session_{}", self.number));
        let mut messages = Vec::new();
        for (turn, seconds) in self.turns.iter().zip(0_u64..) {
            let peer = if shared(&turn.speaker) {
                format!("{}-{}", valid(sample), valid(&turn.speaker))
            } else {
                valid(&turn.speaker)
            };
            let peer = PeerName::parse(&peer)
                .map_err(|error| ReadError::at(place(), format!("speaker {:?}: {error}", turn.speaker)))?;
            messages.extend(split::pieces(&turn.text).into_iter().map(|content| Message {
                peer: peer.clone(),
                content,
                created_at: Some(self.date + Duration::from_secs(seconds)),
            }));
        }
        let name =
            SessionName::parse(&name).map_err(|error| ReadError::at(place(), format!("session {name:?}: {error}")))?;
        Ok(Session { name, messages })
    }
}

fn parse_date(text: &str) -> Option<Time> {
    let civil = DateTime::strptime(DATE, text.trim()).ok()?;
    let timestamp = TimeZone::UTC.to_timestamp(civil).ok()?;
    Some(Time::from_micros(timestamp.as_microsecond()))
}

/// A name with every run of characters that ids do not allow replaced by one `-`.
fn valid(name: &str) -> String {
    let mut text = String::new();
    for c in name.trim().chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
            text.push(c);
        } else if !text.ends_with('-') {
            text.push('-');
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const FILE: &str = r#"[
        {"sample_id": "conv-1", "conversation": {
            "speaker_a": "Ann", "speaker_b": "José M.",
            "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "later"}],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "last"}],
            "session_10_date_time": "12:30 pm on 1 October, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "hello"},
                {"speaker": "José M.", "dia_id": "D1:2", "text": "hi", "img_url": ["x"]}
            ],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_3_date_time": "1:56 pm on 9 May, 2023"}},
        {"sample_id": "conv-2", "conversation": {
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "another Ann"}],
            "session_1_date_time": "9:00 am on 1 January, 2024"}}]"#;

    #[test]
    fn a_conversation_is_read_in_the_order_of_its_numbers_with_its_dates() {
        let sessions = parse(FILE, Some("conv-1")).unwrap();
        let names: Vec<_> = sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["conv-1-session-1", "conv-1-session-2", "conv-1-session-10"]);
        let dates: Vec<_> = sessions
            .iter()
            .flat_map(|session| &session.messages)
            .map(|message| message.created_at.unwrap().to_string())
            .collect();
        assert_eq!(
            dates,
            [
                "2023-05-08T13:56:00Z",
                "2023-05-08T13:56:01Z",
                "2023-09-13T00:09:00Z",
                "2023-10-01T12:30:00Z"
            ]
        );
    }

    #[test]
    fn a_name_in_two_conversations_is_two_peers_whichever_is_selected() {
        let one = parse(FILE, Some("conv-1")).unwrap();
        let peers: Vec<_> = super::super::peers(&one).iter().map(ToString::to_string).collect();
        assert_eq!(peers, ["conv-1-Ann", "Jos-M-"]);
        let both = parse(FILE, None).unwrap();
        assert_eq!(both[3].messages[0].peer.as_str(), "conv-2-Ann");
    }

    #[test]
    fn errors_name_the_part() {
        let unknown = parse(FILE, Some("conv-9")).unwrap_err().to_string();
        assert!(unknown.contains("conv-1, conv-2"), "{unknown}");
        let bad_date = FILE.replace("8 May", "8 Maybe");
        let error = parse(&bad_date, None).unwrap_err().to_string();
        assert!(error.starts_with("conv-1 session_1: not a date"), "{error}");
        let no_text = FILE.replace("\"text\": \"later\"", "\"texts\": 1");
        let error = parse(&no_text, None).unwrap_err().to_string();
        assert!(error.starts_with("conv-1 session_2: missing field `text`"), "{error}");
        assert!(parse("[{]", None).unwrap_err().to_string().starts_with("line 1: "));
    }
}
