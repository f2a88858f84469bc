//! Checklist row H5: what recurs.

use super::World;
use crate::conclusion::{Level, Pattern};
use crate::run::Phase;
use crate::toolbox::Operation;

#[test]
fn h5_what_recurs_on_several_occasions_becomes_a_pattern_with_its_sources() {
    let mut world = World::stating(&[
        (1, "maya painted a lake."),
        (8, "maya is painting a portrait."),
        (20, "maya paints with their daughter."),
        (21, "maya was so stressed about the deadline."),
        (40, "maya is stressed at work."),
        (41, "maya likes mountain hiking."),
        (50, "maya loves hiking in the hills."),
        (60, "maya paints to relax."),
        (70, "maya draws to unwind."),
        (71, "maya relaxes by painting."),
    ]);
    world.dream_to_rest();
    let found: Vec<(&str, Option<Pattern>, usize)> = world
        .conclusions
        .iter()
        .filter(|c| c.level == Level::Inductive)
        .map(|c| (c.content.as_str(), c.pattern, c.sources.len()))
        .collect();
    for expected in [
        ("maya often paints.", Some(Pattern::Behavior), 5),
        ("maya consistently likes hiking.", Some(Pattern::Preference), 2),
        ("maya is often stressed.", Some(Pattern::Tendency), 2),
        (
            "When in need of rest, maya turns to painting.",
            Some(Pattern::Correlation),
            2,
        ),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:#?}");
    }
}

#[test]
fn h5_traits_need_several_activities_of_a_kind() {
    let mut world = World::stating(&[
        (1, "maya painted a lake."),
        (2, "maya painted a hill."),
        (3, "maya makes pottery."),
        (4, "maya sold some pottery."),
    ]);
    world.dream_to_rest();
    assert!(world.holds("maya is a creative person."));
    let mut world = World::stating(&[
        (1, "maya painted a lake."),
        (2, "maya painted a hill."),
        (3, "maya painted a car."),
    ]);
    world.dream_to_rest();
    assert!(!world.holds("maya is a creative person.") && world.holds("maya often paints."));
}

#[test]
fn h6_one_occasion_or_one_source_is_no_pattern() {
    for statements in [
        &[(1, "maya painted a lake.")][..],
        &[(1, "maya painted a lake."), (1, "maya painted a hill.")],
        &[(1, "maya painted a lake."), (2, "maya wants to paint more.")],
        &[(1, "maya painted a lake."), (2, "maya never paints hills.")],
        &[
            (1, "maya runs a shop."),
            (2, "maya is running late."),
            (3, "maya ran into Ana."),
        ],
    ] {
        let mut world = World::stating(statements);
        world.dream_to_rest();
        assert_eq!(world.texts(Level::Inductive), Vec::<&str>::new(), "{statements:?}");
    }
}

#[test]
fn more_evidence_reinforces_the_same_pattern() {
    let mut world = World::stating(&[(1, "maya painted a lake."), (2, "maya painted a hill.")]);
    world.dream_to_rest();
    world.state(3, "maya is painting a ship.");
    let operations = world.think(Phase::Induction, 0).operations;
    let [Operation::Create { content, sources, .. }] = operations.as_slice() else {
        panic!("one operation: {operations:?}");
    };
    assert_eq!((content.as_str(), sources.len()), ("maya often paints.", 3));
    world.dream_to_rest();
    assert_eq!(world.texts(Level::Inductive), ["maya often paints."]);
}

#[test]
fn topics_recur_in_every_script() {
    for (topic, statements) in [
        (
            "画画",
            [
                "我周末喜欢画画放松",
                "我昨天画画到很晚",
                "我教女儿画画",
                "我想念画画时光",
            ],
        ),
        (
            "กาแฟ",
            ["ฉันดื่มกาแฟทุกเช้า", "ฉันชงกาแฟให้แม่", "ฉันเปิดร้านกาแฟเล็ก", "ฉันรักกาแฟดำ"],
        ),
        (
            "музыкой",
            [
                "Я живу музыкой каждый день",
                "Мой сын дышит музыкой тоже",
                "Я занята музыкой дома",
                "Мы болеем музыкой давно",
            ],
        ),
    ] {
        let mut world = World::new();
        for (number, text) in (1..).zip(statements) {
            world.state(number, &format!("maya: {text}"));
        }
        world.dream_to_rest();
        assert_eq!(
            world.texts(Level::Inductive),
            [format!("maya often talks about {topic}.")],
            "{topic}"
        );
    }
}

#[test]
fn patterns_are_few() {
    let words = [
        "anchor", "basket", "candle", "dragon", "engine", "falcon", "guitar", "hammer", "island", "jacket", "kettle",
        "lantern",
    ];
    let mut world = World::new();
    for number in 1..200_u64 {
        let word = words[usize::try_from(number).unwrap() % words.len()];
        world.state(number, &format!("maya saw a {word} in town {number}."));
    }
    world.dream_to_rest();
    assert!(world.texts(Level::Inductive).len() <= 11);
}
