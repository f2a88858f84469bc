//! Rows H1 to H7: what a dream does, with the real offline reasoner on sentences that people say.

use std::sync::{Arc, Mutex};

use reverie_core::conclusion::{Level, Pattern};
use reverie_core::reasoner::Thought;
use reverie_core::run::Phase;
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use super::{card, created, days, dream, id_of, list, offline, removed, say, scripted, strings, texts};
use crate::rig::Scripted;

/// The one removed conclusion of a dream that says so.
fn removal<'a>(detail: &'a Value, text: &str) -> &'a Value {
    let found: Vec<&Value> = detail["removed"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|removed| removed["content"] == text)
        .collect();
    assert_eq!(found.len(), 1, "{text}: {detail:#}");
    found[0]
}

/// The one created conclusion of a dream that says so.
fn creation<'a>(detail: &'a Value, text: &str) -> &'a Value {
    let mut all = detail["created"].as_array().unwrap().iter();
    let found = all.find(|created| created["conclusion"]["content"] == text);
    found.unwrap_or_else(|| panic!("nothing says {text:?}: {detail:#}"))
}

#[tokio::test]
async fn h1_an_outdated_fact_is_removed_and_the_current_state_created() {
    let rig = offline().await;
    days(
        &rig,
        &[
            "I work at Intel as an engineer.",
            "I live in Lisbon.",
            "I started working at Qualcomm.",
        ],
    )
    .await;
    let ran = dream(&rig).await;
    let now = "maya now works at Qualcomm (formerly Intel).";
    let current = creation(&ran, now);
    assert_eq!(current["conclusion"]["level"], "deductive");
    let gone = removal(&ran, "maya works at Intel as an engineer.");
    assert_eq!(
        (&gone["reason"], &gone["replaced_by"]),
        (&json!("superseded"), &current["conclusion"]["id"])
    );
    let texts = texts(&rig).await;
    assert!(
        texts.contains(&now.to_owned()) && !texts.iter().any(|text| text.contains("works at Intel")),
        "{texts:?}"
    );
    assert!(
        texts.contains(&"maya lives in Lisbon.".to_owned()),
        "what has not changed stays: {texts:?}"
    );
}

#[tokio::test]
async fn h2_what_follows_is_created_with_its_premises() {
    let rig = offline().await;
    days(
        &rig,
        &["I work as a nurse.", "I live in Lisbon.", "I'm married to Tom."],
    )
    .await;
    let premises = [
        (
            "maya works in health care.",
            id_of(&rig, "maya works as a nurse.").await,
        ),
        ("maya lives in Portugal.", id_of(&rig, "maya lives in Lisbon.").await),
        ("maya is married.", id_of(&rig, "maya is married to Tom.").await),
    ];
    let ran = dream(&rig).await;
    for (implied, premise) in premises {
        let found = creation(&ran, implied);
        assert_eq!(
            (&found["conclusion"]["level"], &found["conclusion"]["source_ids"]),
            (&json!("deductive"), &json!([premise]))
        );
    }
    assert_eq!(removed(&ran), [""; 0]);
}

#[tokio::test]
async fn h3_a_contradiction_that_time_decides_is_resolved() {
    let rig = offline().await;
    days(&rig, &["I love Chinese food.", "I hate Chinese food."]).await;
    let newer = id_of(&rig, "maya hates Chinese food.").await;
    let ran = dream(&rig).await;
    let gone = removal(&ran, "maya loves Chinese food.");
    assert_eq!(
        (&gone["reason"], &gone["replaced_by"]),
        (&json!("contradicted"), &json!(newer))
    );
}

#[tokio::test]
async fn h3_a_contradiction_that_nothing_decides_is_surfaced_and_nothing_removed() {
    let rig = offline().await;
    say(&rig, "s", "maya", &["I drink coffee.", "I do not drink coffee."]).await;
    rig.settle().await;
    let both = texts(&rig).await;
    assert_eq!(both.len(), 2, "{both:?}");
    let ran = dream(&rig).await;
    assert_eq!(removed(&ran), [""; 0]);
    let found = list(&ran["created"]);
    assert_eq!(found.len(), 1, "{ran:#}");
    assert_eq!(found[0]["conclusion"]["level"], "contradiction");
    let mut sources: Vec<String> = list(&found[0]["sources"])
        .iter()
        .map(|source| source["content"].as_str().unwrap().to_owned())
        .collect();
    sources.sort();
    let mut both = both;
    both.sort();
    assert_eq!(sources, both);
}

