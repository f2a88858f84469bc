//! What broke for people who run memory systems, one test per report: the whole kind of each fault, not the one input.
//! Reports 12 and 24 are with the timing and the verdicts that they are about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use reverie_core::conclusion::{CardEntry, Level, Pattern};
use reverie_core::config::Config;
use reverie_core::id::ConclusionId;
use reverie_core::offline::Offline;
use reverie_core::reasoner::{ReasonerError, ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use crate::checklist::{
    HOUR, MINUTE, card, created, detail, dream, facts, id, id_of, list, newest, quiet, removed, runs, say, say_in,
    scripted, state, status, strings, texts,
};
use crate::rig::{Faults, Rig, Scripted, config, reasoner::verbatim};

/// The offline reasoner, which dreams only when it is asked to.
async fn offline() -> Rig {
    let config = Config {
        threshold: 10_000,
        ..config()
    };
    Rig::with(config, Arc::new(Offline), Faults::none()).await
}

/// Says one thing a day, each in a session of its own.
async fn days(rig: &Rig, said: &[&str]) {
    for (day, text) in said.iter().enumerate() {
        say(rig, &format!("day{day}-{}", rig.now().micros()), "maya", &[text]).await;
        assert_eq!(rig.settle().await, 0);
        rig.pass(24 * HOUR);
    }
}

fn thought(operations: Vec<Operation>) -> Thought {
    Thought {
        operations,
        done: true,
        ..Thought::default()
    }
}

#[tokio::test]
async fn report_01_a_threshold_met_inside_the_cooldown_needs_no_further_message() {
    let rig = quiet().await;
    rig.pass(20 * HOUR + 51 * MINUTE);
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(HOUR).await;
    assert_eq!(runs(&rig).await[0]["ended_at"], "2026-01-01T21:51:00Z");
    for number in 0..50 {
        rig.pass(MINUTE);
        say(&rig, "s", "maya", &[format!("maya noted late fact {number}")]).await;
        rig.settle().await;
    }
    // No more traffic. Nobody but the schedule looks.
    while rig.now().to_string().as_str() < "2026-01-02T05:50:00Z" {
        rig.advance(MINUTE).await;
        assert_eq!(runs(&rig).await.len(), 1, "{}", rig.now());
    }
    rig.advance(MINUTE).await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["started_at"]), (2, &json!("2026-01-02T05:51:00Z")));
}

#[tokio::test]
async fn report_03_a_batch_whose_reasoner_fails_is_tried_again_and_never_done_with_nothing_saved() {
    for error in [
        || ReasonerError::Transient("429".to_owned()),
        || ReasonerError::Permanent("junk".to_owned()),
    ] {
        let failures = Arc::new(AtomicUsize::new(3));
        let left = Arc::clone(&failures);
        let rig = scripted(Scripted::idle().deriving(move |request| {
            match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
                Ok(_) => Err(error()),
                Err(_) => Ok(verbatim(request)),
            }
        }))
        .await;
        say(&rig, "s", "maya", &facts(0..3)).await;
        rig.settle().await;
        while failures.load(Ordering::Relaxed) > 0 {
            assert_eq!(texts(&rig).await, [""; 0]);
            assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["pending_work_units"], 1);
            rig.pass(10 * MINUTE);
            rig.engine.reconcile().await.unwrap();
            rig.settle().await;
        }
        rig.advance(10 * MINUTE).await;
        assert_eq!(texts(&rig).await, facts(0..3));
        assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["pending_work_units"], 0);
    }
}

#[tokio::test]
async fn report_04_one_short_message_is_derived_at_once() {
    let rig = offline().await;
    say(&rig, "s", "maya", &["I live in Lisbon."]).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, ["maya lives in Lisbon."]);
}

