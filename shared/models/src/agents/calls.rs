//! From what a model calls to what is done: an operation of the toolbox, something to read, or an answer that tells
//! what was wrong with the call.

use reverie_core::conclusion::{CardEntry, Level};
use reverie_core::id::ConclusionId;
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::{Operation, Outcome, Rejection};

use super::shown::{Shelf, quoted};
use super::tools::{Call, Replaced, tools};
use crate::conversation::{ToolResult, ToolUse};

/// The longest text of a conclusion that a dream may state, in characters: it is one sentence.
const MOST_CONTENT: usize = 2_000;

/// Reads a call of a tool that the phase has. The error is for the model.
pub(super) fn read(call: &ToolUse, phase: Phase, card_allowed: bool) -> Result<Call, String> {
    let offered = tools(phase, card_allowed);
    if !offered.iter().any(|tool| tool.name == call.name) {
        let names: Vec<_> = offered.into_iter().map(|tool| tool.name).collect();
        let said = quoted(&call.name, 60);
        return Err(format!("there is no tool {said}; there are {}", names.join(", ")));
    }
    Ok(match call.name.as_str() {
        "search" => Call::Search(call.arguments()?),
        "list" => Call::List(call.arguments()?),
        "read_messages" => Call::ReadMessages(call.arguments()?),
        "create_deduction" => Call::CreateDeduction(call.arguments()?),
        "create_contradiction" => Call::CreateContradiction(call.arguments()?),
        "create_pattern" => Call::CreatePattern(call.arguments()?),
        "merge" => Call::Merge(call.arguments()?),
        "remove" => Call::Remove(call.arguments()?),
        "write_card" => Call::WriteCard(call.arguments()?),
        _ => Call::Finish,
    })
}

/// The operation that a call asks for; `None` for one that changes nothing. The error is for the model.
pub(super) fn operation(call: &Call, shelf: &Shelf<'_>) -> Result<Option<Operation>, String> {
    Ok(Some(match call {
        Call::Search(_) | Call::List(_) | Call::ReadMessages(_) | Call::Finish => return Ok(None),
        Call::CreateDeduction(wanted) => Operation::Create {
            level: Level::Deductive,
            content: content(&wanted.content)?,
            sources: found(&wanted.sources, shelf)?,
            pattern: None,
            replaces: replaced(&wanted.replaces, shelf)?,
        },
        Call::CreateContradiction(wanted) => Operation::Create {
            level: Level::Contradiction,
            content: content(&wanted.content)?,
            sources: found(&wanted.sources, shelf)?,
            pattern: None,
            replaces: Vec::new(),
        },
        Call::CreatePattern(wanted) => Operation::Create {
            level: Level::Inductive,
            content: content(&wanted.content)?,
            sources: found(&wanted.sources, shelf)?,
            pattern: Some(wanted.pattern),
            replaces: replaced(&wanted.replaces, shelf)?,
        },
        Call::Merge(wanted) => Operation::Merge {
            keep: shelf.find(&wanted.keep)?,
            duplicates: found(&wanted.duplicates, shelf)?,
        },
        Call::Remove(wanted) => Operation::Remove {
            ids: found(&wanted.ids, shelf)?,
            reason: wanted.reason,
            replaced_by: wanted.replaced_by.as_deref().map(|name| shelf.find(name)).transpose()?,
        },
        Call::WriteCard(wanted) => Operation::Card {
            entries: wanted
                .entries
                .iter()
                .map(|entry| {
                    Ok(CardEntry {
                        text: entry.text.clone(),
                        // The toolbox passes over what is not there, and refuses an entry of which nothing is.
                        conclusions: entry
                            .conclusions
                            .iter()
                            .filter_map(|name| shelf.find(name).ok())
                            .collect(),
                    })
                })
                .collect::<Result<_, String>>()?,
        },
    }))
}

fn content(text: &str) -> Result<String, String> {
    let chars = text.chars().count();
    if chars > MOST_CONTENT {
        return Err(format!("the content has {chars} characters; one sentence is wanted"));
    }
    Ok(text.to_owned())
}

/// All that are named. One that is not there makes the whole call invalid: it may be the one that matters.
fn found(names: &[String], shelf: &Shelf<'_>) -> Result<Vec<ConclusionId>, String> {
    if names.is_empty() {
        return Err("no id was given".to_owned());
    }
    names.iter().map(|name| shelf.find(name)).collect()
}

fn replaced(wanted: &[Replaced], shelf: &Shelf<'_>) -> Result<Vec<(ConclusionId, RemovalReason)>, String> {
    wanted
        .iter()
        .map(|replaced| Ok((shelf.find(&replaced.id)?, replaced.reason)))
        .collect()
}