#[tokio::test]
async fn h4_the_card_gets_name_place_and_occupation() {
    let rig = offline().await;
    days(
        &rig,
        &[
            "My name is Maya Lopez.",
            "I live in Lisbon.",
            "I work as a nurse.",
            "I had soup for lunch.",
        ],
    )
    .await;
    assert_eq!(card(&rig).await, Value::Null);
    dream(&rig).await;
    let mut entries = strings(&card(&rig).await);
    entries.sort();
    assert_eq!(
        entries,
        [
            "IDENTITY: Lives in Lisbon",
            "IDENTITY: Name: Maya Lopez",
            "IDENTITY: Works as a nurse"
        ]
    );
    // It follows what changes.
    days(&rig, &["I moved to Oslo."]).await;
    dream(&rig).await;
    let entries = strings(&card(&rig).await);
    assert!(entries.contains(&"IDENTITY: Lives in Oslo".to_owned()), "{entries:?}");
    assert!(!entries.iter().any(|entry| entry.contains("Lisbon")), "{entries:?}");
}

/// Texts and their kinds.
type Patterns = &'static [(&'static str, &'static str)];

#[tokio::test]
async fn h5_what_recurs_becomes_a_pattern_of_its_kind() {
    let lives: [(&[&str], Patterns); 3] = [
        (
            &[
                "I painted a lake.",
                "I painted a portrait.",
                "I paint to relax.",
                "I relax by painting.",
            ],
            &[
                ("maya often paints.", "behavior"),
                ("When in need of rest, maya turns to painting.", "correlation"),
            ],
        ),
        (
            &[
                "I was so stressed about the deadline.",
                "I like mountain hiking.",
                "I was stressed again.",
                "I love hiking in the hills.",
            ],
            &[
                ("maya is often stressed.", "tendency"),
                ("maya consistently likes hiking.", "preference"),
            ],
        ),
        (
            &[
                "I painted a lake.",
                "I make pottery.",
                "I painted a portrait.",
                "I sold some pottery.",
            ],
            &[("maya is a creative person.", "personality")],
        ),
    ];
    for (said, patterns) in lives {
        let rig = offline().await;
        days(&rig, said).await;
        let ran = dream(&rig).await;
        for (text, kind) in patterns {
            let found = creation(&ran, text);
            assert_eq!(found["conclusion"]["level"], "inductive");
            assert_eq!(found["conclusion"]["pattern"], *kind, "{text}");
            assert!(list(&found["sources"]).len() >= 2, "{text}");
        }
    }
}

#[tokio::test]
async fn h6_a_pattern_needs_two_sources_and_more_of_them_make_it_surer() {
    let rig = offline().await;
    days(&rig, &["I painted a lake.", "I bought a violin."]).await;
    let ran = dream(&rig).await;
    assert!(!created(&ran).iter().any(|text| text.contains("paints")), "{ran:#}");
    days(&rig, &["I painted a portrait."]).await;
    let ran = dream(&rig).await;
    let found = creation(&ran, "maya often paints.");
    assert_eq!(
        (list(&found["sources"]).len(), &found["conclusion"]["confidence"]),
        (2, &json!("low"))
    );
    days(&rig, &["I painted a hill."]).await;
    let next = dream(&rig).await;
    assert_eq!(next["reinforced_count"], 1, "{next:#}");
    let first = super::detail(&rig, ran["id"].as_str().unwrap()).await;
    let found = &creation(&first, "maya often paints.")["conclusion"];
    assert_eq!(
        (&found["confidence"], &found["status"]),
        (&json!("medium"), &json!("current"))
    );
}

