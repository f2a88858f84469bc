//! How long a dream's record is kept, and what of it (checklist H30–H33, K5).

use std::sync::Arc;
use std::time::Duration;

use reverie_core::config::Config;
use serde_json::{Value, json};

use crate::crash::{MESSAGES, think};
use crate::rig::{Faults, Rig, Scripted, config};

const DAY: Duration = Duration::from_hours(24);

async fn rig(config: Config) -> Rig {
    Rig::with(
        config,
        Arc::new(Scripted::thinking(|request| Ok(think(request)))),
        Faults::none(),
    )
    .await
}

/// Messages, a quiet hour, a dream.
async fn dreamt(rig: &Rig) {
    let messages: Vec<Value> = MESSAGES
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text}))
        .collect();
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": messages }))
        .await;
    rig.settle().await;
    rig.advance(Duration::from_mins(61)).await;
}

async fn runs(rig: &Rig) -> Vec<Value> {
    rig.get("/v3/workspaces/w/dreams?observer=maya&observed=maya").await["items"]
        .as_array()
        .unwrap()
        .clone()
}

async fn detail(rig: &Rig, run: &Value) -> Value {
    rig.get(&format!("/v3/workspaces/w/dreams/{}", run["id"].as_str().unwrap()))
        .await
}

/// Every text in the table that contains `needle`, whatever it is stored under.
async fn found(rig: &Rig, needle: &str) -> Vec<String> {
    rig.items()
        .await
        .into_iter()
        .map(|item| item.to_string())
        .filter(|item| item.contains(needle))
        .collect()
}

#[tokio::test]
async fn h30_history_keeps_its_texts_for_thirty_days_and_the_setting_changes_that() {
    for (config, days) in [
        (config(), 30),
        (
            Config {
                retention: 2 * DAY,
                ..config()
            },
            2,
        ),
    ] {
        let rig = rig(config).await;
        dreamt(&rig).await;
        rig.pass((days * DAY).saturating_sub(Duration::from_mins(1)));
        let run = &runs(&rig).await[0];
        assert_eq!(run["pruned_at"], Value::Null);
        assert_eq!(detail(&rig, run).await["removed"].as_array().unwrap().len(), 2);
        rig.pass(Duration::from_mins(2));
        assert!(runs(&rig).await[0]["pruned_at"].is_string());
    }
}

