//! What a dream may touch, and how much of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reverie_core::conclusion::Level;
use reverie_core::config::Config;
use reverie_core::id::ConclusionId;
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::Operation;
use serde_json::json;

use super::stands;
use crate::rig::{
    Faults, Rig, Scripted, config,
    steps::{
        HOUR, detail, dream, facts, id, newest, offline, removed, say, say_in, scripted, state, status, strings, texts,
        thought,
    },
};

#[tokio::test]
async fn report_07_a_card_is_read_in_the_scope_in_which_it_was_written() {
    let rig = offline().await;
    for peer in ["maya", "bob"] {
        rig.post("/v3/workspaces/w/peers", json!({ "id": peer })).await;
    }
    let paths = ["maya/card", "maya/card?target=bob", "bob/card", "bob/card?target=maya"];
    for path in paths {
        let body = json!({"peer_card": [format!("IDENTITY: {path}")]});
        rig.ok("PUT", &format!("/v3/workspaces/w/peers/{path}"), Some(body))
            .await;
    }
    for path in paths {
        let body = rig.get(&format!("/v3/workspaces/w/peers/{path}")).await;
        assert_eq!(body, json!({"peer_card": [format!("IDENTITY: {path}")]}));
    }
    // A dream writes the card of its own scope.
    state(&rig, "bob", "maya", &["maya lives in Lisbon."]).await;
    let body = json!({"observer": "bob", "observed": "maya"});
    rig.post("/v3/workspaces/w/schedule_dream", body).await;
    rig.settle().await;
    for path in paths {
        let found = strings(&rig.get(&format!("/v3/workspaces/w/peers/{path}")).await["peer_card"]);
        let written = found.contains(&"IDENTITY: Lives in Lisbon".to_owned());
        assert_eq!(written, path == "bob/card?target=maya", "{path}: {found:?}");
    }
}

