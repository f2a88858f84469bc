use super::*;

const WORK: &[&str] = &[
    "sam works at Acme",
    "sam works at Beta",
    "sam works for Beta",
    "sam lives in Oslo",
];

fn update(dream: &Dream) -> (&'static str, Value) {
    (
        "create_deduction",
        json!({
            "content": "sam works at Beta, formerly at Acme",
            "sources": [dream.id("sam works at Beta")],
            "replaces": [{"id": dream.id("sam works at Acme"), "reason": "superseded"}],
        }),
    )
}

#[test]
fn a_phase_is_one_conversation_in_which_the_model_hears_what_became_of_its_calls() {
    let probe = Dream::over(WORK, []);
    let merge = json!({"keep": probe.id("sam works at Beta"), "duplicates": [probe.id("sam works for Beta")]});
    let card =
        json!({"entries": [{"text": "IDENTITY: Works at Beta", "conclusions": [probe.id("sam works at Beta")]}]});
    let mut dream = Dream::over(
        WORK,
        [
            calling(&[("search", json!({"query": "work"})), update(&probe), ("merge", merge)]),
            calling(&[("write_card", card), ("finish", json!({}))]),
        ],
    );
    let went = dream.run();
    assert_eq!(went.error, None);
    let mut texts = dream.texts();
    texts.sort_unstable();
    assert_eq!(
        texts,
        [
            "sam lives in Oslo",
            "sam works at Beta",
            "sam works at Beta, formerly at Acme"
        ]
    );
    assert_eq!(dream.card(), ["IDENTITY: Works at Beta"]);
    let asked = dream.model.asked();
    assert_eq!(asked.len(), 2, "finish in the last answer costs no further call");
    assert_eq!(went.thoughts.len(), 3);
    assert!(went.thoughts[2].done && went.thoughts[2].usage.total() == 0);
    // The second request continues the first: what was cached is read again.
    assert_eq!(asked[1].messages[..1], asked[0].messages[..]);
    assert_eq!(asked[1].system, asked[0].system);
    assert_eq!(asked[1].tools, asked[0].tools);
    let told = results(last(&asked[1]));
    assert_eq!(told.len(), 3, "every call is answered");
    assert!(
        told[0].content.contains("sam works at Beta"),
        "what the search found: {}",
        told[0].content
    );
    let created = dream.id("sam works at Beta, formerly at Acme");
    assert_eq!(told[1].content, format!("created as [{created}]"));
    assert_eq!(told[2].content, "done");
}

#[test]
fn a_refused_call_is_told_why_and_can_be_mended() {
    let probe = Dream::over(WORK, []);
    let (a, b, oslo) = (
        probe.id("sam works at Acme"),
        probe.id("sam works at Beta"),
        probe.id("sam lives in Oslo"),
    );
    let contradiction = json!({"content": "sam works at Acme and at Beta", "sources": [a, a]});
    let mut dream = Dream::over(
        WORK,
        [
            calling(&[
                ("create_contradiction", contradiction),
                ("remove", json!({"ids": ["zzzzzz"], "reason": "other"})),
                ("merge", json!({"keep": oslo, "duplicates": [oslo]})),
                ("finish", json!({})),
            ]),
            calling(&[(
                "create_contradiction",
                json!({"content": "sam works at Acme and at Beta", "sources": [a, b]}),
            )]),
            saying("Done."),
        ],
    );
    let went = dream.run();
    assert_eq!(went.error, None);
    let asked = dream.model.asked();
    assert_eq!(asked.len(), 3, "finish does not hold while something is to be mended");
    let told = results(last(&asked[1]));
    assert!(
        told[0].is_error && told[0].content.contains("needs 2 sources"),
        "{}",
        told[0].content
    );
    assert!(told[1].is_error && told[1].content.contains("no conclusion \"zzzzzz\""));
    assert!(told[2].is_error && told[2].content.contains("cannot stand in for itself"));
    assert_eq!(told[3].content, "not yet: see the other results");
    assert_eq!(dream.texts().len(), 5);
}

#[test]
fn the_last_turn_has_no_tools_and_a_model_that_goes_round_in_circles_has_failed() {
    let again = || calling(&[("search", json!({"query": "work"}))]);
    let mut dream = Dream::over(
        WORK,
        std::iter::repeat_with(again).take(11).chain([saying("I looked.")]),
    );
    let went = dream.run();
    let asked = dream.model.asked();
    assert_eq!(asked.len(), 12);
    assert!(
        asked[..11]
            .iter()
            .all(|request| request.tool_choice == ToolChoice::Auto)
    );
    assert_eq!(asked[11].tool_choice, ToolChoice::None);
    assert!(text(last(&asked[11])).contains("last turn"));
    assert!(
        matches!(&went.error, Some(ReasonerError::Permanent { reason, .. }) if reason.contains("asked for nothing")),
        "{:?}",
        went.error
    );
    assert_eq!(dream.texts(), WORK, "memory is intact");
}

#[test]
fn a_model_that_only_makes_mistakes_has_failed() {
    for calls in [
        vec![("remove", json!({"ids": ["zzzzzz"], "reason": "other"}))],
        vec![("format_disk", json!({}))],
        vec![("merge", json!("not an object"))],
    ] {
        let mut dream = Dream::over(WORK, [calling(&calls), saying("Done.")]);
        let error = dream.run().error;
        assert!(
            matches!(&error, Some(ReasonerError::Permanent { reason, usage }) if reason.contains("none of the model's calls")
                && usage.total() > 0),
            "{error:?}"
        );
        assert_eq!(dream.texts(), WORK);
    }
}

