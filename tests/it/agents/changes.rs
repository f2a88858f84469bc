//! A person whose life changes over six sessions: job, city, partner and pets. A model dreams after each of them, and
//! the memory and its history are known in advance.

use std::time::Duration;

use reverie_models::Provider;
use serde_json::{Value, json};

use super::{Asked, Scene, Seen, scene};
use crate::rig::model_server::{Answer, Step};
use crate::rig::steps::{dream, say, texts};

/// What is said in each session, a month apart: talk, and what a model notes of it.
const SESSIONS: [&[(&str, &str)]; 6] = [
    &[
        (
            "Hi, I'm new here! I'm Nadia's sister, call me Maya.",
            "maya is the sister of Nadia.",
        ),
        (
            "I work as a nurse at St. Mary's, on the night shift.",
            "maya works as a nurse at St. Mary's.",
        ),
        (
            "Home is a small flat in Leeds, with my girlfriend Ruth.",
            "maya lives in Leeds.",
        ),
        (
            "Ruth and I have been together for two years.",
            "maya is together with Ruth.",
        ),
        ("And there is Biscuit, our beagle.", "maya has a beagle named Biscuit."),
    ],
    &[
        (
            "Ugh, another run before work today.",
            "maya went running before work on 2026-02-01.",
        ),
        (
            "Big news: I handed in my notice at St. Mary's!",
            "maya gave notice at St. Mary's on 2026-02-01.",
        ),
        (
            "From now on I teach first aid for the Red Cross.",
            "maya works as a first-aid teacher for the Red Cross.",
        ),
    ],
    &[
        ("We moved! Hello from York.", "maya lives in York since 2026-03-04."),
        (
            "I ran along the old walls this morning.",
            "maya went running on 2026-03-04.",
        ),
        (
            "Biscuit got a friend, a cat named Olive.",
            "maya has a cat named Olive.",
        ),
    ],
    &[
        (
            "It's over. Ruth moved out last week.",
            "maya and Ruth separated in late March 2026.",
        ),
        (
            "Running is what keeps me sane these days.",
            "maya runs to stay balanced.",
        ),
    ],
    &[
        (
            "Biscuit died on Monday. He was fourteen.",
            "maya's beagle Biscuit died on 2026-04-27.",
        ),
        ("Olive is so confused.", "maya's cat Olive misses Biscuit."),
    ],
    &[
        ("I've met somebody. His name is Tom.", "maya is together with Tom."),
        (
            "Did I say that I work for the Red Cross? I do, as a teacher.",
            "maya works for the Red Cross as a teacher.",
        ),
    ],
];

const MONTH: Duration = Duration::from_hours(31 * 24);

/// Notes what the table says of each message.
fn derived(seen: &Seen) -> Step {
    let table = || SESSIONS.iter().flat_map(|session| session.iter());
    let notes: Vec<Value> = seen
        .messages()
        .into_iter()
        .filter_map(|(number, sender, text)| {
            let (_, note) = table().find(|(said, _)| *said == text)?;
            Some(json!({"about": sender, "content": note, "messages": [number]}))
        })
        .collect();
    Answer::text(&json!({ "notes": notes }).to_string()).into()
}

/// A change that the model makes as soon as both sides are in view: what holds now, from what, in place of what.
const UPDATES: &[(&str, &[&str], &[&str])] = &[
    (
        "maya works as a first-aid teacher for the Red Cross; until 2026-02-01 as a nurse at St. Mary's.",
        &[
            "maya works as a first-aid teacher for the Red Cross.",
            "maya gave notice at St. Mary's on 2026-02-01.",
        ],
        &["maya works as a nurse at St. Mary's."],
    ),
    (
        "maya lives in York since 2026-03-04; before in Leeds.",
        &["maya lives in York since 2026-03-04."],
        &["maya lives in Leeds."],
    ),
    (
        "maya is single since late March 2026, after two years with Ruth.",
        &["maya and Ruth separated in late March 2026."],
        &["maya is together with Ruth."],
    ),
    (
        "maya has one pet, the cat Olive; her beagle Biscuit died on 2026-04-27.",
        &[
            "maya's beagle Biscuit died on 2026-04-27.",
            "maya has a cat named Olive.",
        ],
        &["maya has a beagle named Biscuit."],
    ),
    (
        "maya is together with Tom; before with Ruth, until late March 2026.",
        &[
            "maya is together with Tom.",
            "maya and Ruth separated in late March 2026.",
        ],
        &["maya is single since late March 2026, after two years with Ruth."],
    ),
];

/// The card's entries by what they rest on: the last that is in view of each subject counts.
const CARD: [&[(&str, &str)]; 5] = [
    &[("maya is the sister of Nadia.", "RELATIONSHIP: Sister: Nadia")],
    &[
        ("maya works as a nurse at St. Mary's.", "IDENTITY: Nurse at St. Mary's"),
        (
            "maya works as a first-aid teacher for the Red Cross.",
            "IDENTITY: First-aid teacher, Red Cross",
        ),
    ],
    &[
        ("maya lives in Leeds.", "IDENTITY: Lives in Leeds"),
        ("maya lives in York since 2026-03-04.", "IDENTITY: Lives in York"),
    ],
    &[
        ("maya is together with Ruth.", "RELATIONSHIP: Partner: Ruth"),
        ("maya and Ruth separated in late March 2026.", "RELATIONSHIP: Single"),
        ("maya is together with Tom.", "RELATIONSHIP: Partner: Tom"),
    ],
    &[("maya has a cat named Olive.", "RELATIONSHIP: Cat: Olive")],
];