/// What a model is told of what became of its operation.
pub(super) fn told(call: &ToolUse, outcome: &Outcome, shelf: &Shelf<'_>) -> ToolResult {
    match outcome {
        Outcome::Created(id) => call.result(format!("created as [{}]", shelf.short(id))),
        Outcome::Known(id) => call.result(format!(
            "[{}] says so already; your sources were added to it",
            shelf.short(id)
        )),
        Outcome::Done => call.result("done"),
        Outcome::Refused(Rejection::Shrink) => call.error(
            "refused, nothing was changed: this dream would remove more of the memory than it may. Keep the \
             conclusions, or name in each case the one that stands in their place.",
        ),
        Outcome::Refused(Rejection::Erased) => {
            call.result("not created: the peer had this erased. Do not state it again.")
        }
        Outcome::Refused(rejection) => call.error(format!("refused, nothing was changed: {}", safe(rejection))),
    }
}

/// A refusal may quote text: it stays one line that closes nothing.
fn safe(rejection: &Rejection) -> String {
    let text = rejection.to_string();
    match rejection {
        Rejection::Card(_) => text.replace(['<', '>'], " "),
        _ => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::super::fixture::{call, stating};
    use super::*;

    #[test]
    fn calls_become_operations_with_whole_ids() {
        let conclusions = stating(&["sam works at Acme", "sam works at Beta", "sam works for Beta"]);
        let shelf = Shelf::new(&conclusions);
        let id = |n: usize| conclusions[n].id.clone();
        let short = |n: usize| format!("[{}]", shelf.short(&conclusions[n].id));
        let planned = |name: &str, arguments: serde_json::Value| {
            let call = read(&call(name, &arguments), Phase::Deduction, true).unwrap();
            operation(&call, &shelf).unwrap()
        };
        let create = json!({
            "content": "sam works at Beta, formerly at Acme",
            "sources": [short(1)],
            "replaces": [{"id": short(0), "reason": "superseded"}],
        });
        assert_eq!(
            planned("create_deduction", create),
            Some(Operation::Create {
                level: Level::Deductive,
                content: "sam works at Beta, formerly at Acme".into(),
                sources: vec![id(1)],
                pattern: None,
                replaces: vec![(id(0), RemovalReason::Superseded)],
            })
        );
        assert_eq!(
            planned("merge", json!({"keep": short(1), "duplicates": [short(2)]})),
            Some(Operation::Merge {
                keep: id(1),
                duplicates: vec![id(2)]
            })
        );
        assert_eq!(
            planned("remove", json!({"ids": [short(0)], "reason": "other"})),
            Some(Operation::Remove {
                ids: vec![id(0)],
                reason: RemovalReason::Other,
                replaced_by: None
            })
        );
        assert_eq!(planned("search", json!({"query": "work"})), None);
        assert_eq!(planned("finish", json!({})), None);
    }

    #[test]
    fn an_invalid_call_is_answered_so_that_it_can_be_mended() {
        let conclusions = stating(&["sam works at Acme", "sam lives in Oslo"]);
        let shelf = Shelf::new(&conclusions);
        let short = shelf.short(&conclusions[0].id);
        let answer = |name: &str, arguments: serde_json::Value| {
            let call = call(name, &arguments);
            read(&call, Phase::Deduction, true)
                .and_then(|call| operation(&call, &shelf))
                .unwrap_err()
        };
        for (name, arguments, part) in [
            (
                "drop_table",
                json!({}),
                "there is no tool \"drop_table\"; there are search, list",
            ),
            ("create_pattern", json!({}), "there is no tool"),
            ("merge", json!({"keep": short}), "missing field `duplicates`"),
            ("merge", json!({"keep": short, "duplicates": []}), "no id was given"),
            (
                "merge",
                json!({"keep": short, "duplicates": ["zzzzzz"]}),
                "no conclusion \"zzzzzz\"",
            ),
            (
                "remove",
                json!({"ids": [short], "reason": "boring"}),
                "unknown variant `boring`",
            ),
            ("remove", json!({"ids": short, "reason": "other"}), "invalid type"),
            (
                "create_deduction",
                json!({"content": "x".repeat(2001), "sources": [short]}),
                "2001 characters",
            ),
        ] {
            let said = answer(name, arguments);
            assert!(said.contains(part), "{name}: {said}");
        }
        let tool = call("write_card", &json!({"entries": []}));
        assert!(
            read(&tool, Phase::Deduction, false).is_err(),
            "where the card may not be written"
        );
    }
}
