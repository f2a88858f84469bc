//! Summaries of sessions: one call, which carries the previous summary on.

use reverie_core::reasoner::{ReasonerError, Summary, SummaryRequest};
use reverie_core::summary::Kind;

use super::shown::{instructions, messages, quoted, section};
use crate::conversation::{Message, Request, StopReason, SystemBlock};
use crate::model::LanguageModel;

const RULES: &str = include_str!("../prompts/summary.md");
/// Tokens that a model may write beyond the bound: it counts badly, and an answer that is cut off ends in the middle of
/// a sentence.
const LEEWAY: u32 = 500;

/// Asks the model for a summary.
pub(super) async fn summarise(
    model: &dyn LanguageModel,
    request: &SummaryRequest<'_>,
) -> Result<Summary, ReasonerError> {
    let response = model.complete(&asked(request)).await?;
    if response.stop == StopReason::Refusal {
        return Err(response.useless("the model refuses"));
    }
    let content = response.text().trim().to_owned();
    if content.is_empty() {
        return Err(response.useless("the model answered nothing"));
    }
    Ok(Summary {
        content,
        usage: response.usage,
    })
}

fn asked(request: &SummaryRequest<'_>) -> Request {
    let (kind, words) = match request.kind {
        Kind::Short => ("short", "what the conversation is about now and what is open"),
        Kind::Long => ("long", "all that has mattered from its beginning on"),
    };
    let mut text = format!(
        "Write the {kind} summary of the conversation: {words}. At most {} words.\n",
        request.max_tokens.saturating_mul(3) / 4
    );
    if let Some(given) = request.instructions {
        text.push_str(&instructions("instructions", "summaries", given));
    }
    if let Some(previous) = request.previous {
        text.push_str(&section("summary_so_far", &quoted(previous, usize::MAX)));
    }
    text.push_str(&messages(request.messages));
    Request {
        system: vec![SystemBlock::cached(RULES)],
        messages: vec![Message::user(text)],
        max_output_tokens: request.max_tokens.saturating_add(LEEWAY),
        ..Request::default()
    }
}