#[test]
fn an_answer_of_nothing_or_a_refusal_is_no_good_dream_and_a_plain_no_is() {
    let refusal = Response {
        stop: StopReason::Refusal,
        ..saying("I cannot help with that.")
    };
    for (answer, reason) in [(saying(""), "answered nothing"), (refusal, "refuses")] {
        let mut dream = Dream::over(WORK, [answer]);
        let error = dream.run().error;
        assert!(
            matches!(&error, Some(ReasonerError::Permanent { reason: said, .. }) if said.contains(reason)),
            "{error:?}"
        );
    }
    for answer in [saying("The memory is in order."), calling(&[("finish", json!({}))])] {
        let mut dream = Dream::over(WORK, [answer]);
        assert_eq!(dream.run().error, None);
        assert_eq!(dream.texts(), WORK);
        assert_eq!(dream.model.asked().len(), 1);
    }
}

#[test]
fn a_call_that_is_cut_off_does_nothing_and_those_before_it_count() {
    let probe = Dream::over(WORK, []);
    let mut cut = calling(&[
        update(&probe),
        (
            "remove",
            json!({"ids": [probe.id("sam lives in Oslo")], "reason": "other"}),
        ),
    ]);
    cut.stop = StopReason::MaxTokens;
    let talk = Response {
        stop: StopReason::MaxTokens,
        ..saying("Let me think about all of this at great")
    };
    let mut dream = Dream::over(WORK, [cut, talk, calling(&[("finish", json!({}))])]);
    let went = dream.run();
    assert_eq!(went.error, None);
    assert!(dream.texts().contains(&"sam lives in Oslo"), "half a call is no call");
    assert!(dream.texts().contains(&"sam works at Beta, formerly at Acme"));
    let asked = dream.model.asked();
    let told = results(last(&asked[1]));
    assert!(told[1].is_error && told[1].content.contains("cut off"));
    assert!(text(last(&asked[2])).contains("cut off"));
}

#[test]
fn nothing_new_and_nothing_there_cost_no_call() {
    let mut dream = Dream::over(WORK, []);
    dream.nothing_new = true;
    for phase in [Phase::Deduction, Phase::Induction] {
        dream.phase = phase;
        assert!(dream.run().thoughts[0].done);
    }
    let mut alone = Dream::over(&WORK[..1], []).of(Phase::Induction);
    assert!(alone.run().thoughts[0].done, "one conclusion shows no pattern");
    let mut none = Dream::over(&[], []);
    assert!(none.run().thoughts[0].done);
    let mut card = Dream::over(WORK, []).of(Phase::Card);
    card.card_allowed = false;
    assert!(card.run().thoughts[0].done);
}

#[test]
fn results_are_bounded_however_much_is_called_for() {
    let long: Vec<String> = (0..100).map(|n| format!("sam wrote {n} {}", "x".repeat(700))).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let list = ("list", json!({"limit": 40}));
    let mut dream = Dream::over(&long, [calling(&vec![list; 60]), calling(&[("finish", json!({}))])]);
    assert_eq!(dream.run().error, None);
    let asked = dream.model.asked();
    let told = results(last(&asked[1]));
    assert_eq!(told.len(), 60, "every call is answered");
    let size: usize = told.iter().map(|result| result.content.len()).sum();
    assert!(size < 70_000, "{size}");
    assert!(told[30].is_error && told[30].content.contains("left out"));
    assert!(told[59].is_error && told[59].content.contains("at most 40 calls"));
}

#[test]
fn a_memory_of_five_thousand_is_shown_by_hints_and_what_is_new() {
    let mut texts: Vec<String> = (0..4_998)
        .map(|n| format!("sam read book number {n} by author {}", n * 7))
        .collect();
    texts.push("sam works at Acme".to_owned());
    texts.push("sam works at Beta now".to_owned());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut dream = Dream::over(&texts, [calling(&[("finish", json!({}))])]);
    dream.last_dream_at = Some(day(4_990));
    assert_eq!(dream.run().error, None);
    let opening = text(&dream.model.asked()[0].messages[0]);
    assert!(opening.len() < 36_000, "{}", opening.len());
    assert!(opening.contains("9 of its conclusions are newer"));
    assert!(opening.contains("of the 5000 conclusions of the memory are shown"));
    let hints = opening.split("</hints>").next().unwrap();
    assert!(
        hints.contains("sam works at Acme") && hints.contains("sam works at Beta now"),
        "{hints}"
    );
}

#[test]
fn a_turn_that_was_stored_is_remembered_word_for_word() {
    let thinking = Content::Opaque {
        model: "scripted".to_owned(),
        block: json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
    };
    let mut first = calling(&[("search", json!({"query": "work"}))]);
    first.content.insert(0, thinking.clone());
    let mut dream = Dream::over(WORK, [first, saying("All is well.")]);
    let went = dream.run();
    assert_eq!(went.error, None);
    let asked = dream.model.asked();
    assert_eq!(asked[1].messages[1].content[0], thinking, "sent back as it came");
    // What an offline turn left is nothing: the conversation begins anew.
    let after_another = Dream::over(WORK, [saying("All is well.")]);
    assert!(after_another.think(1, &[Value::Null], &[]).unwrap().done);
    let unreadable = [json!({"what": "is this"})];
    let error = dream.think(1, &unreadable, &[]).unwrap_err();
    assert!(error.is_permanent());
}
