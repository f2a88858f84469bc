//! Conclusions and sessions deleted.

use super::*;

#[tokio::test]
async fn h34_a_deleted_conclusion_is_nowhere_and_every_run_shows_it_unavailable() {
    let rig = rig().await;
    // The same words twice: a dream merges them, and what it removed is a copy.
    say(&rig, "a", "maya", &["maya owns a violin", "maya works at Intel"]).await;
    say(&rig, "b", "maya", &["maya owns a violin", "maya plays the violin"]).await;
    rig.settle().await;
    let run = id(&crate::checklist::dream(&rig).await);
    rig.pass(MINUTE);
    let kept = id_of(&rig, "maya plays the violin").await;
    let engineer = id_of(&rig, "maya is an engineer at Intel, formerly Xerox").await;
    for id in [&kept, &engineer] {
        assert_eq!(
            delete(&rig, &format!("/w/conclusions/{id}")).await,
            StatusCode::NO_CONTENT
        );
        assert_eq!(
            delete(&rig, &format!("/w/conclusions/{id}")).await,
            StatusCode::NOT_FOUND
        );
    }
    assert_nowhere(&rig, &["an engineer"]).await;
    let found = holding(&rig, "plays the violin").await;
    assert!(found.iter().all(|item| item["type"] == "block"), "{found:#?}");
    let detail = detail(&rig, &run).await;
    let erased = list(&detail["created"])
        .into_iter()
        .find(|c| c["conclusion"]["id"] == json!(engineer));
    let erased = &erased.unwrap()["conclusion"];
    assert_eq!(
        (&erased["status"], &erased["content"]),
        (&json!("unavailable"), &Value::Null)
    );
    assert_counts(&rig).await;
}

