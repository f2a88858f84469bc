//! One turn of a dream's phase: the conversation so far, one call of the model, and what its answer asks for.
//!
//! A turn appends two messages: ours (the opening, or the results of what the last answer called) and the model's. Both
//! are remembered with the turn, as is what became of each call, so that a run that is gone on with says what it said
//! before, word for word, and asks nothing twice.

use reverie_core::reasoner::{Embedder, ReasonerError, ThinkRequest, Thought};
use reverie_core::run::Phase;
use reverie_core::text::estimate_tokens;
use reverie_core::toolbox::{Operation, Outcome};
use serde::{Deserialize, Serialize};

use super::reads::Reader;
use super::shown::Shelf;
use super::tools::tools;
use super::{calls, opening};
use crate::conversation::{
    Content, Message, Request, Response, StopReason, SystemBlock, ToolChoice, ToolInput, ToolResult, ToolUse,
};
use crate::model::LanguageModel;

/// The most calls of one answer that are carried out.
const CALLS: usize = 40;
/// The most characters of all results that one message gives.
const RESULTS: usize = 60_000;
/// From so many tokens of conversation on, estimated, a phase is brought to its end.
const CONVERSATION_TOKENS: u32 = 80_000;
/// The most tokens of one answer.
const OUTPUT_TOKENS: u32 = 8_192;

/// The turns that a phase may take, the last one without tools.
const fn turns(phase: Phase) -> u32 {
    match phase {
        Phase::Deduction => 12,
        Phase::Induction => 10,
        Phase::Card | Phase::Undo => 6,
    }
}

/// Conclusions below which a phase has nothing to do.
const fn least(phase: Phase) -> usize {
    match phase {
        Phase::Induction => 2,
        Phase::Deduction | Phase::Card | Phase::Undo => 1,
    }
}

fn rules(phase: Phase) -> &'static str {
    match phase {
        Phase::Induction => include_str!("../prompts/induction.md"),
        Phase::Card => include_str!("../prompts/card.md"),
        Phase::Deduction | Phase::Undo => include_str!("../prompts/deduction.md"),
    }
}

/// What is remembered of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Memory {
    /// What the turn appended to the conversation.
    said: Vec<Message>,
    /// The answer's calls, in order.
    calls: Vec<Called>,
}

/// A call, and what it was taken for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Called {
    call: ToolUse,
    is: Taken,
}

/// What a call was taken for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Taken {
    /// The turn's operation at this place.
    Operation(usize),
    /// Something to be read, when the turn's operations are done.
    Reading,
    /// The end.
    Finish,
    /// Nothing: what is wrong with it, for the model.
    Invalid(String),
}

/// Takes one turn.
pub(super) async fn take(
    model: &dyn LanguageModel,
    embedder: &dyn Embedder,
    hints: usize,
    request: &ThinkRequest<'_>,
) -> Result<Thought, ReasonerError> {
    let over = Thought {
        done: true,
        ..Thought::default()
    };
    let earlier = remembered(request)?;
    if earlier.is_empty() && (request.nothing_new || request.conclusions.len() < least(request.phase) || idle(request))
    {
        return Ok(over);
    }
    if earlier.last().is_some_and(|last| last.is_finished(request.outcomes)) {
        return Ok(over);
    }
    let shelf = Shelf::new(request.conclusions);
    let reader = Reader {
        shelf: &shelf,
        embedder,
        sources: request.messages,
    };
    let mut ours = match earlier.last() {
        None => Message::user(opening::write(request, &shelf, hints)),
        Some(last) => last.answer(request, &reader).await?,
    };
    let mut messages: Vec<Message> = earlier.iter().flat_map(|turn| turn.said.clone()).collect();
    let is_last = request.turn + 1 >= turns(request.phase) || tokens(&messages) >= CONVERSATION_TOKENS;
    if is_last {
        ours.content.push(Content::text(
            "This was the last turn in which tools could be used. Say in one sentence what is done and what is left.",
        ));
    }
    messages.push(ours.clone());
    let response = model
        .complete(&Request {
            system: vec![SystemBlock::cached(rules(request.phase))],
            messages,
            cache_messages: !is_last,
            tools: tools(request.phase, request.card_allowed),
            tool_choice: if is_last { ToolChoice::None } else { ToolChoice::Auto },
            output: None,
            max_output_tokens: OUTPUT_TOKENS,
            effort: None,
        })
        .await?;
    judge(request, &earlier, ours, &response, &shelf, is_last)
}

