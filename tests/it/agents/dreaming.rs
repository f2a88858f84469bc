//! Whole dreams, on each wire.

use std::time::Duration;

use http::StatusCode;
use reverie_models::Provider;
use serde_json::{Value, json};

use super::{Asked, Scene, Seen, dreaming, scene};
use crate::models::PROVIDERS;
use crate::rig::Fault;
use crate::rig::model_server::{Answer, Step};
use crate::rig::steps::{ask_for, detail, dream, runs, say, state, texts};

pub(super) const SAID: &[&str] = &[
    "maya works at Intel",
    "maya paints on Sundays",
    "maya works at Qualcomm",
    "maya paints in the evenings",
    "maya is employed by Qualcomm",
];

/// Searches, updates, merges, writes the card; then states a pattern.
pub(super) fn script(what: Asked, seen: &Seen) -> Option<Step> {
    let id = |text: &str| seen.id(text).unwrap_or_else(|| panic!("{text}: {}", seen.text));
    let calls = match (what, seen.turn) {
        (Asked::Deduction, 0) => vec![
            ("search", json!({"query": "where maya works"})),
            (
                "create_deduction",
                json!({
                    "content": "maya works at Qualcomm, formerly at Intel",
                    "sources": [id("maya works at Qualcomm")],
                    "replaces": [{"id": id("maya works at Intel"), "reason": "superseded"}],
                }),
            ),
            (
                "merge",
                json!({"keep": id("maya works at Qualcomm"), "duplicates": [id("maya is employed by Qualcomm")]}),
            ),
        ],
        (Asked::Deduction, 1) => {
            assert!(seen.text.contains("created as ["), "{}", seen.text);
            let card = json!({"entries": [
                {"text": "IDENTITY: Works at Qualcomm", "conclusions": [id("maya works at Qualcomm")]},
            ]});
            vec![("write_card", card), ("finish", json!({}))]
        }
        (Asked::Induction, 0) => vec![
            (
                "create_pattern",
                json!({
                    "content": "maya often paints",
                    "sources": [id("maya paints on Sundays"), id("maya paints in the evenings")],
                    "pattern": "behavior",
                }),
            ),
            ("finish", json!({})),
        ],
        _ => return None,
    };
    Some(Answer::calls(&calls).into())
}

pub(super) async fn told(scene: &Scene) {
    for (day, text) in SAID.iter().enumerate() {
        say(&scene.rig, &format!("day{day}"), "maya", &[text]).await;
        assert_eq!(scene.rig.settle().await, 0);
        scene.advance(Duration::from_hours(24)).await;
    }
}

