//! Deriving conclusions from a batch of messages: one call, whose answer is checked before anything is made of it.

use std::collections::BTreeSet;

use reverie_core::id::{PeerName, Seq};
use reverie_core::reasoner::{DeriveRequest, Derived, ReasonerError, Statement};
use serde::Deserialize;
use serde_json::json;

use super::shown::{instructions, messages};
use crate::conversation::{Message, OutputSchema, Request, Response, StopReason, SystemBlock};
use crate::model::LanguageModel;

const RULES: &str = include_str!("../prompts/deriver.md");
/// The most tokens of an answer.
const OUTPUT_TOKENS: u32 = 4_096;
/// The longest note, in characters: it is one sentence.
const MOST_CONTENT: usize = 2_000;
/// The most notes of one answer: a batch has about a thousand tokens.
const MOST_NOTES: usize = 200;

#[derive(Deserialize)]
struct Notes {
    notes: Vec<Note>,
}

#[derive(Deserialize)]
struct Note {
    about: String,
    content: String,
    messages: Vec<usize>,
}

/// Asks the model about a batch.
pub(super) async fn derive(model: &dyn LanguageModel, request: &DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
    let response = model.complete(&asked(request)).await?;
    checked(request, &response).map_err(|reason| response.useless(reason))
}

fn asked(request: &DeriveRequest<'_>) -> Request {
    let peers: Vec<_> = request.observed.iter().map(PeerName::as_str).collect();
    let mut text = format!("The peers are: {}.\n", peers.join(", "));
    if let Some(given) = request.instructions {
        text.push_str(&instructions("instructions", "what to note", given));
    }
    text.push_str(&messages(request.messages));
    Request {
        system: vec![SystemBlock::cached(RULES)],
        messages: vec![Message::user(text)],
        output: Some(OutputSchema {
            name: "notes".to_owned(),
            schema: schema(),
        }),
        max_output_tokens: OUTPUT_TOKENS,
        ..Request::default()
    }
}

fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "notes": {
                "type": "array",
                "description": "The notes, in the order of their messages; empty when there is nothing to note.",
                "items": {
                    "type": "object",
                    "properties": {
                        "about": {"type": "string", "description": "The name of the peer whom it is about."},
                        "content": {"type": "string", "description": "The note: one sentence with that name as its subject."},
                        "messages": {
                            "type": "array",
                            "items": {"type": "integer"},
                            "description": "The numbers of the messages that it rests on, at least one.",
                        },
                    },
                    "required": ["about", "content", "messages"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["notes"],
        "additionalProperties": false,
    })
}

/// What an answer yields. One that is not of the agreed shape is refused whole. Of one that is, a note is left out when
/// it is about nobody whom we asked about, has no text or too much, or names no message of the batch; an answer of which
/// every note is left out is refused whole, too.
fn checked(request: &DeriveRequest<'_>, response: &Response) -> Result<Derived, &'static str> {
    match response.stop {
        StopReason::Refusal => return Err("the model refuses"),
        StopReason::MaxTokens | StopReason::ContextFull => return Err("the answer is cut off"),
        _ => {}
    }
    let Notes { notes } = response.json().map_err(|_| "the answer is not of the agreed shape")?;
    let given = notes.len();
    if given > MOST_NOTES {
        return Err("the answer has more notes than a batch can hold");
    }
    let about_others = notes.iter().filter(|note| is_about_other(request, note)).count();
    let statements: Vec<_> = notes.into_iter().filter_map(|note| statement(request, note)).collect();
    let left_out = given - statements.len();
    if left_out > about_others && statements.is_empty() {
        return Err("no note of the answer could be used");
    }
    if left_out > 0 {
        tracing::info!(notes = given, left_out, "some notes were not used");
    }
    Ok(Derived {
        statements,
        usage: response.usage,
    })
}

/// About somebody who speaks here and is not asked about: no mistake, and not wanted.
fn is_about_other(request: &DeriveRequest<'_>, note: &Note) -> bool {
    let about = note.about.trim();
    request.messages.iter().any(|said| said.peer.as_str() == about)
        && !request.observed.iter().any(|peer| peer.as_str() == about)
}

fn statement(request: &DeriveRequest<'_>, note: Note) -> Option<Statement> {
    let about = request
        .observed
        .iter()
        .find(|peer| peer.as_str() == note.about.trim())?;
    let content = note.content.trim();
    if !(1..=MOST_CONTENT).contains(&content.chars().count()) {
        return None;
    }
    let numbers: BTreeSet<usize> = note.messages.into_iter().collect();
    let rests_on: Vec<_> = numbers
        .into_iter()
        .filter_map(|number| request.messages.get(number.checked_sub(1)?))
        .collect();
    let event_at = rests_on.iter().map(|message| message.created_at).max()?;
    let messages: Vec<Seq> = rests_on.iter().map(|message| message.seq).collect();
    Some(Statement {
        about: about.clone(),
        content: content.to_owned(),
        messages,
        event_at,
    })
}