/// A card refresh that may not write the card.
fn idle(request: &ThinkRequest<'_>) -> bool {
    request.phase == Phase::Undo || (request.phase == Phase::Card && !request.card_allowed)
}

fn remembered(request: &ThinkRequest<'_>) -> Result<Vec<Memory>, ReasonerError> {
    // A turn that another reasoner took, before somebody configured this one, left nothing.
    let turns = request.earlier.iter().filter(|turn| !turn.is_null());
    turns
        .map(Memory::deserialize)
        .collect::<Result<_, _>>()
        .map_err(|_| ReasonerError::permanent("an earlier turn of the phase cannot be read"))
}

/// Turns an answer into a thought, or says why it is none.
fn judge(
    request: &ThinkRequest<'_>,
    earlier: &[Memory],
    ours: Message,
    response: &Response,
    shelf: &Shelf<'_>,
    is_last: bool,
) -> Result<Thought, ReasonerError> {
    if response.stop == StopReason::Refusal {
        return Err(response.useless("the model refuses"));
    }
    if earlier.is_empty() && response.content.is_empty() {
        return Err(response.useless("the model answered nothing"));
    }
    let (calls, operations) = if is_last {
        (Vec::new(), Vec::new())
    } else {
        planned(request, response, shelf)
    };
    let is_cut = matches!(response.stop, StopReason::MaxTokens | StopReason::ContextFull);
    let done = is_last || (calls.is_empty() && !is_cut);
    let memory = Memory {
        said: vec![ours, answered(response)],
        calls,
    };
    if done && let Some(reason) = unfruitful(earlier, &memory, is_last) {
        return Err(response.useless(reason));
    }
    let memory =
        serde_json::to_value(memory).map_err(|_| ReasonerError::permanent("the turn cannot be written down"))?;
    Ok(Thought {
        operations,
        done,
        usage: response.usage,
        memory,
    })
}

/// Why a phase that ends here has come to nothing: a model that only made mistakes, or went round in circles, has not
/// found the memory to be in order.
fn unfruitful(earlier: &[Memory], last: &Memory, is_last: bool) -> Option<&'static str> {
    let mut calls = earlier.iter().chain([last]).flat_map(|turn| &turn.calls).peekable();
    let asked = |called: &Called| matches!(called.is, Taken::Operation(_) | Taken::Finish);
    let invalid = |called: &Called| matches!(called.is, Taken::Invalid(_));
    let all: Vec<_> = calls.by_ref().collect();
    if all.iter().any(|called| asked(called)) {
        None
    } else if all.iter().any(|called| invalid(called)) {
        Some("none of the model's calls could be carried out")
    } else if is_last {
        Some("the model used all of its turns and asked for nothing")
    } else {
        None
    }
}

/// What the calls of an answer are taken for.
fn planned(request: &ThinkRequest<'_>, response: &Response, shelf: &Shelf<'_>) -> (Vec<Called>, Vec<Operation>) {
    let is_cut = matches!(response.stop, StopReason::MaxTokens | StopReason::ContextFull);
    let count = response.tool_uses().count();
    let mut operations = Vec::new();
    let mut taken = Vec::new();
    for (place, call) in response.tool_uses().enumerate() {
        let is = if is_cut && place + 1 == count {
            Taken::Invalid("the answer was cut off in this call, so nothing was done; call again, with less".to_owned())
        } else if place >= CALLS {
            Taken::Invalid(format!("at most {CALLS} calls in one answer; call again"))
        } else {
            take_call(request, call, shelf, &mut operations)
        };
        taken.push(Called { call: call.clone(), is });
    }
    (taken, operations)
}