#[tokio::test]
async fn h34_what_a_dream_merged_into_it_and_reads_the_same_goes_with_it() {
    let rig = Rig::with(
        config(),
        Arc::new(Scripted::thinking(|request| {
            let mut same = request.conclusions.iter().filter(|c| c.content == "maya owns a violin");
            let merge = same.next().map(|keep| Operation::Merge {
                keep: keep.id.clone(),
                duplicates: same.map(|c| c.id.clone()).collect(),
            });
            let operations = merge
                .into_iter()
                .filter(|_| request.phase == Phase::Deduction)
                .collect();
            Ok(Thought {
                operations,
                done: true,
                ..Thought::default()
            })
        })),
        Faults::none(),
    )
    .await;
    for session in ["a", "b", "c"] {
        say(&rig, session, "maya", &["maya owns a violin"]).await;
    }
    rig.settle().await;
    let run = id(&crate::checklist::dream(&rig).await);
    rig.pass(MINUTE);
    let kept = id_of(&rig, "maya owns a violin").await;
    assert_eq!(
        delete(&rig, &format!("/w/conclusions/{kept}")).await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(removed(&detail(&rig, &run).await), ["-", "-"]);
    let found = holding(&rig, "owns a violin").await;
    assert!(found.iter().all(|item| item["type"] == "block"), "{found:#?}");
    let guards = rig
        .items()
        .await
        .into_iter()
        .filter(|item| item["type"] == "guard")
        .count();
    assert_eq!(guards, 0, "a guard is a trace of the text");
    assert_counts(&rig).await;
}

#[tokio::test]
async fn h34_a_recorded_card_keeps_its_time_to_live_when_an_entry_is_erased() {
    let rig = rig().await;
    dreamt(&rig).await;
    let cards = async || {
        let mut items = rig.items().await;
        items.retain(|item| item["kind"] == "card");
        items
    };
    let before = cards().await;
    let engineer = id_of(&rig, "maya is an engineer at Intel, formerly Xerox").await;
    assert_eq!(
        delete(&rig, &format!("/w/conclusions/{engineer}")).await,
        StatusCode::NO_CONTENT
    );
    let after = cards().await;
    assert_eq!((before.len(), after.len()), (1, 1));
    assert!(before[0]["ttl"].is_i64());
    assert_eq!(before[0]["ttl"], after[0]["ttl"]);
    assert_eq!(after[0]["after"][0]["text"], "ATTRIBUTE: paints");
}

#[tokio::test]
async fn h34_erasing_one_of_two_equal_conclusions_leaves_the_other_its_guard() {
    let rig = crate::checklist::quiet().await;
    say(&rig, "s", "maya", &["maya is shy"]).await;
    rig.settle().await;
    let derived = id_of(&rig, "maya is shy").await;
    let body = json!({"conclusions": [{"content": "maya is shy", "observer_id": "maya", "observed_id": "maya", "session_id": "s"}]});
    let stated = id(&rig.post("/v3/workspaces/w/conclusions", body).await[0]);
    assert_eq!(
        delete(&rig, &format!("/w/conclusions/{stated}")).await,
        StatusCode::NO_CONTENT
    );
    rig.pass(MINUTE);
    // The deriver's own still holds its text: saying it again strengthens it.
    say(&rig, "s", "maya", &["maya is shy"]).await;
    rig.settle().await;
    let all = rig.conclusions("w", "maya", "maya").await;
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!((&all[0]["id"], &all[0]["times_derived"]), (&json!(derived), &json!(2)));
}

#[tokio::test]
async fn report_02_a_sessions_deletion_takes_what_only_it_supports_and_nothing_else() {
    let rig = rig().await;
    let run = dreamt(&rig).await;
    let session = uid(&rig, "a").await;
    let before = texts(&rig).await;
    for text in [
        "maya is an engineer at Intel, formerly Xerox",
        "maya keeps late hours",
        "maya is artistic",
        "maya is musical",
    ] {
        assert!(before.contains(&text.to_owned()), "{before:?}");
    }
    delete_a(&rig).await;

    assert_eq!(
        sorted(&rig).await,
        [
            // Rests on `b` too.
            "maya is artistic",
            B[2],
            B[1],
            // Said in `a`, and in other words in `b`: a dream merged them.
            "maya plays the violin",
        ]
    );
    assert_nowhere(&rig, ONLY_A).await;
    assert_nowhere(&rig, &["maya is musical"]).await;
    assert_no_collection(&rig, &session).await;
    assert_counts(&rig).await;
    let violin = id_of(&rig, "maya plays the violin").await;
    let violin = rig.get(&format!("/v3/workspaces/w/conclusions/{violin}")).await;
    assert_eq!(violin["session_id"], "b", "it points to a session that is left");

    let sessions = rig.post("/v3/workspaces/w/peers/maya/sessions", json!({})).await;
    assert_eq!(
        (&sessions["total"], &sessions["items"][0]["id"]),
        (&json!(1), &json!("b"))
    );
    let sessions = rig.post("/v3/workspaces/w/sessions/list", json!({})).await;
    assert_eq!(
        (&sessions["total"], &sessions["items"][0]["id"]),
        (&json!(1), &json!("b"))
    );
    assert_eq!(card(&rig).await, json!(["ATTRIBUTE: paints"]));
    let messages = rig.post("/v3/workspaces/w/sessions/b/messages/list", json!({})).await;
    assert_eq!(messages["total"], B.len());

    // The run says what it did and that it can no longer be read.
    let detail = detail(&rig, &run).await;
    assert_eq!(created(&detail), ["-", "-", "-", "maya is artistic"]);
    assert_eq!(removed(&detail), ["-", B[0]]);
    assert_eq!(detail["created"][0]["conclusion"]["status"], "unavailable");
    assert_eq!(detail["created"][3]["sources"][0]["status"], "unavailable");
    assert_eq!(detail["created"][3]["sources"][0]["content"], Value::Null);
    assert_eq!(detail["peer_card"]["after"], json!(["ATTRIBUTE: paints"]));
    assert_eq!(
        (&detail["created_count"], &detail["removed_count"]),
        (&json!(4), &json!(2))
    );
}

#[tokio::test]
async fn h35_the_barrier_is_up_before_the_answer_is_given() {
    let rig = rig().await;
    told(&rig).await;
    let message = id(&list(&rig.post("/v3/workspaces/w/sessions/a/messages/list", json!({})).await["items"])[0]);
    assert_eq!(delete(&rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
    // The job has not begun, and nothing of the session is to be had, nor can anything be put into it.
    let body = json!({"messages": [{"peer_id": "maya", "content": "maya is late"}]});
    let stated =
        json!({"conclusions": [{"content": "x", "observer_id": "maya", "observed_id": "maya", "session_id": "a"}]});
    for (method, path, body) in [
        ("POST", "/sessions/a/messages", body),
        ("POST", "/sessions/a/messages/list", json!({})),
        ("GET", &format!("/sessions/a/messages/{message}"), Value::Null),
        (
            "PUT",
            &format!("/sessions/a/messages/{message}"),
            json!({"metadata": {"a": 1}}),
        ),
        ("GET", "/sessions/a/peers", Value::Null),
        ("POST", "/sessions/a/peers", json!({"maya": {}})),
        ("PUT", "/sessions/a/peers", json!({"maya": {}})),
        ("PUT", "/sessions/a/peers/maya/config", json!({"observe_me": false})),
        ("PUT", "/sessions/a", json!({"metadata": {}})),
        ("POST", "/sessions", json!({"id": "a"})),
        ("POST", "/conclusions", stated),
        (
            "POST",
            "/schedule_dream",
            json!({"observer": "maya", "dream_type": "omni", "session_id": "a"}),
        ),
        ("DELETE", "/sessions/a", Value::Null),
    ] {
        let body = (!body.is_null()).then_some(body);
        let (status, answer) = rig.call(method, &format!("/v3/workspaces/w{path}"), body).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}: {answer}");
    }
    let sessions = rig.post("/v3/workspaces/w/sessions/list", json!({})).await;
    assert_eq!(sessions["total"], 1);
    let sessions = rig.post("/v3/workspaces/w/peers/maya/sessions", json!({})).await;
    assert_eq!(sessions["total"], 1);
    let queue = rig.get("/v3/workspaces/w/queue/status").await;
    assert_eq!(queue["pending_work_units"], 0, "{queue}");
}

#[tokio::test]
async fn h35_a_session_of_the_same_name_inherits_nothing_and_may_say_the_same_again() {
    let rig = rig().await;
    dreamt(&rig).await;
    delete_a(&rig).await;
    let none = rig.post("/v3/workspaces/w/sessions", json!({"id": "a"})).await;
    assert_eq!(none["metadata"], json!({}));
    let messages = rig.post("/v3/workspaces/w/sessions/a/messages/list", json!({})).await;
    assert_eq!(messages["total"], 0);
    // No tombstone: the words come back with whoever says them again.
    say(&rig, "a", "maya", &A[..1]).await;
    rig.settle().await;
    assert!(texts(&rig).await.contains(&A[0].to_owned()));
    assert_counts(&rig).await;
}

#[tokio::test]
async fn h35_what_a_client_stated_for_the_session_goes_and_what_it_stated_for_none_stays() {
    let rig = crate::checklist::scripted(Scripted::thinking(|request| {
        // Everything of one representation says the same, and one thing follows from it.
        let all: Vec<_> = request.conclusions.iter().map(|c| c.id.clone()).collect();
        let operations = match (request.phase, all.split_first()) {
            (Phase::Deduction, Some((keep, rest))) if request.turn == 0 => vec![
                Operation::Create {
                    level: Level::Deductive,
                    content: "maya yodels".into(),
                    sources: all.clone(),
                    pattern: None,
                    replaces: Vec::new(),
                },
                Operation::Merge {
                    keep: keep.clone(),
                    duplicates: rest.to_vec(),
                },
            ],
            _ => Vec::new(),
        };
        Ok(Thought {
            operations,
            done: true,
            ..Thought::default()
        })
    }))
    .await;
    for peer in ["maya", "tom"] {
        say(&rig, "a", peer, &["hello"]).await;
    }
    rig.settle().await;
    let state = async |observer: &str, texts: &[(&str, Option<&str>)]| {
        let all: Vec<_> = texts
            .iter()
            .map(|(text, session)| json!({"content": text, "observer_id": observer, "observed_id": "maya", "session_id": session}))
            .collect();
        rig.post("/v3/workspaces/w/conclusions", json!({ "conclusions": all }))
            .await;
    };
    state(
        "tom",
        &[("maya plays the violin", Some("a")), ("maya owns a violin", None)],
    )
    .await;
    let body = json!({"observer": "tom", "observed": "maya", "dream_type": "omni"});
    rig.post("/v3/workspaces/w/schedule_dream", body).await;
    rig.settle().await;
    state("tom", &[("maya is shy", Some("a")), ("maya is bold", None)]).await;
    let views = async || {
        let mut all = rig.texts("w", "tom", "maya").await;
        all.sort();
        all
    };
    let merged = views().await[2].clone();
    assert_eq!(views().await, ["maya is bold", "maya is shy", &merged, "maya yodels"]);
    delete_a(&rig).await;
    assert_eq!(
        views().await,
        ["maya is bold", &merged, "maya yodels"],
        "what the client stated for no session supports what was merged with it and what follows from it"
    );
    assert_nowhere(&rig, &["maya is shy"]).await;
    assert_counts(&rig).await;
}

#[tokio::test]
async fn h35_what_a_dry_run_planned_from_it_goes_too() {
    let rig = rig().await;
    told(&rig).await;
    let body = json!({"observer": "maya", "dream_type": "omni", "dry_run": true});
    let run = id(&rig.post("/v3/workspaces/w/schedule_dream", body).await);
    rig.settle().await;
    assert_eq!(created(&detail(&rig, &run).await).len(), 4);
    delete_a(&rig).await;
    assert_nowhere(&rig, ONLY_A).await;
    let detail = detail(&rig, &run).await;
    assert_eq!(created(&detail), ["-", "-", "-", "maya is artistic"]);
    let status = |place: usize| detail["created"][place]["conclusion"]["status"].clone();
    assert_eq!((status(0), status(3)), (json!("unavailable"), json!("planned")));
    assert_eq!(strings(&detail["peer_card"]["after"]), ["ATTRIBUTE: paints"]);
}

#[tokio::test]
async fn h35_an_undo_brings_nothing_back_that_only_a_deleted_session_supported() {
    let rig = rig().await;
    let run = dreamt(&rig).await;
    delete_a(&rig).await;
    rig.post(&format!("/v3/workspaces/w/dreams/{run}/undo"), Value::Null)
        .await;
    assert_eq!(rig.settle().await, 0);
    assert_eq!(newest(&rig).await["status"], "completed");
    assert_nowhere(&rig, ONLY_A).await;
    // What `b` said and the dream had merged is back; what followed from both is taken back.
    assert_eq!(sorted(&rig).await, [B[2], B[0], B[1], "maya plays the violin"]);
    assert_counts(&rig).await;
}

#[tokio::test]
async fn h35_an_undo_that_comes_while_the_session_is_deleted_waits_for_it() {
    let rig = rig().await;
    let run = dreamt(&rig).await;
    rig.post(&format!("/v3/workspaces/w/dreams/{run}/undo"), Value::Null)
        .await;
    // Its letter and the reconciler's are far; the undo comes first.
    rig.faults.replan(|_, name| {
        if name == "SendMessage" {
            Fault::Fail
        } else {
            Fault::None
        }
    });
    assert_eq!(delete(&rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
    rig.faults.replan(|_, _| Fault::None);
    assert_eq!(rig.settle().await, 1, "it waits");
    rig.pass(2 * MINUTE);
    rig.engine.reconcile().await.unwrap();
    for _ in 0..3 {
        rig.advance(MINUTE).await;
    }
    assert_eq!(newest(&rig).await["status"], "completed");
    assert_eq!(newest(&rig).await["conflicts"], json!([]));
    assert_nowhere(&rig, ONLY_A).await;
}

#[tokio::test]
async fn h29_conclusions_that_went_with_their_session_are_unavailable_in_the_list_of_dreams_too() {
    let rig = rig().await;
    let run = dreamt(&rig).await;
    let before = listed(&rig, "observer=maya").await;
    delete_a(&rig).await;
    assert_eq!(listed(&rig, "observer=maya").await, before, "counts are of what it did");
    assert_eq!(before[0]["id"], json!(run));
}

#[tokio::test]
async fn a_lost_letter_of_a_deletion_is_made_good_by_the_reconciler() {
    let rig = rig().await;
    dreamt(&rig).await;
    let session = uid(&rig, "a").await;
    rig.faults.replan(|_, name| {
        if name == "SendMessage" {
            Fault::Fail
        } else {
            Fault::None
        }
    });
    assert_eq!(delete(&rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
    rig.faults.replan(|_, _| Fault::None);
    rig.settle().await;
    assert!(!holding(&rig, "Intel").await.is_empty());
    assert_eq!(
        rig.engine.reconcile().await.unwrap().erasures,
        0,
        "it is given a minute"
    );
    rig.pass(2 * MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap().erasures, 1);
    rig.settle().await;
    assert_nowhere(&rig, ONLY_A).await;
    assert_no_collection(&rig, &session).await;
    assert_eq!(rig.engine.reconcile().await.unwrap().erasures, 0);
}

#[tokio::test]
async fn a_deletion_that_takes_longer_than_a_delivery_is_handed_on() {
    let rig = rig().await;
    for part in 0..5 {
        let texts: Vec<String> = (0..40)
            .map(|number| format!("maya noted fact {part} {number}"))
            .collect();
        say(&rig, "a", "maya", &texts).await;
        say(&rig, "a", "tom", &texts).await;
    }
    rig.settle().await;
    let clock = Arc::clone(&rig.clock);
    rig.faults.replan(move |_, _| {
        clock.pass(Duration::from_secs(5));
        Fault::None
    });
    assert_eq!(delete(&rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
    rig.settle().await;
    let sent = rig.faults.calls().iter().filter(|call| *call == "SendMessage").count();
    assert!(sent >= 3, "{sent} messages");
    assert_nowhere(&rig, &["maya noted"]).await;
    assert_counts(&rig).await;
}

#[tokio::test]
async fn other_sessions_of_the_workspace_and_other_workspaces_are_left_as_they_were() {
    let rig = rig().await;
    say_in(&rig, "other", "a", "maya", A).await;
    say(&rig, "c", "tom", &["tom works at Intel"]).await;
    dreamt(&rig).await;
    let (others, c) = (
        async || {
            let mut items = rig.items().await;
            let kept = |item: &Value| item.to_string().contains("tom") && item["type"] != "peer";
            items.retain(kept);
            items
                .iter()
                .map(Value::to_string)
                .collect::<std::collections::BTreeSet<_>>()
        },
        uid(&rig, "c").await,
    );
    let before = (others().await, rig.texts("other", "maya", "maya").await);
    delete_a(&rig).await;
    assert_eq!((others().await, rig.texts("other", "maya", "maya").await), before);
    assert!(!before.0.is_empty() && before.1.len() == A.len() && !c.is_empty());
}

#[tokio::test]
async fn h35_messages_that_could_not_be_derived_from_go_with_their_session() {
    // What maya says, and nothing else: of a reasoner that refuses everything no message is parked.
    let refusing = Scripted::idle().deriving(|request| match request.messages {
        [message, ..] if message.peer.as_str() == "maya" => Err(ReasonerError::permanent("refused")),
        _ => Ok(Derived::default()),
    });
    let rig = crate::checklist::scripted(refusing).await;
    for session in ["a", "b"] {
        say(&rig, session, "maya", &A[..1]).await;
    }
    rig.settle().await;
    let parked = async || rig.items().await.iter().filter(|item| item["type"] == "parked").count();
    assert_eq!(parked().await, 2);
    let session = uid(&rig, "a").await;
    delete_a(&rig).await;
    assert_eq!(parked().await, 1);
    assert_no_collection(&rig, &session).await;
}

#[tokio::test]
async fn report_02_after_an_undone_merge_each_session_supports_its_own_words_again() {
    for (gone, left) in [("a", B[0]), ("b", A[2])] {
        let rig = rig().await;
        let run = dreamt(&rig).await;
        rig.post(&format!("/v3/workspaces/w/dreams/{run}/undo"), Value::Null)
            .await;
        assert_eq!(rig.settle().await, 0);
        assert_eq!(delete(&rig, &format!("/w/sessions/{gone}")).await, StatusCode::ACCEPTED);
        assert_eq!(rig.settle().await, 0);
        let said = if gone == "a" { B } else { A };
        let mut said: Vec<&str> = said.to_vec();
        said.sort_unstable();
        assert_eq!(sorted(&rig).await, said);
        assert!(said.contains(&left));
        assert_counts(&rig).await;
    }
}

#[tokio::test]
async fn report_02_what_a_dream_merged_goes_with_the_last_session_that_said_it() {
    let rig = rig().await;
    dreamt(&rig).await;
    // The words that stayed were said in `a`; `b` said the same in others.
    assert_eq!(delete(&rig, "/w/sessions/b").await, StatusCode::ACCEPTED);
    assert_eq!(rig.settle().await, 0);
    assert!(texts(&rig).await.contains(&"maya plays the violin".to_owned()));
    assert_nowhere(
        &rig,
        &["maya owns a violin", "maya paints on Sundays", "maya loves paint"],
    )
    .await;
    delete_a(&rig).await;
    assert_eq!(texts(&rig).await, [""; 0]);
    assert_nowhere(&rig, ONLY_A).await;
    assert_nowhere(&rig, &["violin", "musical", "artistic"]).await;
    assert_counts(&rig).await;
}

#[tokio::test]
async fn report_02_the_same_words_in_two_sessions_are_supported_by_each_on_its_own() {
    let rig = crate::checklist::quiet().await;
    for session in ["a", "b"] {
        say(&rig, session, "maya", &["maya is shy", "maya is shy"]).await;
    }
    // A client states them for `a`, too, and for none.
    let of = |session: Value| json!({"content": "maya is shy", "observer_id": "maya", "observed_id": "maya", "session_id": session});
    rig.settle().await;
    let body = json!({"conclusions": [of(json!("a")), of(Value::Null)]});
    rig.post("/v3/workspaces/w/conclusions", body).await;
    let left = async || {
        let all = rig.conclusions("w", "maya", "maya").await;
        let mut sessions: Vec<_> = all.iter().map(|conclusion| conclusion["session_id"].clone()).collect();
        sessions.sort_by_key(ToString::to_string);
        sessions
    };
    assert_eq!(left().await, [json!("a"), json!("a"), json!("b"), Value::Null]);
    delete_a(&rig).await;
    assert_eq!(left().await, [json!("b"), Value::Null]);
    assert_eq!(delete(&rig, "/w/sessions/b").await, StatusCode::ACCEPTED);
    rig.settle().await;
    assert_eq!(left().await, [Value::Null]);
    assert_counts(&rig).await;
}
