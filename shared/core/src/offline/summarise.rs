//! Summaries without a model: sentences picked out and quoted, each on a line with its speaker.
//!
//! A sentence counts by what it says: one that states something about its speaker most, one with names and numbers less,
//! talk nothing. The previous summary's lines compete with one another for half of the room at least, so that facts said
//! early survive, and with nothing said since; among equals the earlier one stays.

use std::collections::HashSet;

use super::derive::{derive, full_stop};
use super::sentence::{prose, sentences};
use super::token::{Kind, tokens};
use crate::id::{PeerName, Seq};
use crate::message::Message;
use crate::reasoner::{DeriveRequest, SummaryRequest};
use crate::summary::within;
use crate::text::{estimate_tokens, normalise};
use crate::time::Time;

/// What a sentence that states something about its speaker counts.
const STATEMENT: u32 = 4;
/// What names and numbers count together at most.
const NAMES: u32 = 2;
/// The least that a sentence must count to be quoted.
const WORTH: u32 = 2;
/// How many sentences are quoted where none is worth it: a summary of talk says that there was talk.
const TALK: usize = 3;
/// The most tokens of one line; a longer one is cut.
const LINE: u32 = 60;

/// A sentence that may be quoted.
struct Line {
    text: String,
    worth: u32,
}

impl Line {
    fn tokens(&self) -> u32 {
        estimate_tokens(&self.text)
    }
}

/// The summary of a session: what the previous one says and what was said since, quoted, within the bound. Blank only if
/// nothing was ever said.
pub fn extract(request: &SummaryRequest<'_>) -> String {
    let mut seen = HashSet::new();
    let mut fresh = |line: &Line| seen.insert(normalise(&line.text));
    let before: Vec<Line> = request.previous.unwrap_or_default().lines().filter_map(again).collect();
    let before: Vec<Line> = before.into_iter().filter(&mut fresh).collect();
    let mut since: Vec<Line> = request.messages.iter().flat_map(quotes).filter(&mut fresh).collect();
    if since.iter().any(|line| line.worth >= WORTH) || !before.is_empty() {
        since.retain(|line| line.worth >= WORTH);
    } else {
        let talk = chosen(&since, u32::MAX);
        let last = talk.into_iter().take(TALK).max().map_or(0, |place| place + 1);
        since.truncate(last);
    }
    let room = request.max_tokens;
    let kept = used(&before, &chosen(&before, room / 2));
    let since_chosen = chosen(&since, room - kept);
    let before_chosen = chosen(&before, room - used(&since, &since_chosen));
    let lines = in_order(&before, before_chosen).chain(in_order(&since, since_chosen));
    lines.collect::<Vec<_>>().join("\n")
}

/// The places of the lines that are worth most and fit together, the worthiest first.
fn chosen(lines: &[Line], room: u32) -> Vec<usize> {
    let mut places: Vec<usize> = (0..lines.len()).collect();
    places.sort_by_key(|place| (std::cmp::Reverse(lines[*place].worth), *place));
    let mut left = room;
    places.retain(|place| {
        let fits = lines[*place].tokens() <= left;
        if fits {
            left -= lines[*place].tokens();
        }
        fits
    });
    places
}

fn used(lines: &[Line], places: &[usize]) -> u32 {
    places.iter().map(|place| lines[*place].tokens()).sum()
}

fn in_order(lines: &[Line], mut places: Vec<usize>) -> impl Iterator<Item = &str> {
    places.sort_unstable();
    places.into_iter().map(|place| lines[place].text.as_str())
}

/// A line of the previous summary. One of ours counts what its sentence counted when it was said.
fn again(line: &str) -> Option<Line> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let quoted = line
        .split_once(": ")
        .and_then(|(speaker, text)| Some((PeerName::parse(speaker).ok()?, text)));
    let worth = match quoted {
        Some((speaker, text)) => worth(&speaker, text),
        // What a model wrote has been weighed already.
        None => STATEMENT,
    };
    Some(Line {
        text: shortened(line),
        worth,
    })
}

/// The sentences of a message, each as a line.
fn quotes(message: &Message) -> Vec<Line> {
    let speaker = &message.peer;
    let blocks = prose(&message.content);
    let mut found: Vec<String> = blocks
        .iter()
        .flat_map(|block| sentences(block))
        .map(|sentence| {
            let text = sentence.text.trim();
            match sentence.end {
                '\n' => text.to_owned(),
                '.' => format!("{text}{}", full_stop(text)),
                mark => format!("{text}{mark}"),
            }
        })
        .collect();
    if found.is_empty() {
        // Code, or a log: its beginning says what it was.
        found.extend(
            message
                .content
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .map(str::to_owned),
        );
    }
    found
        .into_iter()
        .map(|text| Line {
            worth: worth(speaker, &text),
            text: shortened(&format!("{speaker}: {text}")),
        })
        .collect()
}

fn shortened(line: &str) -> String {
    let cut = within(line, LINE);
    if cut.len() == line.len() {
        line.to_owned()
    } else {
        format!("{cut}…")
    }
}

fn worth(speaker: &PeerName, text: &str) -> u32 {
    let message = Message {
        seq: Seq(1),
        peer: speaker.clone(),
        content: text.to_owned(),
        metadata: serde_json::Map::new(),
        configuration: None,
        created_at: Time::from_seconds(0),
        arrived_at: Time::from_seconds(0),
        tokens: 0,
    };
    let request = DeriveRequest {
        messages: &[message],
        observed: std::slice::from_ref(speaker),
        instructions: None,
    };
    if !derive(&request).statements.is_empty() {
        return STATEMENT;
    }
    // A sentence begins with a capital whatever it says.
    let found = tokens(text);
    let names = found
        .iter()
        .skip(1)
        .filter(|token| token.kind == Kind::Number || (token.is_capitalised() && token.text.chars().count() > 1));
    u32::try_from(names.count()).unwrap_or(u32::MAX).min(NAMES)
}
