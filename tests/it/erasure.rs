//! Erasure: what is deleted is nowhere in the table, whatever was going on; what is not stays as it was
//! (`design.md` section 6, checklist H29 and H34–H36, field report 2).

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use reverie_core::conclusion::{CardEntry, Level, Pattern};
use reverie_core::id::ConclusionId;
use reverie_core::reasoner::{Derived, ReasonerError, ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use crate::checklist::{card, created, detail, id, id_of, list, listed, newest, removed, say, say_in, strings, texts};
use crate::rig::{Fault, Faults, Rig, Scripted, config};

mod crashes;
mod races;
mod sessions;
mod workspaces;

const MINUTE: Duration = Duration::from_mins(1);

/// What is said in session `a`, which the tests delete.
const A: &[&str] = &[
    "maya works at Intel",
    "maya used to work at Xerox",
    "maya plays the violin",
    "maya plays in the evenings",
];
/// What is said in session `b`, which stays.
const B: &[&str] = &["maya owns a violin", "maya paints on Sundays", "maya loves paint"];
/// Every text that only session `a` supports.
const ONLY_A: &[&str] = &["Intel", "Xerox", "an engineer", "in the evenings", "late hours"];

/// Draws conclusions from what was said in both sessions: alone, together, across; and keeps a card.
fn think(request: &ThinkRequest<'_>) -> Thought {
    let find = |text: &str| {
        let found = request.conclusions.iter().find(|c| c.content == text);
        found.map(|c| c.id.clone())
    };
    let create = |level, content: &str, sources: Vec<Option<ConclusionId>>, replaces: Option<ConclusionId>| {
        let sources: Option<Vec<_>> = sources.into_iter().collect();
        Some(Operation::Create {
            level,
            content: content.into(),
            sources: sources?,
            pattern: (level == Level::Inductive).then_some(Pattern::Behavior),
            replaces: replaces
                .into_iter()
                .map(|old| (old, RemovalReason::Superseded))
                .collect(),
        })
    };
    let (intel, violin, paints) = (find(A[0]), find(A[2]), find(B[1]));
    let operations = match (request.phase, request.turn) {
        (Phase::Deduction, 0) => vec![
            create(
                Level::Deductive,
                "maya is an engineer at Intel, formerly Xerox",
                vec![intel],
                find(A[1]),
            ),
            create(Level::Deductive, "maya is musical", vec![violin.clone()], None),
            violin.zip(find(B[0])).map(|(keep, duplicate)| Operation::Merge {
                keep,
                duplicates: vec![duplicate],
            }),
        ],
        (Phase::Deduction, 1) => vec![find("maya is an engineer at Intel, formerly Xerox").map(|engineer| {
            let entry = |text: &str, of: Option<ConclusionId>| CardEntry {
                text: text.into(),
                conclusions: of.into_iter().collect(),
            };
            Operation::Card {
                entries: vec![
                    entry("IDENTITY: an engineer", Some(engineer)),
                    entry("ATTRIBUTE: paints", paints),
                ],
            }
        })],
        (Phase::Induction, 0) => vec![
            create(
                Level::Inductive,
                "maya keeps late hours",
                vec![find(A[3]), find("maya is an engineer at Intel, formerly Xerox")],
                None,
            ),
            create(Level::Inductive, "maya is artistic", vec![find(A[3]), find(B[2])], None),
        ],
        _ => Vec::new(),
    };
    Thought {
        operations: operations.into_iter().flatten().collect(),
        done: request.phase != Phase::Deduction || request.turn > 0,
        ..Thought::default()
    }
}

fn thinking() -> Scripted {
    Scripted::thinking(|request: &ThinkRequest<'_>| Ok::<_, ReasonerError>(think(request)))
}

async fn rig() -> Rig {
    Rig::with(config(), Arc::new(thinking()), Faults::none()).await
}

/// Both sessions have been ingested.
async fn told(rig: &Rig) {
    say(rig, "a", "maya", A).await;
    say(rig, "b", "maya", B).await;
    rig.settle().await;
    rig.pass(MINUTE);
}

/// And a dream was there; gives its id.
async fn dreamt(rig: &Rig) -> String {
    told(rig).await;
    let run = id(&crate::checklist::dream(rig).await);
    rig.pass(MINUTE);
    run
}

/// Maya's own view of herself, in an order that does not depend on ids.
async fn sorted(rig: &Rig) -> Vec<String> {
    let mut all = texts(rig).await;
    all.sort();
    all
}

async fn delete(rig: &Rig, path: &str) -> StatusCode {
    rig.call("DELETE", &format!("/v3/workspaces{path}"), None).await.0
}

/// Deletes session `a` of workspace `w`, to the end.
async fn delete_a(rig: &Rig) {
    assert_eq!(delete(rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
    assert_eq!(rig.settle().await, 0);
}

/// Every item that holds the words, opened.
async fn holding(rig: &Rig, words: &str) -> Vec<Value> {
    let mut items = rig.items_in_the_clear().await;
    items.retain(|item| item.to_string().contains(words));
    items
}

async fn assert_nowhere(rig: &Rig, words: &[&str]) {
    for words in words {
        let found = holding(rig, words).await;
        assert!(found.is_empty(), "{words:?} is still in {found:#?}");
    }
}

/// The uid of a session.
async fn uid(rig: &Rig, name: &str) -> String {
    let items = rig.items().await;
    let head = items
        .iter()
        .find(|item| item["type"] == "session" && item["name"] == name);
    head.unwrap()["uid"].as_str().unwrap().to_owned()
}

/// Nothing is left of a session's own: messages, members, what ingest keeps, its work, its job.
async fn assert_no_collection(rig: &Rig, uid: &str) {
    let of = |item: &Value, key: &str| item[key].as_str().unwrap().contains(uid);
    let items = rig.items().await;
    let left: Vec<_> = items.iter().filter(|item| of(item, "PK") || of(item, "SK")).collect();
    assert!(left.is_empty(), "{left:#?}");
}

/// The numbers that are kept beside the conclusions agree with them.
async fn assert_counts(rig: &Rig) {
    let items = rig.items().await;
    for head in items.iter().filter(|item| item["type"] == "representation") {
        let live = items
            .iter()
            .filter(|item| item["type"] == "conclusion" && item["PK"] == head["PK"])
            .count();
        assert_eq!(head["live"], live, "{head}");
    }
    for kind in ["LW", "LP", "LS", "LR"] {
        let of = |item: &&Value| item["PK"].as_str().unwrap().starts_with(kind);
        let rows = items
            .iter()
            .filter(of)
            .filter(|item| item["type"] == "list_row")
            .count();
        let counted: i64 = items
            .iter()
            .filter(of)
            .filter(|item| item["closed"].is_null())
            .filter_map(|item| item["count"].as_i64())
            .sum();
        assert_eq!(counted, i64::try_from(rows).unwrap(), "{kind}");
    }
}
