//! The tools of a dream: what a model may call in which phase, and what its arguments are.

use reverie_core::conclusion::{Level, Pattern};
use reverie_core::run::{Phase, RemovalReason};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::conversation::Tool;

/// A call as a model makes it, checked against its schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Search(Search),
    List(List),
    ReadMessages(ReadMessages),
    CreateDeduction(CreateDeduction),
    CreateContradiction(CreateContradiction),
    CreatePattern(CreatePattern),
    Merge(Merge),
    Remove(Remove),
    WriteCard(WriteCard),
    Finish,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Search {
    pub(super) query: String,
    pub(super) level: Option<Level>,
    pub(super) limit: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct List {
    pub(super) level: Option<Level>,
    /// Only those whose latest evidence is older than this one's.
    pub(super) before: Option<String>,
    pub(super) limit: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ReadMessages {
    pub(super) ids: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Replaced {
    pub(super) id: String,
    pub(super) reason: RemovalReason,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct CreateDeduction {
    pub(super) content: String,
    pub(super) sources: Vec<String>,
    #[serde(default)]
    pub(super) replaces: Vec<Replaced>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct CreateContradiction {
    pub(super) content: String,
    pub(super) sources: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct CreatePattern {
    pub(super) content: String,
    pub(super) sources: Vec<String>,
    pub(super) pattern: Pattern,
    #[serde(default)]
    pub(super) replaces: Vec<Replaced>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Merge {
    pub(super) keep: String,
    pub(super) duplicates: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Remove {
    pub(super) ids: Vec<String>,
    pub(super) reason: RemovalReason,
    pub(super) replaced_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) conclusions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct WriteCard {
    pub(super) entries: Vec<Entry>,
}

/// The tools of a phase, always in the same order: what providers cache begins with them.
pub(super) fn tools(phase: Phase, card_allowed: bool) -> Vec<Tool> {
    let mut tools = vec![search(), list()];
    match phase {
        Phase::Deduction => {
            tools.extend([
                read_messages(),
                create_deduction(),
                create_contradiction(),
                merge(),
                remove(),
            ]);
            if card_allowed {
                tools.push(write_card());
            }
        }
        Phase::Induction => tools.extend([read_messages(), create_pattern(), merge()]),
        Phase::Card => tools.push(write_card()),
        Phase::Undo => {}
    }
    tools.push(finish());
    tools
}

fn tool(name: &str, description: &str, properties: &Value, required: &[&str]) -> Tool {
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn ids(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn level() -> Value {
    json!({
        "type": "string",
        "enum": ["explicit", "deductive", "inductive", "contradiction"],
        "description": "Only conclusions of this level.",
    })
}

fn limit() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": super::reads::MOST_LISTED, "description": "How many at most."})
}

fn reason() -> Value {
    json!({
        "type": "string",
        "enum": ["superseded", "duplicate", "contradicted", "other"],
        "description": "superseded: it has changed since; duplicate: another says the same; contradicted: another says the opposite and is to be believed.",
    })
}

fn replaces() -> Value {
    json!({
        "type": "array",
        "description": "Conclusions that this one makes untrue or superfluous; they are removed as it is created.",
        "items": {
            "type": "object",
            "properties": {"id": text("The id of the conclusion."), "reason": reason()},
            "required": ["id", "reason"],
            "additionalProperties": false,
        },
    })
}

fn search() -> Tool {
    let properties = json!({"query": text("What to look for, in plain words."), "level": level(), "limit": limit()});
    tool(
        "search",
        "Finds the conclusions nearest in meaning to a query.",
        &properties,
        &["query"],
    )
}

fn list() -> Tool {
    let before = text("The id of a conclusion: only those whose evidence is older, so as to read on.");
    let properties = json!({"level": level(), "before": before, "limit": limit()});
    tool(
        "list",
        "Lists conclusions by the date of their evidence, the latest first.",
        &properties,
        &[],
    )
}

fn read_messages() -> Tool {
    let properties = json!({"ids": ids("The ids of the conclusions.")});
    tool(
        "read_messages",
        "Shows the messages that conclusions rest on, where their texts alone leave something open.",
        &properties,
        &["ids"],
    )
}

fn create_deduction() -> Tool {
    let properties = json!({
        "content": text("The conclusion: one sentence with the peer's name as its subject."),
        "sources": ids("The ids of the conclusions that it follows from, at least one."),
        "replaces": replaces(),
    });
    tool(
        "create_deduction",
        "States what follows from conclusions, such as what holds now after a change.",
        &properties,
        &["content", "sources"],
    )
}

fn create_contradiction() -> Tool {
    let properties = json!({
        "content": text("What is at odds with what: one sentence that tells both sides."),
        "sources": ids("The ids of the conclusions that cannot all hold, at least two."),
    });
    tool(
        "create_contradiction",
        "Notes that conclusions cannot all hold when nothing tells which is right; none of them is removed.",
        &properties,
        &["content", "sources"],
    )
}

fn create_pattern() -> Tool {
    let properties = json!({
        "content": text("The pattern: one sentence with the peer's name as its subject."),
        "sources": ids("The ids of all conclusions that show it, at least two, of different occasions."),
        "pattern": {
            "type": "string",
            "enum": ["preference", "behavior", "personality", "tendency", "correlation"],
            "description": "Its kind.",
        },
        "replaces": replaces(),
    });
    tool(
        "create_pattern",
        "States a pattern that several conclusions show.",
        &properties,
        &["content", "sources", "pattern"],
    )
}

fn merge() -> Tool {
    let properties = json!({
        "keep": text("The id of the fullest of them, which stays."),
        "duplicates": ids("The ids of those that say the same and go; their evidence is added to the one that stays."),
    });
    tool(
        "merge",
        "Makes one conclusion of several that say the same and have the same level.",
        &properties,
        &["keep", "duplicates"],
    )
}

fn remove() -> Tool {
    let properties = json!({
        "ids": ids("The ids of the conclusions to remove."),
        "reason": reason(),
        "replaced_by": text("The id of the conclusion that stands in their place. Name it wherever there is one."),
    });
    tool(
        "remove",
        "Removes conclusions that are no longer true or say nothing more than another.",
        &properties,
        &["ids", "reason"],
    )
}

fn write_card() -> Tool {
    let properties = json!({
        "entries": {
            "type": "array",
            "description": "The whole new card, at most 40 entries.",
            "items": {
                "type": "object",
                "properties": {
                    "text": text("The entry: IDENTITY: , ATTRIBUTE: , RELATIONSHIP: or INSTRUCTION: and at most 200 characters in all."),
                    "conclusions": ids("The ids of the conclusions that it rests on, at least one."),
                },
                "required": ["text", "conclusions"],
                "additionalProperties": false,
            },
        },
    });
    tool("write_card", "Replaces the peer's card.", &properties, &["entries"])
}

fn finish() -> Tool {
    tool(
        "finish",
        "Says that nothing is left to do. May come with the last changes.",
        &json!({}),
        &[],
    )
}