#[tokio::test]
async fn report_05_what_a_dream_deduces_brings_the_next_one_no_nearer() {
    let reasoner = Scripted::thinking(|request| {
        let source = request.conclusions[0].id.clone();
        let deduced = |number| Operation::Create {
            level: Level::Deductive,
            content: format!("deduced {number}"),
            sources: vec![source.clone()],
            pattern: None,
            replaces: Vec::new(),
        };
        Ok(thought(if request.phase == Phase::Deduction {
            (0..30).map(deduced).collect()
        } else {
            Vec::new()
        }))
    });
    let rig = Rig::with(Config::default(), Arc::new(reasoner), Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..50)).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await[0]["created_count"], 30);
    say(&rig, "s", "maya", &facts(50..70)).await;
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 1);
    assert_eq!(status(&rig).await["new_conclusions"], 20);
}

#[tokio::test]
async fn report_06_what_an_assistant_says_about_the_user_is_no_fact_about_the_assistant() {
    let rig = offline().await;
    let observed = json!({"id": "assistant", "configuration": {"observe_me": true}});
    rig.post("/v3/workspaces/w/peers", observed).await;
    let members =
        json!({"id": "s", "peers": {"user": {"observe_others": true}, "assistant": {"observe_others": true}}});
    rig.post("/v3/workspaces/w/sessions", members).await;
    say(
        &rig,
        "s",
        "assistant",
        &["You live in Lima.", "So you work at Intel, and your wife is a nurse."],
    )
    .await;
    say(&rig, "s", "user", &["Yes, right."]).await;
    rig.settle().await;
    for observer in ["assistant", "user"] {
        assert_eq!(rig.texts("w", observer, "assistant").await, [""; 0]);
    }
    // What it says of itself is one.
    say(&rig, "s", "assistant", &["I live in a data centre."]).await;
    rig.settle().await;
    assert_eq!(
        rig.texts("w", "user", "assistant").await,
        ["assistant lives in a data centre."]
    );
    assert_eq!(rig.texts("w", "assistant", "user").await, [""; 0]);
}

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

/// Everything that maya's own representation shows.
async fn stands(rig: &Rig) -> (Vec<Value>, Value) {
    (rig.conclusions("w", "maya", "maya").await, card(rig).await)
}

type Answer = Box<dyn FnMut(&ThinkRequest<'_>) -> Result<Thought, ReasonerError> + Send>;

#[tokio::test]
async fn report_08_junk_from_a_reasoner_changes_nothing_and_the_run_tells_the_truth() {
    let unknown = || ConclusionId::trusted("x".repeat(36));
    let ghosts = move |request: &ThinkRequest<'_>| {
        let known = request.conclusions[0].id.clone();
        let create = |level, content: &str, sources: Vec<_>, replaces| Operation::Create {
            level,
            content: content.to_owned(),
            sources,
            pattern: Some(Pattern::Behavior),
            replaces,
        };
        vec![
            create(
                Level::Deductive,
                "of a ghost",
                vec![unknown()],
                vec![(known.clone(), RemovalReason::Superseded)],
            ),
            create(
                Level::Inductive,
                "of one and a ghost",
                vec![known.clone(), unknown()],
                vec![(known.clone(), RemovalReason::Other)],
            ),
            create(
                Level::Deductive,
                "  ",
                vec![known.clone()],
                vec![(known.clone(), RemovalReason::Superseded)],
            ),
            Operation::Merge {
                keep: unknown(),
                duplicates: vec![known.clone()],
            },
            Operation::Merge {
                keep: known.clone(),
                duplicates: vec![known.clone()],
            },
            Operation::Merge {
                keep: known.clone(),
                duplicates: vec![unknown()],
            },
            Operation::Remove {
                ids: vec![known.clone()],
                reason: RemovalReason::Duplicate,
                replaced_by: Some(unknown()),
            },
            Operation::Remove {
                ids: vec![unknown()],
                reason: RemovalReason::Other,
                replaced_by: None,
            },
            Operation::Card {
                entries: vec![CardEntry {
                    text: "IDENTITY: ghost".into(),
                    conclusions: vec![unknown()],
                }],
            },
        ]
    };
    let answers: [(&str, Answer); 3] = [
        (
            "failed",
            Box::new(|_| Err(ReasonerError::Permanent("not the agreed shape".to_owned()))),
        ),
        ("completed", Box::new(|_| Ok(thought(Vec::new())))),
        ("completed", Box::new(move |request| Ok(thought(ghosts(request))))),
    ];
    for (ends, answer) in answers {
        let rig = scripted(Scripted::thinking(answer)).await;
        say(&rig, "s", "maya", &facts(0..3)).await;
        rig.settle().await;
        rig.ok(
            "PUT",
            "/v3/workspaces/w/peers/maya/card",
            Some(json!({"peer_card": ["IDENTITY: Maya"]})),
        )
        .await;
        let before = stands(&rig).await;
        let ran = dream(&rig).await;
        assert_eq!(stands(&rig).await, before);
        assert_eq!(ran["status"], ends);
        assert_eq!(ran["error"].is_string(), ends == "failed", "{}", ran["error"]);
        for count in ["created_count", "removed_count", "reinforced_count"] {
            assert_eq!(ran[count], 0);
        }
        assert_eq!(
            (&ran["created"], &ran["removed"], &ran["peer_card"]),
            (&json!([]), &json!([]), &Value::Null)
        );
        assert_eq!(ran["peer_card_updated"], false);
    }
}

