//! A second dream changes nothing, whatever the first one found; and a dream over many conclusions is cheap.

use proptest::prelude::*;

use super::{World, day};
use crate::conclusion::Level;
use crate::run::Phase;

/// Templates of statements; `{}` takes a value of the list.
const TEMPLATES: &[(&str, &[&str])] = &[
    ("maya works at {}.", &["Intel", "Nokia", "Apple", "Sony"]),
    ("maya works at {} and loves it.", &["Intel", "Nokia"]),
    ("maya also works at {}.", &["Intel", "Nokia"]),
    ("maya moved to {}.", &["Oslo", "Lisbon", "Qualcomm", "Springfield"]),
    ("maya no longer works at {}.", &["Intel", "Nokia"]),
    (
        "maya lives in {}.",
        &["Oslo", "Lisbon", "Portugal", "Springfield", "Shelbyville", "Berlin"],
    ),
    (
        "maya is {}.",
        &[
            "single",
            "engaged",
            "married",
            "divorced",
            "vegan",
            "vegetarian",
            "31",
            "32",
        ],
    ),
    ("maya got {}.", &["engaged", "married", "divorced"]),
    ("maya's partner is {}.", &["Ana", "Tom"]),
    ("maya is married to {}.", &["Ana", "Tom"]),
    ("maya turned {}.", &["31", "32", "33"]),
    ("maya works as a {}.", &["nurse", "teacher"]),
    ("maya became a {}.", &["nurse", "teacher", "vegan"]),
    ("maya loves {}.", &["opera", "tea", "hiking trips"]),
    ("maya hates {}.", &["opera", "tea"]),
    ("maya does not like {}.", &["opera", "tea"]),
    ("maya drinks {}.", &["coffee", "milk"]),
    ("maya does not drink {}.", &["coffee", "milk"]),
    ("maya has a {}.", &["daughter", "dog", "dog named Rex"]),
    ("maya does not have a {}.", &["daughter", "dog"]),
    ("maya painted a {}.", &["lake", "hill", "ship"]),
    ("maya is {} again.", &["stressed", "painting"]),
    ("maya really likes {}!", &["hiking", "tea"]),
    ("maya: 我喜欢{}", &["画画", "咖啡", "画画放松"]),
    ("maya: The {} report is due on May 2.", &["Q3", "Q4"]),
    ("maya: The {} report deadline moved to May 9.", &["Q3", "Q4"]),
    ("maya: {} is the lead of the payments team.", &["Ana", "Tom"]),
    ("maya's favourite colour is {}.", &["teal", "red"]),
    ("maya is allergic to {}.", &["peanuts", "cats"]),
    ("maya is not allergic to {}.", &["peanuts", "cats"]),
];

fn statement() -> impl Strategy<Value = (u64, u64, String)> {
    (0..TEMPLATES.len(), 0_usize..8, 1_u64..9, 1_u64..9).prop_map(|(template, value, said, stored)| {
        let (text, values) = TEMPLATES[template];
        (said, stored, text.replace("{}", values[value % values.len()]))
    })
}

fn world(statements: &[(u64, u64, String)]) -> World {
    let mut world = World::new();
    add(&mut world, statements);
    world
}

fn add(world: &mut World, statements: &[(u64, u64, String)]) {
    for (said, stored, text) in statements {
        let id = world.state(*said, text);
        for conclusion in &mut world.conclusions {
            if conclusion.id == id {
                conclusion.created_at = day(*stored);
            }
        }
    }
    world.conclusions.sort_by_key(|c| (c.created_at, c.id.clone()));
}

proptest! {
    #[test]
    fn a_second_dream_with_nothing_new_changes_nothing(
        first in prop::collection::vec(statement(), 0..24),
        second in prop::collection::vec(statement(), 0..6),
    ) {
        let mut world = world(&first);
        world.dream_to_rest();
        add(&mut world, &second);
        world.dream_to_rest();
    }

    #[test]
    fn what_is_removed_names_what_stands_in_its_place(statements in prop::collection::vec(statement(), 0..24)) {
        let mut world = world(&statements);
        world.dream();
        for (text, reason, by) in &world.removed {
            prop_assert!(by.is_some() || text.starts_with("It is unclear"), "{text} {reason:?}");
        }
    }

    #[test]
    fn any_text_is_derived_and_thought_about_without_fault(texts in prop::collection::vec("\\PC{0,60}", 0..12)) {
        let mut world = World::new();
        for (number, text) in (1..).zip(&texts) {
            world.hear(number, &[text.as_str()]);
            world.state(number, text);
            world.state(number, &format!("maya {text}"));
            world.state(number, &format!("maya's {text}"));
        }
        world.dream_to_rest();
    }

    #[test]
    fn words_of_the_rules_in_any_order_do_no_harm(words in prop::collection::vec(
        prop::sample::select(vec!["I", "I'm", "my", "we", "and", ",", "live", "in", "Oslo", "at", "Intel", "is", "the", "due",
            "on", "Friday", "\"", "last", "week", "but", "who", "?", ".", "(", ")", "moved", "to", "never", "if", "you",
            "me", "wife", "call", "please", "not", "because", "since"]), 0..14)) {
        let text = words.join(" ");
        let mut world = World::new();
        world.hear(1, &[&text]);
        world.state(2, &format!("maya {text}"));
        world.dream_to_rest();
    }
}

#[test]
fn a_dream_over_five_hundred_conclusions_takes_less_than_a_second_unoptimised() {
    let mut world = World::new();
    for number in 0..500_u64 {
        let text = match number % 5 {
            0 => format!("maya read about subject number {number} in the park."),
            1 => format!("maya works at Company{} as an engineer.", number / 50),
            2 => format!("maya painted {} with their friend.", number % 37),
            3 => format!("maya met colleague{} at the office for lunch.", number % 91),
            _ => format!("maya: 我在第{}天去公园画画。", number % 41),
        };
        world.state(number + 1, &text);
    }
    let begun = std::time::Instant::now();
    world.think(Phase::Deduction, 0);
    world.think(Phase::Induction, 0);
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(world.texts(Level::Deductive), Vec::<&str>::new());
}