fn deduced(seen: &Seen) -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    for (content, sources, replaced) in UPDATES {
        let found = |texts: &[&str]| texts.iter().map(|text| seen.id(text)).collect::<Option<Vec<_>>>();
        let (Some(sources), Some(replaced)) = (found(sources), found(replaced)) else {
            continue;
        };
        let replaces: Vec<_> = replaced
            .iter()
            .map(|id| json!({"id": id, "reason": "superseded"}))
            .collect();
        calls.push((
            "create_deduction",
            json!({"content": content, "sources": sources, "replaces": replaces}),
        ));
    }
    let teacher = seen.id("maya works as a first-aid teacher for the Red Cross.");
    if let (Some(keep), Some(twice)) = (teacher, seen.id("maya works for the Red Cross as a teacher.")) {
        calls.push(("merge", json!({"keep": keep, "duplicates": [twice]})));
    }
    let entries: Vec<_> = CARD
        .iter()
        .filter_map(|subject| {
            let (text, id) = subject
                .iter()
                .rev()
                .find_map(|(rests_on, text)| Some((text, seen.id(rests_on)?)))?;
            Some(json!({"text": text, "conclusions": [id]}))
        })
        .collect();
    calls.push(("write_card", json!({ "entries": entries })));
    calls.push(("finish", json!({})));
    calls
}

fn induced(seen: &Seen) -> Vec<(&'static str, Value)> {
    let runs = [
        "maya went running before work on 2026-02-01.",
        "maya went running on 2026-03-04.",
        "maya runs to stay balanced.",
    ];
    let sources: Vec<_> = runs.iter().filter_map(|text| seen.id(text)).collect();
    let mut calls = Vec::new();
    if sources.len() > 1 {
        let pattern = json!({"content": "maya runs regularly, also to keep her balance.", "sources": sources, "pattern": "behavior"});
        calls.push(("create_pattern", pattern));
    }
    calls.push(("finish", json!({})));
    calls
}

fn script(what: Asked, seen: &Seen) -> Option<Step> {
    match (what, seen.turn) {
        (Asked::Deduction, 0) => Some(Answer::calls(&deduced(seen)).into()),
        (Asked::Induction, 0) => Some(Answer::calls(&induced(seen)).into()),
        _ => None,
    }
}

/// What a dream did: what it created, what it removed and why, and the card after it.
fn history(run: &Value) -> Value {
    let list = |name: &str, parts: &[&str]| -> Vec<Value> {
        let entries = run[name].as_array().unwrap().iter();
        let read = |entry: &Value| parts.iter().map(|part| entry.pointer(part).unwrap().clone()).collect();
        entries.map(read).collect()
    };
    json!({
        "status": run["status"],
        "error": run["error"],
        "created": list("created", &["/conclusion/level", "/conclusion/content"]),
        "removed": list("removed", &["/reason", "/content"]),
        "reinforced": run["reinforced_count"],
        "card": run["peer_card"]["after"],
    })
}

async fn lived(scene: &Scene) -> Vec<Value> {
    let mut told = Vec::new();
    for (number, session) in SESSIONS.iter().enumerate() {
        let said: Vec<&str> = session.iter().map(|(said, _)| *said).collect();
        say(&scene.rig, &format!("month{number}"), "maya", &said).await;
        assert_eq!(scene.rig.settle().await, 0);
        scene.advance(Duration::from_hours(2)).await;
        told.push(history(&dream(&scene.rig).await));
        scene.advance(MONTH).await;
    }
    told
}

#[tokio::test]
async fn the_history_of_a_life_that_changes_is_as_it_was() {
    let scene = scene(Provider::Anthropic).await;
    scene.server.otherwise(|body| {
        let seen = Seen::of(body);
        match seen.what() {
            Asked::Derive => derived(&seen),
            what => script(what, &seen).unwrap_or_else(|| super::finish().into()),
        }
    });
    let told = lived(&scene).await;
    insta::assert_json_snapshot!("the_history_of_a_life", told);
    let mut now = texts(&scene.rig).await;
    now.sort();
    insta::assert_json_snapshot!("what_is_remembered_of_a_life", now);
    let card = scene.rig.get("/v3/workspaces/w/peers/maya/card").await;
    assert_eq!(
        card["peer_card"],
        json!([
            "RELATIONSHIP: Sister: Nadia",
            "IDENTITY: First-aid teacher, Red Cross",
            "IDENTITY: Lives in York",
            "RELATIONSHIP: Partner: Tom",
            "RELATIONSHIP: Cat: Olive",
        ])
    );
    // What no longer holds is nowhere in the memory but in what tells of the change.
    for gone in [
        "maya works as a nurse at St. Mary's.",
        "maya lives in Leeds.",
        "maya is together with Ruth.",
        "maya has a beagle named Biscuit.",
    ] {
        assert!(!now.contains(&gone.to_owned()), "{gone}");
    }
}
