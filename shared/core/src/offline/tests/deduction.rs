//! Checklist rows H1 to H4 and reports 10, 13, 14, 16, 17, 18, 21.

use super::{World, day};
use crate::conclusion::{CardEntry, Level};
use crate::run::{Phase, RemovalReason};
use crate::toolbox::Operation;

/// A person who changes job, city and partner over six sessions.
fn a_life() -> World {
    let mut world = World::new();
    world.hear(
        1,
        &[
            "Hi! I'm Maya. My name is Maya Lopez.",
            "I work at Intel as an engineer.",
            "I live in Lisbon with my cat.",
        ],
    );
    world.hear(
        30,
        &["I'm engaged to Tom.", "I love Chinese food.", "I'm 31 years old."],
    );
    world.hear(60, &["I moved to Oslo last week!", "I have a daughter named Ines."]);
    world.hear(
        90,
        &[
            "I started working at Qualcomm.",
            "I hate Chinese food now.",
            "I'm allergic to peanuts.",
        ],
    );
    world.hear(
        120,
        &[
            "I got married yesterday!",
            "I just turned 32.",
            "Please always answer in English.",
        ],
    );
    world.hear(
        150,
        &[
            "I now work at Apple.",
            "I live in Oslo.",
            "I still live in Oslo, by the way.",
        ],
    );
    world
}

#[test]
fn h1_outdated_facts_go_and_the_current_state_is_created() {
    let mut world = a_life();
    world.dream_to_rest();
    for content in [
        "maya now works at Apple (formerly Qualcomm).",
        "maya now lives in Oslo (formerly Lisbon).",
        "maya is now 32 years old (formerly 31).",
        "maya lives in Norway.",
        "maya is a parent.",
    ] {
        assert!(world.holds(content), "{content}: {:#?}", world.texts(Level::Deductive));
    }
    for content in [
        "maya works at Intel as an engineer.",
        "maya started working at Qualcomm.",
        "maya lives in Lisbon with their cat.",
        "maya loves Chinese food.",
        "maya is 31 years old.",
        "maya lives in Portugal.",
    ] {
        assert!(!world.holds(content), "{content}");
    }
}

#[test]
fn report_17_a_new_job_replaces_the_old_one_and_a_third_replaces_both() {
    let mut world = World::stating(&[
        (1, "maya works at Intel as an engineer."),
        (2, "maya moved to Qualcomm."),
    ]);
    world.dream_to_rest();
    assert!(world.holds("maya now works at Qualcomm (formerly Intel)."));
    assert_eq!(
        world.removed,
        [(
            "maya works at Intel as an engineer.".to_owned(),
            RemovalReason::Superseded,
            Some("maya now works at Qualcomm (formerly Intel).".to_owned())
        )]
    );
    world.state(3, "maya works at Apple.");
    world.dream_to_rest();
    assert!(world.holds("maya now works at Apple (formerly Qualcomm)."));
    assert!(!world.holds("maya now works at Qualcomm (formerly Intel).") && !world.holds("maya moved to Qualcomm."));
}

#[test]
fn event_time_decides_and_not_arrival() {
    let mut world = World::stating(&[(9, "maya works at Qualcomm.")]);
    let late = world.state(2, "maya works at Intel.");
    // It arrives last, and speaks of an earlier time.
    for conclusion in &mut world.conclusions {
        if conclusion.id == late {
            conclusion.created_at = day(20);
        }
    }
    world.dream_to_rest();
    assert!(world.holds("maya now works at Qualcomm (formerly Intel)."));
    // A straggler of the past changes nothing about the present, and goes.
    world.state(4, "maya works at Siemens.");
    world.dream_to_rest();
    assert!(world.holds("maya now works at Qualcomm (formerly Intel).") && !world.holds("maya works at Siemens."));
}

#[test]
fn the_end_of_a_fact_removes_it() {
    let mut world = World::stating(&[(1, "maya works at Intel."), (2, "maya no longer works at Intel.")]);
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Explicit), ["maya no longer works at Intel."]);
    assert!(world.card().is_empty());
}

#[test]
fn report_14_unrelated_facts_never_retire_each_other() {
    let statements = [
        (1, "Alice works at Acme."),
        (2, "Bob lives in Oslo."),
        (3, "maya works at Intel."),
        (4, "maya's sister works at Google."),
        (5, "maya lives in Lisbon."),
        (6, "maya also works part-time at Nokia."),
        (7, "maya used to work at Sony."),
        (8, "maya wants to live in Lima."),
        (9, "maya lives in Portugal."),
    ];
    let mut world = World::stating(&statements);
    world.dream_to_rest();
    assert_eq!(world.removed, []);
    assert_eq!(world.texts(Level::Contradiction), Vec::<&str>::new());
}