fn contents(list: &Value, path: &str) -> Vec<String> {
    let entries = list.as_array().unwrap().iter();
    entries
        .map(|entry| entry.pointer(path).unwrap().as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_whole_dream_is_driven_by_a_model_on_each_wire() {
    for provider in PROVIDERS {
        let scene = scene(provider).await;
        dreaming(&scene.server, script);
        told(&scene).await;
        assert_eq!(scene.asked(), SAID.len(), "one call per batch");
        let run = dream(&scene.rig).await;
        assert_eq!(
            (&run["status"], &run["error"]),
            (&json!("completed"), &Value::Null),
            "{run:#}"
        );
        assert_eq!(
            scene.asked() - SAID.len(),
            3,
            "two turns of deduction, one of induction"
        );
        let mut all = texts(&scene.rig).await;
        all.sort();
        assert_eq!(
            all,
            [
                "maya often paints",
                "maya paints in the evenings",
                "maya paints on Sundays",
                "maya works at Qualcomm",
                "maya works at Qualcomm, formerly at Intel",
            ]
        );
        assert_eq!(
            contents(&run["created"], "/conclusion/content"),
            ["maya works at Qualcomm, formerly at Intel", "maya often paints"]
        );
        assert_eq!(
            contents(&run["removed"], "/content"),
            ["maya works at Intel", "maya is employed by Qualcomm"]
        );
        assert_eq!(contents(&run["removed"], "/reason"), ["superseded", "duplicate"]);
        assert_eq!(run["peer_card"]["after"][0], "IDENTITY: Works at Qualcomm");
        assert_eq!(run["usage"]["input_tokens"], 30, "three answers of ten");
        assert_eq!(run["usage"]["output_tokens"], 15);
        // Undo brings back what was.
        let path = format!("/v3/workspaces/w/dreams/{}/undo", run["id"].as_str().unwrap());
        scene.rig.post(&path, json!({})).await;
        scene.rig.settle().await;
        let mut all = texts(&scene.rig).await;
        all.sort();
        let mut said = SAID.to_vec();
        said.sort_unstable();
        assert_eq!(all, said);
    }
}

#[tokio::test]
async fn a_second_dream_with_nothing_new_asks_no_model() {
    let scene = scene(Provider::Anthropic).await;
    dreaming(&scene.server, script);
    told(&scene).await;
    dream(&scene.rig).await;
    scene.advance(Duration::from_mins(1)).await;
    let asked = scene.asked();
    let again = dream(&scene.rig).await;
    assert_eq!(
        (&again["status"], &again["created_count"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(scene.asked(), asked, "no call");
    scene.advance(Duration::from_mins(1)).await;
    // Whoever takes it back wants it thought over again.
    let first = &runs(&scene.rig).await[1];
    let path = format!("/v3/workspaces/w/dreams/{}/undo", first["id"].as_str().unwrap());
    scene.rig.post(&path, json!({})).await;
    scene.rig.settle().await;
    dream(&scene.rig).await;
    assert_eq!(scene.asked() - asked, 3);
    // And so does something new.
    let asked = scene.asked();
    scene.advance(Duration::from_mins(1)).await;
    dreaming(&scene.server, |_, _| None);
    state(&scene.rig, "maya", "maya", &["maya keeps bees"]).await;
    dream(&scene.rig).await;
    assert!(scene.asked() > asked);
}

#[tokio::test]
async fn a_dream_that_did_not_run_whole_is_thought_over_again() {
    let scene = scene(Provider::Anthropic).await;
    told_by_api(&scene).await;
    scene
        .server
        .then([finish_step(), Step::refuse(400, "invalid_request_error")]);
    dreaming(&scene.server, |_, _| None);
    let run = dream(&scene.rig).await;
    assert_eq!(
        run["status"], "failed",
        "one phase failed, and the other found nothing to do: {run:#}"
    );
    let asked = scene.asked();
    dream(&scene.rig).await;
    assert_eq!(scene.asked() - asked, 2, "both phases again");
}

fn finish_step() -> Step {
    super::finish().into()
}

pub(super) async fn told_by_api(scene: &Scene) {
    state(&scene.rig, "maya", "maya", SAID).await;
}

#[tokio::test]
async fn a_model_reads_the_messages_behind_a_conclusion_and_only_those() {
    let scene = scene(Provider::Anthropic).await;
    scene.server.otherwise(|body| {
        let seen = Seen::of(body);
        match (seen.what(), seen.turn) {
            (Asked::Derive, _) => Answer::text(
                &json!({"notes": [{"about": "maya", "content": "maya likes Porto", "messages": [1]}]}).to_string(),
            )
            .into(),
            (Asked::Deduction, 0) => {
                let id = seen.id("maya likes Porto").unwrap();
                Answer::calls(&[("read_messages", json!({"ids": [id]}))]).into()
            }
            _ => super::finish().into(),
        }
    });
    say(&scene.rig, "s", "maya", &["I do like it there, in Porto, \"at times\""]).await;
    say(&scene.rig, "s", "omar", &["This is nobody's business"]).await;
    scene.rig.settle().await;
    // Derived, too, which is not what this is about.
    dream(&scene.rig).await;
    let told = scene.server.asked().pop().unwrap();
    let induction = scene.server.asked().len() - 2;
    let told = if Seen::of(&told.body).what() == Asked::Deduction {
        told
    } else {
        scene.server.asked()[induction].clone()
    };
    let seen = Seen::of(&told.body);
    assert!(
        seen.text
            .contains("#1 maya 2026-01-01 00:00 Thursday \"I do like it there, in Porto, \\\"at times\\\"\""),
        "{}",
        seen.text
    );
    assert!(!seen.text.contains("nobody's business"));
}

#[tokio::test]
async fn a_dry_run_shows_what_a_model_would_do_and_does_nothing() {
    let scene = scene(Provider::OpenAi).await;
    dreaming(&scene.server, script);
    told(&scene).await;
    let (status, body) = ask_for(&scene.rig, json!({"observer": "maya", "dry_run": true})).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    scene.rig.settle().await;
    let run = detail(&scene.rig, body["id"].as_str().unwrap()).await;
    assert_eq!(
        contents(&run["created"], "/conclusion/content"),
        ["maya works at Qualcomm, formerly at Intel", "maya often paints"]
    );
    let mut all = texts(&scene.rig).await;
    all.sort();
    let mut said = SAID.to_vec();
    said.sort_unstable();
    assert_eq!(all, said);
}

#[tokio::test]
async fn a_card_refresh_asks_for_the_card_alone() {
    let scene = scene(Provider::Anthropic).await;
    told_by_api(&scene).await;
    dreaming(&scene.server, |what, seen| {
        assert_eq!(what, Asked::Card);
        let id = seen.id("maya works at Qualcomm").unwrap();
        let card = json!({"entries": [{"text": "IDENTITY: Works at Qualcomm", "conclusions": [id]}]});
        Some(Answer::calls(&[("write_card", card), ("finish", json!({}))]).into())
    });
    let (status, _) = ask_for(&scene.rig, json!({"observer": "maya", "dream_type": "card_refresh"})).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    scene.rig.settle().await;
    assert_eq!(scene.asked(), 1);
    let card = scene.rig.get("/v3/workspaces/w/peers/maya/card").await;
    assert_eq!(card["peer_card"], json!(["IDENTITY: Works at Qualcomm"]));
}

#[tokio::test]
async fn a_dream_that_is_cancelled_while_its_model_thinks_does_nothing_more() {
    let scene = scene(Provider::Anthropic).await;
    told_by_api(&scene).await;
    dreaming(&scene.server, script);
    ask_for(&scene.rig, json!({"observer": "maya"})).await;
    let mut has_thought = false;
    scene.rig.faults.replan(move |_, name| match name {
        "Think" => {
            has_thought = true;
            Fault::None
        }
        "TransactWriteItems" if std::mem::take(&mut has_thought) => Fault::Hold,
        _ => Fault::None,
    });
    let cancel = async {
        scene.rig.faults.held().await;
        let run = runs(&scene.rig).await[0]["id"].as_str().unwrap().to_owned();
        let path = format!("/v3/workspaces/w/dreams/{run}/cancel");
        scene.rig.post(&path, json!({})).await;
        scene.rig.faults.release();
    };
    tokio::join!(scene.rig.settle(), cancel);
    scene.rig.settle().await;
    assert_eq!(scene.asked(), 1);
    let run = &runs(&scene.rig).await[0];
    assert_eq!(
        (&run["status"], &run["created_count"]),
        (&json!("cancelled"), &json!(0))
    );
    assert_eq!(texts(&scene.rig).await.len(), SAID.len());
}