#[tokio::test]
async fn report_20_three_thousand_conclusions_are_read_in_full() {
    const MANY: usize = 3000;
    let seen = Arc::new(AtomicUsize::new(0));
    let note = Arc::clone(&seen);
    let rig = Rig::with(
        Config {
            threshold: 10_000,
            ..config()
        },
        Arc::new(Scripted::thinking(move |request| {
            note.store(request.conclusions.len(), Ordering::Relaxed);
            let said: Vec<_> = request
                .conclusions
                .iter()
                .filter(|found| found.level == Level::Explicit)
                .collect();
            let (first, last) = (said[0], said[said.len() - 1]);
            Ok(thought(if request.phase == Phase::Deduction {
                vec![Operation::Create {
                    level: Level::Deductive,
                    content: format!("{} and {}", first.content, last.content),
                    sources: vec![first.id.clone(), last.id.clone()],
                    pattern: None,
                    replaces: Vec::new(),
                }]
            } else {
                Vec::new()
            }))
        })),
        Faults::none(),
    )
    .await;
    let all: Vec<String> = (0..MANY)
        .map(|number| format!("maya keeps note {number} {}", "of something ".repeat(20)))
        .collect();
    let mut ids = Vec::new();
    for chunk in all.chunks(100) {
        ids.extend(state(&rig, "maya", "maya", chunk).await);
        rig.pass(Duration::from_secs(1));
    }
    assert_eq!(ids.len(), MANY);
    assert_eq!(status(&rig).await["new_conclusions"], MANY);
    let ran = dream(&rig).await;
    assert_eq!(
        (&ran["status"], seen.load(Ordering::Relaxed)),
        (&json!("completed"), MANY + 1)
    );
    assert_eq!(
        ran["created"][0]["conclusion"]["source_ids"],
        json!([ids[0], ids[MANY - 1]])
    );
    let page = rig
        .post(
            "/v3/workspaces/w/conclusions/list?size=100&page=31",
            json!({"filters": {"observer_id": "maya", "observed_id": "maya"}}),
        )
        .await;
    assert_eq!(
        (&page["total"], page["items"].as_array().unwrap().len()),
        (&json!(MANY + 1), 1)
    );
    // A run that did nothing says that it completed and did nothing, and why not more: nothing was new.
    let again = dream(&rig).await;
    assert_eq!(
        (&again["status"], &again["created_count"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(status(&rig).await["verdict"], "below_threshold");
}

#[tokio::test]
async fn report_22_no_dream_removes_most_of_a_representation_and_every_removal_is_listed_and_undone() {
    let rig = scripted(Scripted::thinking(|request| {
        let all: Vec<_> = request.conclusions.iter().map(|found| found.id.clone()).collect();
        let remove = |ids: &[ConclusionId]| Operation::Remove {
            ids: ids.to_vec(),
            reason: RemovalReason::Other,
            replaced_by: None,
        };
        // All at once; then one by one, as far as it gets.
        let mut operations = vec![remove(&all)];
        operations.extend(all.iter().map(|id| remove(std::slice::from_ref(id))));
        Ok(thought(operations))
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..30)).await;
    rig.settle().await;
    let before = stands(&rig).await;
    let ran = dream(&rig).await;
    assert_eq!(
        (&ran["status"], &ran["removed_count"]),
        (&json!("completed"), &json!(15))
    );
    assert_eq!(texts(&rig).await.len(), 15);
    let mut listed = removed(&ran);
    assert_eq!(listed.len(), 15);
    listed.extend(texts(&rig).await);
    listed.sort();
    let mut all = facts(0..30);
    all.sort();
    assert_eq!(listed, all, "what is gone is in the record, text and all");
    rig.post(&format!("/v3/workspaces/w/dreams/{}/undo", id(&ran)), json!({}))
        .await;
    rig.settle().await;
    assert_eq!(newest(&rig).await["created_count"], 15);
    assert_eq!(stands(&rig).await, before);
    assert_eq!(removed(&detail(&rig, &id(&ran)).await).len(), 15, "the record stays");
}

#[tokio::test]
async fn report_23_a_dream_changes_its_own_representation_and_no_other() {
    let rig = offline().await;
    let said = [
        "I work at Intel.",
        "I live in Lisbon.",
        "I moved to Oslo.",
        "I started working at Qualcomm.",
    ];
    for workspace in ["w", "x"] {
        let members = json!({"id": "s", "peers": {"maya": {"observe_others": true}, "bob": {"observe_others": true}}});
        rig.post(&format!("/v3/workspaces/{workspace}/sessions"), members).await;
    }
    for text in said {
        for workspace in ["w", "x"] {
            for peer in ["maya", "bob"] {
                say_in(&rig, workspace, "s", peer, &[text]).await;
            }
        }
        rig.settle().await;
        rig.pass(24 * HOUR);
    }
    let scopes: Vec<(&str, &str, &str)> = ["w", "x"]
        .into_iter()
        .flat_map(|workspace| {
            [("maya", "maya"), ("bob", "maya"), ("maya", "bob"), ("bob", "bob")].map(|(by, of)| (workspace, by, of))
        })
        .collect();
    let everything = async || {
        let mut all = Vec::new();
        for (workspace, observer, observed) in &scopes {
            let card = rig
                .get(&format!(
                    "/v3/workspaces/{workspace}/peers/{observer}/card?target={observed}"
                ))
                .await;
            let dreams = rig
                .get(&format!(
                    "/v3/workspaces/{workspace}/dreams?observer={observer}&observed={observed}"
                ))
                .await;
            all.push((
                rig.conclusions(workspace, observer, observed).await,
                card,
                dreams["total"].clone(),
            ));
        }
        all
    };
    for (at, (workspace, observer, observed)) in scopes.iter().enumerate() {
        let before = everything().await;
        let body = json!({"observer": observer, "observed": observed});
        rig.post(&format!("/v3/workspaces/{workspace}/schedule_dream"), body)
            .await;
        rig.advance(Duration::from_secs(1)).await;
        for (other, (before, after)) in before.iter().zip(&everything().await).enumerate() {
            assert_eq!(
                before == after,
                other != at,
                "a dream of {:?} and {:?}",
                scopes[at],
                scopes[other]
            );
        }
    }
}