#[tokio::test]
async fn h6_the_toolbox_refuses_patterns_of_one_source_whoever_asks() {
    let rig = scripted(Scripted::thinking(|request| {
        let ids: Vec<_> = request
            .conclusions
            .iter()
            .map(|conclusion| conclusion.id.clone())
            .collect();
        let create = |level, content: &str, sources: &[_]| Operation::Create {
            level,
            content: content.to_owned(),
            sources: sources.to_vec(),
            pattern: (level == Level::Inductive).then_some(Pattern::Behavior),
            replaces: Vec::new(),
        };
        let operations = match request.phase {
            Phase::Deduction => vec![
                create(Level::Deductive, "of nothing", &[]),
                create(Level::Explicit, "made up", &ids),
                create(Level::Contradiction, "of one", &ids[..1]),
            ],
            _ => vec![
                create(Level::Inductive, "of one", &ids[..1]),
                create(Level::Inductive, "of one twice", &[ids[0].clone(), ids[0].clone()]),
                create(Level::Inductive, "of two", &ids[..2]),
            ],
        };
        Ok(Thought {
            operations,
            done: true,
            ..Thought::default()
        })
    }))
    .await;
    say(&rig, "s", "maya", &["one", "two"]).await;
    rig.settle().await;
    let ran = dream(&rig).await;
    assert_eq!(created(&ran), ["of two"]);
    assert_eq!(
        (&ran["status"], &ran["created_count"]),
        (&json!("completed"), &json!(1))
    );
}

#[tokio::test]
async fn h7_deduction_runs_first_and_induction_sees_what_it_made() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let rig = scripted(Scripted::thinking(move |request| {
        let texts: Vec<String> = request
            .conclusions
            .iter()
            .map(|conclusion| conclusion.content.clone())
            .collect();
        note.lock().unwrap().push((request.phase, request.turn, texts));
        let deducing = request.phase == Phase::Deduction;
        let operations = (deducing && request.turn == 0).then(|| Operation::Create {
            level: Level::Deductive,
            content: "deduced".into(),
            sources: vec![request.conclusions[0].id.clone()],
            pattern: None,
            replaces: Vec::new(),
        });
        Ok(Thought {
            operations: operations.into_iter().collect(),
            done: !deducing || request.turn > 0,
            ..Thought::default()
        })
    }))
    .await;
    say(&rig, "s", "maya", &["said"]).await;
    rig.settle().await;
    dream(&rig).await;
    let (said, both) = (vec!["said".to_owned()], vec!["said".to_owned(), "deduced".to_owned()]);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(
        seen,
        [
            (Phase::Deduction, 0, said),
            (Phase::Deduction, 1, both.clone()),
            (Phase::Induction, 0, both)
        ]
    );
}

#[tokio::test]
async fn h7_a_phase_that_fails_does_not_stop_the_next_and_the_run_says_which() {
    let rig = scripted(Scripted::thinking(|request| match request.phase {
        Phase::Deduction => Err(reverie_core::reasoner::ReasonerError::permanent("junk".to_owned())),
        _ => Ok(Thought {
            operations: vec![Operation::Create {
                level: Level::Inductive,
                content: "a pattern".into(),
                sources: request
                    .conclusions
                    .iter()
                    .map(|conclusion| conclusion.id.clone())
                    .collect(),
                pattern: Some(Pattern::Behavior),
                replaces: Vec::new(),
            }],
            done: true,
            ..Thought::default()
        }),
    }))
    .await;
    say(&rig, "s", "maya", &["one", "two"]).await;
    rig.settle().await;
    let ran = dream(&rig).await;
    assert_eq!(
        (&ran["status"], created(&ran)),
        (&json!("completed"), vec!["a pattern".to_owned()])
    );
    let error = ran["error"].as_str().unwrap();
    assert!(
        error.starts_with("deduction:") && error.contains("junk") && !error.contains("induction"),
        "{error}"
    );
}

#[tokio::test]
async fn a_second_dream_with_nothing_new_changes_nothing() {
    let rig = offline().await;
    days(
        &rig,
        &[
            "My name is Maya Lopez. I work at Intel.",
            "I painted a lake. I live in Lisbon.",
            "I painted a portrait. I love opera.",
            "I started working at Qualcomm.",
            "I drink coffee. I do not drink coffee.",
            "I really love opera!",
        ],
    )
    .await;
    let first = dream(&rig).await;
    for count in ["created_count", "removed_count"] {
        assert!(first[count].as_u64().unwrap() > 1, "{first:#}");
    }
    let stands = (rig.conclusions("w", "maya", "maya").await, card(&rig).await);
    let second = dream(&rig).await;
    for count in ["created_count", "removed_count", "reinforced_count"] {
        assert_eq!(second[count], 0, "{second:#}");
    }
    assert_eq!(
        (&second["status"], &second["peer_card"]),
        (&json!("completed"), &Value::Null)
    );
    assert_eq!((rig.conclusions("w", "maya", "maya").await, card(&rig).await), stands);
}