#[tokio::test]
async fn h31_past_retention_only_what_it_created_and_still_exists_is_left_and_the_counts_stay() {
    let rig = rig(config()).await;
    dreamt(&rig).await;
    let before = runs(&rig).await[0].clone();
    let card = rig.get("/v3/workspaces/w/peers/maya/card").await;
    rig.pass(31 * DAY);
    // What a reader sees does not wait for the reconciler, and does not change when it has come by.
    let unpruned = detail(&rig, &before).await;
    assert!(!found(&rig, "maya works at Intel").await.is_empty());
    rig.engine.reconcile().await.unwrap();
    let pruned = detail(&rig, &before).await;
    assert_eq!(unpruned, pruned);
    assert_eq!(pruned["removed"], json!([]));
    assert_eq!(pruned["peer_card"], Value::Null);
    assert!(pruned["pruned_at"].is_string());
    for key in [
        "created_count",
        "removed_count",
        "reinforced_count",
        "peer_card_updated",
        "ended_at",
    ] {
        assert_eq!(pruned[key], before[key], "{key}");
    }
    let created: Vec<_> = pruned["created"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["conclusion"]["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        created,
        ["maya now works at Qualcomm (formerly Intel)", "maya often paints"]
    );
    // Text that a dream removed is gone from the disk but for where a live conclusion says it.
    assert_eq!(found(&rig, "maya works at Intel").await, Vec::<String>::new());
    assert_eq!(found(&rig, "maya owns a violin").await, Vec::<String>::new());
    assert_eq!(rig.get("/v3/workspaces/w/peers/maya/card").await, card);
    let (status, _) = rig
        .call(
            "POST",
            &format!("/v3/workspaces/w/dreams/{}/undo", before["id"].as_str().unwrap()),
            None,
        )
        .await;
    assert_eq!(status, 409);
}

#[tokio::test]
async fn h29_a_source_whose_removal_is_past_retention_is_unavailable() {
    let rig = rig(config()).await;
    dreamt(&rig).await;
    let run = runs(&rig).await[0].clone();
    let merged = |detail: &Value| detail["created"][0]["sources"][0].clone();
    assert_eq!(merged(&detail(&rig, &run).await)["status"], "current");
    // A later dream removes the source of what the first one created.
    let source = merged(&detail(&rig, &run).await)["id"].as_str().unwrap().to_owned();
    let path = format!("/v3/workspaces/w/conclusions/{source}");
    let (status, _) = rig.call("DELETE", &path, None).await;
    assert_eq!(status, 204);
    let gone = merged(&detail(&rig, &run).await);
    assert_eq!(
        (gone["status"].as_str(), &gone["content"]),
        (Some("unavailable"), &Value::Null)
    );
}

#[tokio::test]
async fn h32_a_run_with_nothing_left_is_gone_also_when_its_last_conclusion_goes_later() {
    let rig = rig(config()).await;
    dreamt(&rig).await;
    let run = runs(&rig).await[0].clone();
    let created: Vec<String> = detail(&rig, &run).await["created"]
        .as_array()
        .unwrap()
        .iter()
        .map(|created| created["conclusion"]["id"].as_str().unwrap().to_owned())
        .collect();
    rig.pass(31 * DAY);
    rig.engine.reconcile().await.unwrap();
    assert_eq!(runs(&rig).await.len(), 1);
    for id in created {
        rig.ok("DELETE", &format!("/v3/workspaces/w/conclusions/{id}"), None)
            .await;
    }
    assert_eq!(runs(&rig).await, Vec::<Value>::new());
    let path = format!("/v3/workspaces/w/dreams/{}", run["id"].as_str().unwrap());
    assert_eq!(rig.call("GET", &path, None).await.0, 404);
    rig.pass(DAY + Duration::from_mins(1));
    rig.engine.reconcile().await.unwrap();
    assert_eq!(found(&rig, run["id"].as_str().unwrap()).await, Vec::<String>::new());
}

#[tokio::test]
async fn h33_without_history_dreams_run_and_leave_no_record() {
    let rig = rig(Config {
        history: false,
        ..config()
    })
    .await;
    dreamt(&rig).await;
    let texts = rig.texts("w", "maya", "maya").await;
    assert!(texts.contains(&"maya often paints".to_owned()), "{texts:?}");
    assert!(!texts.contains(&"maya works at Intel".to_owned()), "{texts:?}");
    assert_eq!(runs(&rig).await, Vec::<Value>::new());
    assert_eq!(found(&rig, "maya works at Intel").await, Vec::<String>::new());
    let kinds: std::collections::BTreeSet<String> = rig
        .items()
        .await
        .iter()
        .map(|item| item["type"].as_str().unwrap_or_default().to_owned())
        .collect();
    for kind in ["run", "change", "grave", "checkpoint", "dream_work"] {
        assert!(!kinds.contains(kind), "{kind}");
    }
    // The cooldown holds all the same.
    let status = rig
        .get("/v3/workspaces/w/dreams/status?observer=maya&observed=maya")
        .await;
    assert_eq!(status["verdict"], "below_threshold", "{status}");
    assert!(status["cooldown_until"].is_string(), "{status}");
    let unknown = format!("/v3/workspaces/w/dreams/{}/undo", "x".repeat(36));
    assert_eq!(rig.call("POST", &unknown, None).await.0, 409);
}

#[tokio::test]
async fn k5_texts_of_the_record_expire_by_their_time_to_live_and_nothing_else_of_it_does() {
    let rig = rig(config()).await;
    dreamt(&rig).await;
    let retention = 30 * DAY;
    let mut expiring = 0;
    for item in rig.items().await {
        let texts = item["type"] == "grave" || (item["type"] == "change" && item["kind"] != "created");
        assert_eq!(item["ttl"].is_number(), texts || item["type"] == "mark", "{item}");
        if texts {
            let ttl = item["ttl"].as_i64().unwrap();
            assert!(
                ttl > (rig.now() + retention).seconds() && ttl < (rig.now() + retention + 5 * DAY).seconds(),
                "{item}"
            );
            expiring += 1;
        }
    }
    assert!(expiring >= 4);
}

/// A reasoner that keeps what the card says and adds an entry.
fn remembering(request: &reverie_core::reasoner::ThinkRequest<'_>) -> reverie_core::reasoner::Thought {
    use reverie_core::conclusion::CardEntry;
    let entry = CardEntry {
        text: "ATTRIBUTE: paints".into(),
        conclusions: request.conclusions.first().map(|c| c.id.clone()).into_iter().collect(),
    };
    let mut entries = request.card.map(<[CardEntry]>::to_vec).unwrap_or_default();
    entries.retain(|kept| kept.text != entry.text);
    entries.push(entry);
    let operations = vec![reverie_core::toolbox::Operation::Card { entries }];
    reverie_core::reasoner::Thought {
        operations,
        done: true,
        ..Default::default()
    }
}

#[tokio::test]
async fn a_card_refresh_keeps_the_card_and_a_rebuild_starts_from_none_and_neither_is_a_dream() {
    let rig = Rig::with(
        config(),
        Arc::new(Scripted::thinking(|request| Ok(remembering(request)))),
        Faults::none(),
    )
    .await;
    rig.post(
        "/v3/workspaces/w/sessions/s/messages",
        json!({"messages": [{"peer_id": "maya", "content": "maya paints"}]}),
    )
    .await;
    rig.settle().await;
    rig.ok(
        "PUT",
        "/v3/workspaces/w/peers/maya/card",
        Some(json!({"peer_card": ["IDENTITY: an old entry"]})),
    )
    .await;
    for (rebuild, card) in [
        (false, json!(["IDENTITY: an old entry", "ATTRIBUTE: paints"])),
        (true, json!(["ATTRIBUTE: paints"])),
    ] {
        let body = json!({"observer": "maya", "dream_type": "card_refresh", "rebuild": rebuild});
        rig.ok("POST", "/v3/workspaces/w/schedule_dream", Some(body)).await;
        rig.settle().await;
        assert_eq!(
            rig.get("/v3/workspaces/w/peers/maya/card").await["peer_card"],
            card,
            "rebuild {rebuild}"
        );
    }
    let status = rig
        .get("/v3/workspaces/w/dreams/status?observer=maya&observed=maya")
        .await;
    assert_eq!(
        (&status["new_conclusions"], &status["cooldown_until"]),
        (&json!(1), &Value::Null),
        "{status}"
    );
    assert_eq!(rig.texts("w", "maya", "maya").await, ["maya paints"]);
}