fn take_call(request: &ThinkRequest<'_>, call: &ToolUse, shelf: &Shelf<'_>, operations: &mut Vec<Operation>) -> Taken {
    let read = match calls::read(call, request.phase, request.card_allowed) {
        Ok(read) => read,
        Err(why) => return Taken::Invalid(why),
    };
    match calls::operation(&read, shelf) {
        Ok(Some(operation)) => {
            operations.push(operation);
            Taken::Operation(operations.len() - 1)
        }
        Ok(None) if read == super::tools::Call::Finish => Taken::Finish,
        Ok(None) => Taken::Reading,
        Err(why) => Taken::Invalid(why),
    }
}

/// The model's message as it goes into the conversation: providers refuse one that is empty.
fn answered(response: &Response) -> Message {
    let mut message = response.message();
    if message.content.is_empty() {
        message.content.push(Content::text("."));
    }
    message
}

/// About how many tokens a conversation has.
fn tokens(messages: &[Message]) -> u32 {
    messages
        .iter()
        .flat_map(|message| &message.content)
        .fold(0_u32, |sum, content| sum.saturating_add(weight(content)))
}

fn weight(content: &Content) -> u32 {
    match content {
        Content::Text { text } => estimate_tokens(text),
        Content::ToolResult(result) => estimate_tokens(&result.content),
        Content::ToolUse(call) => match &call.input {
            ToolInput::Malformed(text) => estimate_tokens(text),
            ToolInput::Object(map) => estimate_tokens(&serde_json::to_string(map).unwrap_or_default()),
        },
        Content::Opaque { block, .. } => estimate_tokens(&block.to_string()),
    }
}

impl Memory {
    /// Whether the model said that it is done, and nothing is left to be mended or read.
    fn is_finished(&self, outcomes: &[Outcome]) -> bool {
        self.calls.iter().any(|called| called.is == Taken::Finish)
            && !self
                .calls
                .iter()
                .any(|called| matches!(called.is, Taken::Invalid(_) | Taken::Reading))
            && !outcomes.iter().any(|outcome| matches!(outcome, Outcome::Refused(_)))
    }

    /// What the model is told of its calls.
    async fn answer(&self, request: &ThinkRequest<'_>, reader: &Reader<'_>) -> Result<Message, ReasonerError> {
        if self.calls.is_empty() {
            return Ok(Message::user(
                "Your answer was cut off because it was too long. Call the tools, or finish, without explaining.",
            ));
        }
        let mut results = Vec::new();
        let mut room = RESULTS;
        for called in &self.calls {
            let mut result = called.result(request, reader).await?;
            if called.is == Taken::Reading && result.content.len() > room {
                result = called
                    .call
                    .error("left out, since all results together are too long; ask again for less");
            }
            room = room.saturating_sub(result.content.len());
            results.push(result);
        }
        Ok(Message::results(results))
    }
}

impl Called {
    async fn result(&self, request: &ThinkRequest<'_>, reader: &Reader<'_>) -> Result<ToolResult, ReasonerError> {
        Ok(match &self.is {
            Taken::Invalid(why) => self.call.error(why.as_str()),
            Taken::Finish => self.call.result("not yet: see the other results"),
            Taken::Operation(place) => match request.outcomes.get(*place) {
                Some(outcome) => calls::told(&self.call, outcome, reader.shelf),
                None => self.call.result("done"),
            },
            Taken::Reading => match calls::read(&self.call, request.phase, request.card_allowed) {
                Ok(call) => match reader.read(&call).await? {
                    Ok(text) => self.call.result(text),
                    Err(why) => self.call.error(why),
                },
                Err(why) => self.call.error(why),
            },
        })
    }
}