#[test]
fn report_16_the_newer_of_two_opposite_attitudes_stays() {
    let mut world = World::stating(&[(1, "maya loves Chinese food."), (2, "maya hates Chinese food.")]);
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Explicit), ["maya hates Chinese food."]);
    assert_eq!(
        world.removed,
        [(
            "maya loves Chinese food.".to_owned(),
            RemovalReason::Contradicted,
            Some("maya hates Chinese food.".to_owned())
        )]
    );
}

#[test]
fn h3_what_cannot_be_resolved_is_surfaced_and_nothing_deleted() {
    for (a, b) in [
        ("maya loves opera.", "maya hates opera."),
        ("maya works at Intel.", "maya works at Nokia."),
        ("maya drinks coffee.", "maya does not drink coffee."),
        ("maya can swim.", "maya cannot swim."),
        ("maya has a dog.", "maya does not have a dog."),
    ] {
        let mut world = World::stating(&[(1, a), (1, b)]);
        world.dream_to_rest();
        assert_eq!(world.texts(Level::Explicit).len(), 2, "{a} {b}");
        let stated = world.texts(Level::Contradiction);
        assert_eq!(stated.len(), 1, "{a} {b}");
        for side in [a, b] {
            assert!(stated[0].contains(side.trim_end_matches('.')), "{stated:?}");
        }
    }
}

#[test]
fn a_resolved_contradiction_goes() {
    let mut world = World::stating(&[(1, "maya works at Intel."), (1, "maya works at Nokia.")]);
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Contradiction).len(), 1);
    world.state(5, "maya works at Apple.");
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Contradiction), Vec::<&str>::new());
}

#[test]
fn h2_implications_name_their_premises_and_are_not_said_twice() {
    let mut world = World::stating(&[
        (1, "maya works as a nurse."),
        (2, "maya is married to Tom."),
        (3, "maya lives in Lisbon."),
    ]);
    world.dream_to_rest();
    for (content, premise) in [
        ("maya works in health care.", "maya works as a nurse."),
        ("maya is married.", "maya is married to Tom."),
        ("maya lives in Portugal.", "maya lives in Lisbon."),
    ] {
        let implied = world.conclusions.iter().find(|c| c.content == content).expect(content);
        let sources: Vec<_> = implied
            .sources
            .iter()
            .map(|id| world.find(id).content.as_str())
            .collect();
        assert_eq!(sources, [premise]);
    }
    // Said already (report 21).
    let mut world = World::stating(&[(1, "maya is a parent."), (2, "maya has a daughter.")]);
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Deductive), Vec::<&str>::new());
}

#[test]
fn what_followed_from_an_outdated_fact_goes_with_it() {
    let mut world = World::stating(&[(1, "maya lives in Lisbon."), (1, "maya works as a nurse.")]);
    world.dream_to_rest();
    world.state(9, "maya moved to Berlin.");
    world.state(9, "maya became a teacher.");
    world.dream_to_rest();
    assert!(!world.holds("maya lives in Portugal.") && !world.holds("maya works in health care."));
    assert!(world.holds("maya lives in Germany.") && world.holds("maya works in education."));
}

#[test]
fn a_statement_that_says_more_is_not_lost_with_its_fact() {
    let mut world = World::stating(&[
        (1, "maya works at Intel and loves the canteen."),
        (9, "maya works at Nokia."),
    ]);
    world.dream_to_rest();
    assert!(world.holds("maya works at Intel and loves the canteen."));
    assert!(world.holds("maya now works at Nokia (formerly Intel)."));
    assert_eq!(world.card(), ["IDENTITY: Works at Nokia"]);
}

#[test]
fn report_10_one_statement_of_five_sessions_becomes_one_conclusion_with_five_supports() {
    let variants = [
        "maya likes long walks.",
        "Maya likes long walks",
        "maya really likes long walks.",
        "maya likes  long walks!",
        "maya likes long walks.",
    ];
    let mut world = World::new();
    for (number, text) in (1..).zip(variants) {
        world.state(number, text);
    }
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Explicit).len(), 1);
    let kept = &world.conclusions[0];
    assert_eq!((kept.support.len(), kept.times_derived, kept.event_at), (5, 5, day(5)));
}

#[test]
fn the_fuller_of_two_wordings_stays() {
    let mut world = World::stating(&[
        (1, "maya has really been to the new zoo."),
        (2, "maya has been to a new zoo."),
    ]);
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Explicit), ["maya has really been to the new zoo."]);
}

#[test]
fn report_13_variants_of_one_chinese_sentence_merge() {
    let variants = [
        "maya: 将间隔时间改回2秒，重新加载完成（PID 26061）。",
        "maya: 将间隔时间改回 2 秒, 重新加载完成 (PID 26061)",
        "maya: 把间隔时间改回2秒，重新加载完成了（PID 26061）",
        "maya: 间隔时间已改回２秒，重新加载完成（PID 26061）。",
    ];
    let mut world = World::new();
    for (number, text) in (1..).zip(variants) {
        world.state(number, text);
    }
    let other = world.state(7, "maya: 将间隔时间改回3秒，重新加载完成（PID 26061）。");
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Explicit).len(), 2);
    assert!(world.conclusions.iter().any(|c| c.id == other));
}

