//! What is the same, what is newer, and what is neither.

use reverie_core::conclusion::Level;
use reverie_core::run::Phase;
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use crate::rig::{
    Scripted,
    steps::{
        HOUR, card, days, dream, facts, id, id_of, list, offline, removed, say, scripted, state, strings, texts,
        thought,
    },
};

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