#[tokio::test]
async fn report_09_an_empty_reflection_replaces_nothing_and_is_not_asked_for_every_turn() {
    let asked = Arc::new(Scripted::thinking(|request| {
        let empty = |text: &str| CardEntry {
            text: text.to_owned(),
            conclusions: vec![request.conclusions[0].id.clone()],
        };
        let all: Vec<_> = request
            .conclusions
            .iter()
            .map(|conclusion| conclusion.id.clone())
            .collect();
        let replaces = all.iter().map(|id| (id.clone(), RemovalReason::Superseded)).collect();
        Ok(thought(vec![
            Operation::Create {
                level: Level::Deductive,
                content: String::new(),
                sources: all.clone(),
                pattern: None,
                replaces,
            },
            Operation::Card { entries: Vec::new() },
            Operation::Card {
                entries: vec![empty(""), empty("IDENTITY: "), empty("nothing of a kind")],
            },
        ]))
    }));
    let rig = Rig::with(config(), Arc::clone(&asked) as _, Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.ok(
        "PUT",
        "/v3/workspaces/w/peers/maya/card",
        Some(json!({"peer_card": ["IDENTITY: Maya"]})),
    )
    .await;
    let before = stands(&rig).await;
    rig.advance(30 * HOUR).await;
    assert_eq!(stands(&rig).await, before);
    assert_eq!(
        (runs(&rig).await.len(), asked.thoughts()),
        (1, 2),
        "one dream, one question per phase"
    );
}

#[tokio::test]
async fn report_10_one_statement_of_five_sessions_becomes_one_conclusion_of_five_sources() {
    let rig = offline().await;
    days(
        &rig,
        &[
            "I like long walks.",
            "I like long walks!",
            "I really like long walks.",
            "I like  long walks",
            "I like long walks.",
        ],
    )
    .await;
    assert_eq!(texts(&rig).await.len(), 5);
    dream(&rig).await;
    let left: Vec<Value> = rig
        .conclusions("w", "maya", "maya")
        .await
        .into_iter()
        .filter(|found| found["level"] == "explicit")
        .collect();
    assert_eq!(left.len(), 1, "{left:#?}");
    assert_eq!(left[0]["times_derived"], 5);
    let items = rig.items().await;
    let stored = items
        .iter()
        .find(|item| item["SK"] == json!(format!("C#{}", id(&left[0]))))
        .unwrap();
    assert_eq!(stored["support"].as_array().unwrap().len(), 5, "{stored:#}");
}

#[tokio::test]
async fn report_10_the_same_said_again_in_a_session_is_reinforced_and_not_stored_twice() {
    let rig = offline().await;
    for text in ["I like long walks.", "I LIKE long walks!", "i like long walks"] {
        say(&rig, "s", "maya", &[text]).await;
        rig.settle().await;
    }
    let all = rig.conclusions("w", "maya", "maya").await;
    let times: u64 = all.iter().map(|found| found["times_derived"].as_u64().unwrap()).sum();
    assert_eq!(times, 3);
    dream(&rig).await;
    let all = rig.conclusions("w", "maya", "maya").await;
    let explicit: Vec<&Value> = all.iter().filter(|found| found["level"] == "explicit").collect();
    assert_eq!(
        (explicit.len(), &explicit[0]["times_derived"]),
        (1, &json!(3)),
        "{explicit:#?}"
    );
}

#[tokio::test]
async fn report_11_a_derived_conclusion_has_the_date_of_its_latest_source() {
    let rig = scripted(Scripted::thinking(|request| {
        Ok(thought(if request.phase == Phase::Deduction {
            vec![Operation::Create {
                level: Level::Deductive,
                content: "deduced".into(),
                sources: request
                    .conclusions
                    .iter()
                    .map(|conclusion| conclusion.id.clone())
                    .collect(),
                pattern: None,
                replaces: Vec::new(),
            }]
        } else {
            Vec::new()
        }))
    }))
    .await;
    let dated = |text: &str, date: &str| json!({"peer_id": "maya", "content": text, "created_at": date});
    let messages = [
        dated("one", "2025-08-13T09:00:00Z"),
        dated("two", "2025-08-13T11:30:00Z"),
        dated("three", "2024-02-02T00:00:00Z"),
    ];
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": messages }))
        .await;
    rig.settle().await;
    dream(&rig).await;
    let items = rig.items().await;
    let event = |text: &str| {
        items
            .iter()
            .find(|item| item["type"] == "conclusion" && item["content"] == text)
            .unwrap()["event_at"]
            .clone()
    };
    assert_eq!(event("deduced"), event("two"));
    assert_ne!(event("two"), event("one"));
}

#[tokio::test]
async fn report_13_variants_of_one_chinese_sentence_become_one_and_another_number_stays() {
    let rig = offline().await;
    days(
        &rig,
        &[
            "将间隔时间改回2秒，重新加载完成（PID 26061）",
            "将间隔时间改回 2 秒, 重新加载完成 (PID 26061)",
            "把间隔时间改回2秒，重新加载完成了（PID 26061）",
            "间隔时间已改回２秒，重新加载完成（PID 26061）。",
            "将间隔时间改回3秒，重新加载完成（PID 26061）",
        ],
    )
    .await;
    assert_eq!(texts(&rig).await.len(), 5);
    let ran = dream(&rig).await;
    let left: Vec<Value> = rig
        .conclusions("w", "maya", "maya")
        .await
        .into_iter()
        .filter(|found| found["level"] == "explicit")
        .collect();
    assert_eq!(left.len(), 2, "{left:#?}");
    assert!(
        left.iter()
            .any(|found| found["content"].as_str().unwrap().contains("3秒")),
        "{left:#?}"
    );
    for removed in list(&ran["removed"]) {
        assert_eq!(removed["reason"], "duplicate");
        assert!(
            !removed["replaced_by"].is_null() && !removed["content"].as_str().unwrap().contains("3秒"),
            "{removed}"
        );
    }
}

#[tokio::test]
async fn report_14_unrelated_facts_do_not_retire_each_other() {
    let rig = offline().await;
    let unrelated = [
        "Alice works at Acme.",
        "Bob lives in Oslo.",
        "maya works at Intel.",
        "maya's sister works at Google.",
        "maya lives in Lisbon.",
        "maya wants to live in Lima.",
        "maya used to work at Sony.",
        "maya has a dog.",
        "maya's brother has no dog.",
    ];
    for text in unrelated {
        state(&rig, "maya", "maya", &[text]).await;
        rig.pass(24 * HOUR);
    }
    let ran = dream(&rig).await;
    assert_eq!(removed(&ran), [""; 0]);
    let left = texts(&rig).await;
    assert!(
        unrelated.iter().all(|text| left.contains(&(*text).to_owned())),
        "{left:?}"
    );
    assert!(
        !list(&ran["created"])
            .iter()
            .any(|found| found["conclusion"]["level"] == "contradiction"),
        "{ran:#}"
    );
}

#[tokio::test]
async fn report_15_ids_of_every_allowed_form_work_end_to_end() {
    let long = "a".repeat(512);
    let dashes = format!("-_-{}-_-", "x-".repeat(40));
    for (name, other) in [
        ("vt-firmware", "b0a7c1d2-3e4f-4a5b-8c6d-7e8f9a0b1c2d"),
        ("0b0a7c1d-3e4f-4a5b-8c6d-7e8f9a0b1c2d", "vt-firmware"),
        ("-", "_"),
        (&"y".repeat(64), &"z".repeat(65)),
        (&dashes, &dashes),
        (&long, &long),
    ] {
        let rig = scripted(Scripted::thinking(|request| Ok(crate::crash::think(request)))).await;
        let base = format!("/v3/workspaces/{name}");
        let members = json!({"id": other, "peers": {(other): {}, "observer-1": {"observe_others": true}}});
        rig.post(&format!("{base}/sessions"), members).await;
        say_in(&rig, name, other, other, crate::crash::MESSAGES).await;
        assert_eq!(rig.settle().await, 0);
        for observer in [other, "observer-1"] {
            assert_eq!(
                rig.texts(name, observer, other).await.len(),
                crate::crash::MESSAGES.len(),
                "{name}"
            );
        }
        // Fired by its schedule, not asked for.
        rig.advance(61 * MINUTE).await;
        for observer in [other, "observer-1"] {
            let found = rig
                .get(&format!("{base}/dreams?observer={observer}&observed={other}"))
                .await;
            let run = &found["items"][0];
            assert_eq!(
                (&found["total"], &run["trigger"], &run["status"]),
                (&json!(1), &json!("idle"), &json!("completed")),
                "{name}"
            );
            assert_eq!(run["created_count"], 2);
            let run = id(run);
            assert_eq!(created(&rig.get(&format!("{base}/dreams/{run}")).await).len(), 2);
            let card = rig.get(&format!("{base}/peers/{observer}/card?target={other}")).await;
            assert_eq!(card["peer_card"], json!(["IDENTITY: works at Qualcomm"]));
            rig.post(&format!("{base}/dreams/{run}/undo"), json!({})).await;
            rig.settle().await;
            assert_eq!(
                rig.texts(name, observer, other).await.len(),
                crate::crash::MESSAGES.len()
            );
            let why = rig
                .get(&format!("{base}/dreams/status?observer={observer}&observed={other}"))
                .await;
            assert_eq!(why["verdict"], "below_threshold");
        }
    }
    // What is not allowed is refused, and never dropped.
    let rig = quiet().await;
    for name in ["a b", "ä", "a/b", &"a".repeat(513), ""] {
        let (status, _) = rig.call("POST", "/v3/workspaces", Some(json!({ "id": name }))).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{name}");
    }
}

#[tokio::test]
async fn report_16_the_newer_of_two_opposites_stays_and_takes_the_olders_place() {
    let rig = offline().await;
    days(&rig, &["I love Chinese food.", "I hate Chinese food."]).await;
    let newer = id_of(&rig, "maya hates Chinese food.").await;
    let ran = dream(&rig).await;
    let gone = list(&ran["removed"]);
    assert_eq!(removed(&ran), ["maya loves Chinese food."]);
    assert_eq!(gone[0]["replaced_by"], json!(newer));
    assert!(texts(&rig).await.contains(&"maya hates Chinese food.".to_owned()));
    // Every removal with a replacement names one that is there.
    days(&rig, &["I love Chinese food."]).await;
    let ran = dream(&rig).await;
    assert_eq!(removed(&ran), ["maya hates Chinese food."]);
    let live: Vec<String> = rig.conclusions("w", "maya", "maya").await.iter().map(id).collect();
    for gone in list(&ran["removed"]) {
        assert!(live.contains(&gone["replaced_by"].as_str().unwrap().to_owned()));
    }
}

#[tokio::test]
async fn report_17_a_new_job_replaces_the_old_one_which_stays_in_the_history() {
    let rig = offline().await;
    days(&rig, &["I work at Intel.", "I moved to Qualcomm."]).await;
    let ran = dream(&rig).await;
    assert_eq!(removed(&ran), ["maya works at Intel."]);
    let left = texts(&rig).await;
    assert!(
        left.contains(&"maya now works at Qualcomm (formerly Intel).".to_owned()),
        "{left:?}"
    );
    assert_eq!(strings(&card(&rig).await), ["IDENTITY: Works at Qualcomm"]);
    // And a third replaces both.
    days(&rig, &["I now work at Apple."]).await;
    let ran = dream(&rig).await;
    let left = texts(&rig).await;
    assert!(
        !left
            .iter()
            .any(|text| text.contains("works at Qualcomm") || text.contains("works at Intel")),
        "{left:?}"
    );
    assert!(
        left.contains(&"maya now works at Apple (formerly Qualcomm).".to_owned()),
        "{left:?} {ran:#}"
    );
}

#[tokio::test]
async fn report_18_both_scripts_of_a_text_decide_whether_it_is_the_same() {
    let rig = offline().await;
    let said = [
        "maya: 你好 SQLite",
        "maya: 您好 SQLite",
        "maya: 再见 SQLite",
        "maya: привет SQLite",
    ];
    for text in said {
        state(&rig, "maya", "maya", &[text]).await;
        rig.pass(24 * HOUR);
    }
    let ran = dream(&rig).await;
    assert_eq!(removed(&ran), [""; 0]);
    let left = texts(&rig).await;
    assert!(said.iter().all(|text| left.contains(&(*text).to_owned())), "{left:?}");
}

#[tokio::test]
async fn report_19_times_are_utc_whatever_clocks_are_put_forward_or_back() {
    // The nights on which Europe and America change their clocks.
    for (night, due) in [
        ("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"),
        ("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
        ("2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z"),
        ("2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
        ("2026-12-31T23:30:00Z", "2027-01-01T00:30:00Z"),
    ] {
        let rig = quiet().await;
        while rig.now().to_string().as_str() < night {
            let far = rig.now().to_string()[..10] != night[..10];
            rig.pass(if far { 24 * HOUR } else { 30 * MINUTE });
        }
        assert_eq!(rig.now().to_string(), night);
        say(&rig, "s", "maya", &facts(0..5)).await;
        rig.settle().await;
        assert_eq!(status(&rig).await["timer_due_at"], due);
        rig.advance(59 * MINUTE).await;
        assert_eq!(runs(&rig).await.len(), 0);
        rig.advance(MINUTE).await;
        assert_eq!(runs(&rig).await[0]["started_at"], due);
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
async fn report_21_what_a_dream_derives_again_is_reinforced_and_not_duplicated() {
    let rig = scripted(Scripted::thinking(|request| {
        let said: Vec<_> = request
            .conclusions
            .iter()
            .filter(|found| found.level == Level::Explicit)
            .collect();
        // Fourteen times the same, in as many spellings, each from another source.
        let operations = said.iter().enumerate().map(|(number, source)| Operation::Create {
            level: Level::Deductive,
            content: if number % 2 == 0 {
                "Maya is diligent".to_owned()
            } else {
                "  maya IS diligent ".to_owned()
            },
            sources: vec![source.id.clone()],
            pattern: None,
            replaces: Vec::new(),
        });
        Ok(thought(if request.phase == Phase::Deduction {
            operations.collect()
        } else {
            Vec::new()
        }))
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..14)).await;
    rig.settle().await;
    let first = dream(&rig).await;
    assert_eq!(
        (&first["created_count"], &first["reinforced_count"]),
        (&json!(1), &json!(13))
    );
    let derived = async || -> Vec<Value> {
        rig.conclusions("w", "maya", "maya")
            .await
            .into_iter()
            .filter(|found| found["level"] == "deductive")
            .collect()
    };
    let once = derived().await;
    assert_eq!((once.len(), once[0]["source_ids"].as_array().unwrap().len()), (1, 14));
    // The next dream has no new reason to say it.
    let second = dream(&rig).await;
    assert_eq!(
        (&second["created_count"], &second["reinforced_count"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(derived().await, once);
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
