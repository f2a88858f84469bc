//! Rows H20 to H25, H27 to H29, H40: the record of a dream.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::StatusCode;
use reverie_core::reasoner::{ReasonerError, Thought};
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use super::{
    HOUR, MINUTE, ask, ask_for, card, created, detail, dream, facts, id, id_of, list, listed, newest, removed, runs,
    say, scripted, state, texts,
};
use crate::crash::{MESSAGES, think};
use crate::rig::{Fault, Faults, Rig, Scripted, config};

/// A rig with the crash harness's facts and its reasoner: it supersedes, merges, writes the card, finds a pattern.
async fn rig() -> Rig {
    let rig = scripted(Scripted::thinking(|request| Ok(think(request)))).await;
    say(&rig, "s", "maya", MESSAGES).await;
    rig.settle().await;
    rig
}

/// Forgets a conclusion in its first dream's place: the operation that a later dream is to carry out.
fn later(operation: impl Fn(&reverie_core::reasoner::ThinkRequest<'_>) -> Vec<Operation> + Send + 'static) -> Scripted {
    let mut dreams = 0;
    Scripted::thinking(move |request| {
        dreams += u32::from(request.phase == Phase::Deduction && request.turn == 0);
        if dreams == 1 {
            return Ok(think(request));
        }
        let operations = if request.phase == Phase::Deduction {
            operation(request)
        } else {
            Vec::new()
        };
        Ok(Thought {
            operations,
            done: true,
            ..Thought::default()
        })
    })
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

const RUN: &[&str] = &[
    "id",
    "dream_type",
    "trigger",
    "status",
    "observer",
    "observed",
    "created_at",
    "started_at",
    "ended_at",
    "created_count",
    "removed_count",
    "reinforced_count",
    "peer_card_updated",
    "pruned_at",
    "usage",
    "error",
    "dry_run",
    "undo_of",
];

#[tokio::test]
async fn h20_dreams_are_listed_newest_first_with_what_they_did() {
    let rig = rig().await;
    rig.advance(61 * MINUTE).await;
    rig.advance(HOUR).await;
    ask(&rig, "maya").await;
    let pending = runs(&rig).await;
    assert_eq!(
        (&pending[0]["status"], &pending[0]["started_at"]),
        (&json!("pending"), &Value::Null)
    );
    rig.settle().await;
    let runs = runs(&rig).await;
    assert_eq!(runs.len(), 2);
    let counts =
        |run: &Value| ["created_count", "removed_count", "reinforced_count"].map(|count| run[count].as_u64().unwrap());
    assert_eq!((&runs[0]["trigger"], counts(&runs[0])), (&json!("manual"), [0, 0, 0]));
    assert_eq!((&runs[1]["trigger"], counts(&runs[1])), (&json!("idle"), [2, 2, 1]));
    for run in &runs {
        assert_eq!(keys(run), RUN.iter().copied().collect());
        assert_eq!(
            (&run["status"], &run["error"], &run["pruned_at"]),
            (&json!("completed"), &Value::Null, &Value::Null)
        );
    }
    assert_eq!(runs[1]["peer_card_updated"], true);
    assert_eq!(runs[1]["started_at"], "2026-01-01T01:01:00Z");
    assert_eq!(runs[1]["usage"]["input_tokens"], 300, "three turns");
    // Pages, and the same list by POST.
    let page = rig.get("/v3/workspaces/w/dreams?size=1&page=2").await;
    assert_eq!(
        (&page["items"][0], &page["total"], &page["pages"]),
        (&runs[1], &json!(2), &json!(2))
    );
    let posted = rig
        .post("/v3/workspaces/w/dreams/list", json!({"filters": {"observed": "maya"}}))
        .await;
    assert_eq!(list(&posted["items"]), runs);
}

#[tokio::test]
async fn h20_a_dream_that_is_not_there_is_not_found() {
    let rig = rig().await;
    for run in ["none", &"x".repeat(36), &"0".repeat(600)] {
        let (status, _) = rig.call("GET", &format!("/v3/workspaces/w/dreams/{run}"), None).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{run}");
    }
    // Nor is one of another workspace.
    let run = id(&dream(&rig).await);
    rig.post("/v3/workspaces", json!({"id": "x"})).await;
    for (method, path) in [("GET", ""), ("POST", "/cancel"), ("POST", "/undo")] {
        let (status, _) = rig
            .call(method, &format!("/v3/workspaces/x/dreams/{run}{path}"), None)
            .await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}");
    }
}

#[tokio::test]
async fn h21_created_conclusions_name_what_they_were_derived_from() {
    let rig = rig().await;
    let premise = id_of(&rig, "maya works at Qualcomm").await;
    let evidence = [
        id_of(&rig, "maya paints on Sundays").await,
        id_of(&rig, "maya paints in the evenings").await,
    ];
    let ran = dream(&rig).await;
    assert_eq!(
        created(&ran),
        ["maya now works at Qualcomm (formerly Intel)", "maya often paints"]
    );
    let source =
        |id: &str, content: &str| json!({"id": id, "content": content, "status": "current", "removed_in_run": null});
    assert_eq!(
        ran["created"][0]["sources"],
        json!([source(&premise, "maya works at Qualcomm")])
    );
    assert_eq!(
        ran["created"][1]["sources"],
        json!([
            source(&evidence[0], "maya paints on Sundays"),
            source(&evidence[1], "maya paints in the evenings")
        ])
    );
    assert_eq!(ran["created"][1]["conclusion"]["confidence"], "low");
}

#[tokio::test]
async fn h22_removed_conclusions_read_as_they_did_and_name_their_replacement() {
    let rig = rig().await;
    let (old, twin, kept) = (
        id_of(&rig, "maya works at Intel").await,
        id_of(&rig, "maya owns a violin").await,
        id_of(&rig, "maya plays the violin").await,
    );
    let ran = dream(&rig).await;
    let replacement = &ran["created"][0]["conclusion"]["id"];
    assert_eq!(
        ran["removed"],
        json!([
            {"id": old, "content": "maya works at Intel", "level": "explicit", "reason": "superseded", "replaced_by": replacement},
            {"id": twin, "content": "maya owns a violin", "level": "explicit", "reason": "duplicate", "replaced_by": kept},
        ])
    );
    for gone in [old, twin] {
        let (status, _) = rig
            .call("GET", &format!("/v3/workspaces/w/conclusions/{gone}"), None)
            .await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn h23_the_card_is_shown_before_the_first_update_and_after_the_last() {
    let entry = |text: &str, of: &reverie_core::conclusion::Conclusion| reverie_core::conclusion::CardEntry {
        text: text.to_owned(),
        conclusions: vec![of.id.clone()],
    };
    let rig = scripted(Scripted::thinking(move |request| {
        let of = &request.conclusions[0];
        let operations = match request.phase {
            Phase::Deduction => ["IDENTITY: first", "IDENTITY: second", "IDENTITY: last"]
                .map(|text| Operation::Card {
                    entries: vec![entry(text, of)],
                })
                .into(),
            _ => Vec::new(),
        };
        Ok(Thought {
            operations,
            done: true,
            ..Thought::default()
        })
    }))
    .await;
    say(&rig, "s", "maya", &["a fact"]).await;
    rig.settle().await;
    let first = dream(&rig).await;
    assert_eq!(first["peer_card"], json!({"before": null, "after": ["IDENTITY: last"]}));
    rig.ok(
        "PUT",
        "/v3/workspaces/w/peers/maya/card",
        Some(json!({"peer_card": ["IDENTITY: by hand"]})),
    )
    .await;
    let second = dream(&rig).await;
    assert_eq!(
        second["peer_card"],
        json!({"before": ["IDENTITY: by hand"], "after": ["IDENTITY: last"]})
    );
    assert_eq!(detail(&rig, &id(&first)).await["peer_card"], first["peer_card"]);
}

#[tokio::test]
async fn h24_a_failed_run_shows_all_that_it_committed() {
    let rig = scripted(Scripted::thinking(|request| match (request.phase, request.turn) {
        (Phase::Deduction, 0) => Ok(think(request)),
        _ => Err(ReasonerError::permanent("no JSON".to_owned())),
    }))
    .await;
    say(&rig, "s", "maya", MESSAGES).await;
    rig.settle().await;
    let ran = dream(&rig).await;
    assert_eq!(ran["status"], "failed");
    assert_eq!(created(&ran), ["maya now works at Qualcomm (formerly Intel)"]);
    assert_eq!(removed(&ran), ["maya works at Intel", "maya owns a violin"]);
    assert_eq!((&ran["created_count"], &ran["removed_count"]), (&json!(1), &json!(2)));
    let error = ran["error"].as_str().unwrap();
    assert!(
        error.contains("deduction") && error.contains("induction") && error.contains("no JSON"),
        "{error}"
    );
}

#[tokio::test]
async fn h24_a_run_that_stops_anywhere_shows_exactly_what_it_committed() {
    let mut seen = BTreeSet::new();
    for stop in 0.. {
        let rig = rig().await;
        let before: BTreeSet<String> = texts(&rig).await.into_iter().collect();
        assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
        let mut writes = 0;
        rig.faults.replan(move |_, name| {
            writes += usize::from(name == "TransactWriteItems");
            if name == "TransactWriteItems" && writes == stop + 1 {
                Fault::DieAfter
            } else {
                Fault::None
            }
        });
        rig.settle().await;
        if !rig.faults.is_dead() {
            break;
        }
        let rig = rig.restart().await;
        let ran = newest(&rig).await;
        let (created, removed) = (created(&ran), removed(&ran));
        let counted = |key: &str| usize::try_from(ran[key].as_u64().unwrap()).unwrap();
        assert_eq!(
            (counted("created_count"), counted("removed_count")),
            (created.len(), removed.len()),
            "stopped at {stop}"
        );
        let mut expected = before;
        expected.retain(|text| !removed.contains(text));
        expected.extend(created.iter().cloned());
        assert_eq!(
            texts(&rig).await.into_iter().collect::<BTreeSet<_>>(),
            expected,
            "stopped at {stop}"
        );
        assert_eq!(
            ran["peer_card"].is_null(),
            card(&rig).await.is_null(),
            "stopped at {stop}"
        );
        assert_eq!(
            ran["peer_card_updated"],
            !ran["peer_card"].is_null(),
            "stopped at {stop}"
        );
        seen.insert((created.len(), removed.len(), !ran["peer_card"].is_null()));
    }
    assert!(seen.len() >= 4, "every step was a place to stop at: {seen:?}");
}

#[tokio::test]
async fn h25_dreams_are_filtered_by_observed_and_by_observer() {
    let rig = super::quiet().await;
    let pairs = [("maya", "maya"), ("bob", "maya"), ("maya", "bob"), ("bob", "bob")];
    for (observer, observed) in pairs {
        state(&rig, observer, observed, &facts(0..1)).await;
        assert_eq!(
            ask_for(&rig, json!({"observer": observer, "observed": observed}))
                .await
                .0,
            StatusCode::NO_CONTENT
        );
        rig.settle().await;
        rig.pass(MINUTE);
    }
    for (query, expected) in [
        ("", vec![3, 2, 1, 0]),
        ("observed=maya", vec![1, 0]),
        ("observer=maya", vec![2, 0]),
        ("observer=bob&observed=maya", vec![1]),
        ("observed=nobody", vec![]),
    ] {
        let found: Vec<(String, String)> = listed(&rig, query)
            .await
            .iter()
            .map(|run| {
                (
                    run["observer"].as_str().unwrap().to_owned(),
                    run["observed"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|at: &usize| (pairs[*at].0.to_owned(), pairs[*at].1.to_owned()))
            .collect();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn h27_what_is_still_there_is_current() {
    let rig = rig().await;
    let ran = dream(&rig).await;
    for created in list(&ran["created"]) {
        assert_eq!(
            (
                &created["conclusion"]["status"],
                &created["conclusion"]["removed_in_run"]
            ),
            (&json!("current"), &Value::Null)
        );
        for source in list(&created["sources"]) {
            assert_eq!(source["status"], "current");
        }
    }
}

#[tokio::test]
async fn h28_what_a_later_dream_removed_keeps_its_text_and_names_that_dream() {
    let rig = scripted(later(|request| {
        let find = |text: &str| {
            request
                .conclusions
                .iter()
                .find(|found| found.content == text)
                .map(|found| found.id.clone())
        };
        let remove = |text: &str, replaced_by: Option<&str>| Operation::Remove {
            ids: find(text).into_iter().collect(),
            reason: RemovalReason::Other,
            replaced_by: replaced_by.and_then(find),
        };
        vec![
            remove("maya often paints", None),
            remove("maya paints on Sundays", Some("maya paints in the evenings")),
        ]
    }))
    .await;
    say(&rig, "s", "maya", MESSAGES).await;
    rig.settle().await;
    let first = id(&dream(&rig).await);
    let second = dream(&rig).await;
    assert_eq!(removed(&second), ["maya often paints", "maya paints on Sundays"]);
    let pattern = &detail(&rig, &first).await["created"][1];
    let stands = |of: &Value| {
        (
            of["content"].clone(),
            of["status"].clone(),
            of["removed_in_run"].clone(),
        )
    };
    let gone = |text: &str| (json!(text), json!("removed"), second["id"].clone());
    assert_eq!(stands(&pattern["conclusion"]), gone("maya often paints"));
    assert_eq!(stands(&pattern["sources"][0]), gone("maya paints on Sundays"));
    assert_eq!(
        stands(&pattern["sources"][1]),
        (json!("maya paints in the evenings"), json!("current"), Value::Null)
    );
}

#[tokio::test]
async fn h29_what_was_deleted_through_the_api_is_unavailable_and_without_text() {
    let rig = rig().await;
    let ran = dream(&rig).await;
    // A created one, a source, and one that the dream itself removed.
    let created = ran["created"][0]["conclusion"]["id"].clone();
    let source = ran["created"][1]["sources"][0]["id"].clone();
    let removed = ran["removed"][0]["id"].clone();
    for id in [&created, &source, &removed] {
        let path = format!("/v3/workspaces/w/conclusions/{}", id.as_str().unwrap());
        assert_eq!(rig.call("DELETE", &path, None).await.0, StatusCode::NO_CONTENT);
        assert_eq!(rig.call("DELETE", &path, None).await.0, StatusCode::NOT_FOUND);
    }
    let ran = detail(&rig, &id(&ran)).await;
    assert_eq!(ran["created"][0]["conclusion"]["id"], created);
    for erased in [&ran["created"][0]["conclusion"], &ran["created"][1]["sources"][0]] {
        assert_eq!(
            (&erased["status"], &erased["content"], &erased["removed_in_run"]),
            (&json!("unavailable"), &Value::Null, &Value::Null)
        );
    }
    assert_eq!(
        (&ran["removed"][0]["id"], &ran["removed"][0]["content"]),
        (&removed, &Value::Null)
    );
    assert_eq!(ran["removed"][0]["reason"], "superseded");
    // Counts say what the dream did.
    assert_eq!((&ran["created_count"], &ran["removed_count"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn h40_the_detail_has_its_shape() {
    let rig = rig().await;
    let ran = dream(&rig).await;
    let expected: BTreeSet<&str> = RUN
        .iter()
        .copied()
        .chain(["created", "removed", "peer_card", "conflicts"])
        .collect();
    assert_eq!(keys(&ran), expected);
    let conclusion: BTreeSet<&str> = [
        "id",
        "content",
        "level",
        "status",
        "removed_in_run",
        "confidence",
        "pattern",
        "source_ids",
        "created_at",
    ]
    .into();
    for created in list(&ran["created"]) {
        assert_eq!(keys(&created), ["conclusion", "sources"].into());
        assert_eq!(keys(&created["conclusion"]), conclusion);
        for source in list(&created["sources"]) {
            assert_eq!(keys(&source), ["id", "content", "status", "removed_in_run"].into());
        }
    }
    for removed in list(&ran["removed"]) {
        assert_eq!(
            keys(&removed),
            ["id", "content", "level", "reason", "replaced_by"].into()
        );
    }
    assert_eq!(keys(&ran["peer_card"]), ["before", "after"].into());
    // A dream that does not touch the card says null.
    let next = dream(&rig).await;
    assert_eq!(
        (&next["created"], &next["removed"], &next["peer_card"]),
        (&json!([]), &json!([]), &Value::Null)
    );
}

#[tokio::test]
async fn a_dry_run_records_what_it_would_do_and_changes_nothing() {
    let rig = rig().await;
    let before = (rig.conclusions("w", "maya", "maya").await, card(&rig).await);
    let (status, answer) = ask_for(&rig, json!({"observer": "maya", "dry_run": true})).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    rig.settle().await;
    assert_eq!((rig.conclusions("w", "maya", "maya").await, card(&rig).await), before);
    let dry = detail(&rig, &id(&answer)).await;
    assert_eq!(
        (&dry["dry_run"], &dry["dream_type"], &dry["status"]),
        (&json!(true), &json!("dry_run"), &json!("completed"))
    );
    for created in list(&dry["created"]) {
        assert_eq!(created["conclusion"]["status"], "planned");
    }
    // It says what the real one then does.
    let real = dream(&rig).await;
    assert_eq!((created(&dry), removed(&dry)), (created(&real), removed(&real)));
    assert_eq!(
        (&dry["peer_card"], &dry["created_count"]),
        (&real["peer_card"], &real["created_count"])
    );
    // Its plan reads the same afterwards, and it cannot be undone.
    assert_eq!(created(&detail(&rig, &id(&answer)).await), created(&dry));
    let (status, _) = rig
        .call("POST", &format!("/v3/workspaces/w/dreams/{}/undo", id(&answer)), None)
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_reasoner_that_is_not_available_is_asked_again_and_the_run_says_so_when_it_gives_up() {
    let mut failures = 2;
    let asked = Arc::new(Scripted::thinking(move |request| {
        if failures > 0 {
            failures -= 1;
            return Err(ReasonerError::transient("overloaded".to_owned()));
        }
        Ok(think(request))
    }));
    let rig = Rig::with(config(), Arc::clone(&asked) as _, Faults::none()).await;
    say(&rig, "s", "maya", MESSAGES).await;
    rig.settle().await;
    ask(&rig, "maya").await;
    assert_eq!(rig.settle().await, 1);
    assert_eq!(runs(&rig).await[0]["status"], "running");
    for _ in 0..4 {
        rig.advance(10 * crate::checklist::MINUTE / 60).await;
    }
    let ran = newest(&rig).await;
    assert_eq!(
        (&ran["status"], &ran["error"], created(&ran).len()),
        (&json!("completed"), &Value::Null, 2)
    );
}