#[test]
fn report_18_both_scripts_of_a_text_decide() {
    let mut world = World::stating(&[
        (1, "maya: 你好 SQLite"),
        (2, "maya: 您好 SQLite"),
        (3, "maya: 再见 SQLite"),
    ]);
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Explicit).len(), 3);
}

#[test]
fn duplicates_of_an_older_home_do_not_move_the_peer_back() {
    let mut world = World::stating(&[
        (1, "maya really lives in Lisbon."),
        (2, "maya lives in Oslo."),
        (3, "maya lives in Lisbon."),
    ]);
    world.dream_to_rest();
    assert!(world.holds("maya now lives in Lisbon (formerly Oslo)."));
    assert_eq!(world.card(), ["IDENTITY: Lives in Lisbon"]);
}

#[test]
fn h4_the_card_says_who_the_peer_is_and_names_its_conclusions() {
    let mut world = a_life();
    world.dream_to_rest();
    assert_eq!(
        world.card(),
        [
            "IDENTITY: Lives in Oslo",
            "IDENTITY: Works at Apple",
            "RELATIONSHIP: Status: married",
            "IDENTITY: Age: 32 (2024-04-29)",
            "IDENTITY: Name: Maya Lopez",
            "RELATIONSHIP: Has a daughter, Ines",
            "ATTRIBUTE: Allergic to peanuts",
            "INSTRUCTION: Asks: please always answer in English",
            "RELATIONSHIP: Partner: Tom",
        ]
    );
    for entry in world.card.iter().flatten() {
        assert!(!entry.conclusions.is_empty(), "{entry:?}");
        entry.conclusions.iter().for_each(|id| _ = world.find(id));
    }
}

#[test]
fn the_card_keeps_what_a_client_wrote_and_drops_what_is_gone() {
    let mut world = World::stating(&[(1, "maya lives in Lisbon.")]);
    let gone = world.state(1, "maya works at Intel.");
    let read = world.state(2, "maya reads a lot.");
    let entry = |text: &str, conclusions: Vec<_>| CardEntry {
        text: text.to_owned(),
        conclusions,
    };
    world.card = Some(vec![
        entry("ATTRIBUTE: Prefers tea", Vec::new()),
        entry("IDENTITY: Works at Intel", vec![gone]),
        entry("ATTRIBUTE: A reader", vec![read]),
        entry("identity: lives in lisbon", Vec::new()),
    ]);
    world.state(9, "maya works at Nokia.");
    world.dream_to_rest();
    assert_eq!(
        world.card(),
        [
            "ATTRIBUTE: Prefers tea",
            "ATTRIBUTE: A reader",
            "identity: lives in lisbon",
            "IDENTITY: Works at Nokia"
        ]
    );
}

#[test]
fn the_card_is_left_alone_where_it_may_not_be_written() {
    let world = World::stating(&[(1, "maya lives in Lisbon.")]);
    let request = crate::reasoner::ThinkRequest {
        phase: Phase::Deduction,
        turn: 0,
        observer: &world.peer,
        observed: &world.peer,
        conclusions: &world.conclusions,
        card: None,
        card_allowed: false,
        instructions: None,
        card_instructions: None,
        last_dream_at: None,
        nothing_new: false,
        earlier: &[],
        outcomes: &[],
        messages: &crate::reasoner::NoSources,
    };
    let operations = super::super::deduce::operations(&request);
    assert!(
        !operations.iter().any(|o| matches!(o, Operation::Card { .. })),
        "{operations:?}"
    );
}

#[test]
fn restated_deadlines_keep_their_names_as_written() {
    let mut world = World::new();
    world.hear(
        1,
        &[
            "The Q3 report is due on August 15th.",
            "Priya is the lead on the payments team.",
        ],
    );
    world.hear(
        9,
        &[
            "The Q3 report deadline was pushed back to September 1st.",
            "Sam is now the lead of the payments team.",
        ],
    );
    world.dream_to_rest();
    assert_eq!(
        world.texts(Level::Deductive),
        [
            "maya: The Q3 report deadline is now September 1st (formerly August 15th).",
            "maya: Sam is now the lead of the payments team (formerly Priya).",
        ]
    );
}

#[test]
fn a_former_partner_leaves_the_card() {
    let mut world = World::stating(&[(1, "maya's wife is Ana.")]);
    world.dream_to_rest();
    assert_eq!(
        world.card(),
        ["RELATIONSHIP: Partner: Ana (wife)", "RELATIONSHIP: Status: married"]
    );
    world.state(9, "maya got divorced.");
    world.dream_to_rest();
    assert_eq!(world.card(), ["RELATIONSHIP: Status: divorced"]);
}
