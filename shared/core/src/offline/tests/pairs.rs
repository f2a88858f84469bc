//! A labelled table of pairs that look alike: what says the same merges, what does not never does.

use super::super::{Difference, Verdict, same_fact};
use super::World;
use crate::conclusion::Level;

/// Pairs that say the same.
const SAME: &[(&str, &str)] = &[
    ("maya works at Intel.", "Maya works at Intel"),
    ("maya doesn't like olives.", "maya does not like olives"),
    ("maya can't swim.", "maya cannot swim."),
    ("maya has two kids.", "maya has 2 children."),
    ("maya's favorite color is teal.", "maya's favourite colour is teal."),
    ("maya really loves jazz!", "maya loves jazz."),
    ("maya bought a bike.", "maya bought the bike."),
    ("maya’s cat is old.", "maya's cat is old"),
    ("maya: 我住在北京。", "maya: 我 住在 北京"),
    ("maya: 我喜欢的颜色是蓝色", "maya: 我喜欢颜色是蓝色。"),
    ("maya: Vivo en Madrid.", "maya: vivo en Madrid"),
    ("maya uses ＳＱＬｉｔｅ３.", "maya uses SQLite3."),
];

/// Pairs that differ in something that matters.
const DIFFERENT: &[(&str, &str)] = &[
    ("maya likes tea.", "maya does not like tea."),
    ("maya loves Chinese food.", "maya hates Chinese food."),
    ("maya is allergic to peanuts.", "maya is not allergic to peanuts."),
    ("maya has 2 cats.", "maya has 3 cats."),
    ("maya earns $5,000 a month.", "maya earns $50,000 a month."),
    ("the API answers in 250ms.", "the API answers in 300ms."),
    ("maya runs 5 km a day.", "maya runs 5 miles a day."),
    ("maya uses version 1.2.", "maya uses version 12."),
    ("the meeting is at 2pm on Friday.", "the meeting is at 3pm on Friday."),
    ("the meeting is on Friday.", "the meeting is on Monday."),
    ("the report is due on August 15th.", "the report is due on August 16th."),
    ("maya ran yesterday (2024-01-01).", "maya ran yesterday (2024-01-02)."),
    ("maya works at Intel.", "maya works at Nokia."),
    ("maya works at Intel.", "maya worked at Intel."),
    ("maya works at Intel.", "maya will work at Intel."),
    ("maya works at Intel.", "maya wants to work at Intel."),
    ("maya started smoking.", "maya stopped smoking."),
    ("maya started a diet.", "maya starts a diet next week."),
    ("maya prefers tea over coffee.", "maya prefers coffee over tea."),
    ("Ana loves Bo.", "Bo loves Ana."),
    ("maya met Ana before Bo.", "maya met Ana after Bo."),
    ("maya lives with Tom.", "maya lives without Tom."),
    ("maya has a dog.", "maya has a dog named Rex."),
    ("maya's sister lives in Rome.", "maya's brother lives in Rome."),
    ("maya can swim.", "maya can't swim."),
    ("maya is married.", "maya is divorced."),
    ("maya always drinks tea.", "maya never drinks tea."),
    ("maya got an A in math.", "maya got a B in math."),
    ("maya has hepatitis A.", "maya has hepatitis."),
    ("maya is not very happy.", "maya is not happy."),
    ("maya turned the alarm on.", "maya turned the alarm off."),
    ("maya moved from Lima to Rome.", "maya moved from Rome to Lima."),
    ("maya flies at 9 am.", "maya flies at 9 pm."),
    ("it is 5 degrees.", "it is -5 degrees."),
    ("the share fell by 5%.", "the share fell by 5."),
    ("maya uses C.", "maya uses C++."),
    ("maya uses C#.", "maya uses C."),
    ("maya: 你好 SQLite", "maya: 您好 SQLite"),
    ("maya: 我喜欢 SQLite", "maya: 我讨厌 SQLite"),
    ("maya: 我喜欢咖啡", "maya: 我不喜欢咖啡"),
    ("maya: 我住在北京", "maya: 我住在南京"),
    ("maya: 我有两只猫", "maya: 我有三只猫"),
    ("maya: 将间隔时间改回2秒", "maya: 将间隔时间改回20秒"),
    ("maya: 我已婚", "maya: 我婚"),
    ("maya: 私は東京に住んでいます", "maya: 私は京都に住んでいます"),
    ("maya: Me gusta el té", "maya: No me gusta el té"),
    ("maya: Vivo en Lima", "maya: Viví en Lima"),
    ("maya: أعمل في القاهرة", "maya: لا أعمل في القاهرة"),
    ("maya: ฉันชอบกาแฟ", "maya: ฉันไม่ชอบกาแฟ"),
    ("maya: मैं चाय पीता हूँ", "maya: मैं चाय नहीं पीता हूँ"),
    ("maya: Я люблю чай", "maya: Я не люблю чай"),
    ("maya sent 10 of 12 letters.", "maya sent 12 of 10 letters."),
    ("maya only eats fish.", "maya eats fish."),
    ("maya almost won.", "maya won."),
    ("maya hardly sleeps.", "maya sleeps."),
    (
        "On Monday maya said the shop opens.",
        "maya said the shop opens on Monday.",
    ),
    (
        "On Monday maya told Ana that Bo left.",
        "maya told Ana that Bo left on Monday.",
    ),
    ("maya decided on Monday to quit.", "maya decided to quit on Monday."),
    ("Before dinner maya called Ana.", "maya called Ana after dinner."),
    (
        "maya was in Oslo on Monday and in Rome on Friday.",
        "maya was in Oslo on Friday and in Rome on Monday.",
    ),
    (
        "On Friday maya flew to Rome from Oslo.",
        "maya flew to Oslo from Rome on Friday.",
    ),
    ("In Rome maya met Carla.", "In Carla maya met Rome."),
    ("maya lent Bo 2 books on Monday.", "On Monday Bo lent maya 2 books."),
    ("maya has got the job.", "maya has the job."),
    ("maya only works on Mondays.", "On Mondays maya works only."),
];

#[test]
fn h1_wrong_merges_are_none() {
    for (a, b) in DIFFERENT {
        assert_ne!(same_fact(a, b), Verdict::Same, "{a} | {b}");
        let mut world = World::stating(&[(1, a), (2, b)]);
        world.dream();
        let merged = world
            .removed
            .iter()
            .any(|(_, reason, _)| *reason == crate::run::RemovalReason::Duplicate);
        assert!(!merged, "{a} | {b}");
    }
    assert!(DIFFERENT.len() >= 40);
}

#[test]
fn what_says_the_same_merges() {
    for (a, b) in SAME {
        assert_eq!(same_fact(a, b), Verdict::Same, "{a} | {b}");
        let mut world = World::stating(&[(1, a), (2, b)]);
        world.dream_to_rest();
        assert_eq!(world.texts(Level::Explicit).len(), 1, "{a} | {b}");
    }
}

#[test]
fn adverbials_may_stand_at_either_end() {
    for (a, b) in [
        ("On weekends maya bakes bread.", "maya bakes bread on weekends."),
        (
            "In 2019 maya ran the Berlin marathon.",
            "maya ran the Berlin marathon in 2019.",
        ),
        ("At home maya has a standing desk.", "maya has a standing desk at home."),
        (
            "Every morning maya does yoga for twenty minutes.",
            "maya does yoga for 20 minutes every morning.",
        ),
        ("maya swims on Mondays with Bo.", "maya swims with Bo on Mondays."),
        ("maya has got two cats.", "maya has 2 cats."),
        (
            "maya organised a trip to the theatre.",
            "maya organized a trip to the theater.",
        ),
    ] {
        let mut world = World::stating(&[(1, a), (2, b)]);
        world.dream_to_rest();
        assert_eq!(world.texts(Level::Explicit).len(), 1, "{a} | {b}");
    }
}

#[test]
fn the_guard_names_what_differs() {
    for (a, b, expected) in [
        (
            "maya runs 5 km every single day.",
            "maya runs 6 km every single day.",
            Difference::Numbers,
        ),
        (
            "maya does like strong black tea.",
            "maya does not like strong black tea.",
            Difference::Negation,
        ),
        (
            "maya started the long marathon training programme in spring.",
            "maya stopped the long marathon training programme in spring.",
            Difference::Negation,
        ),
        (
            "maya prefers strong coffee after breakfast.",
            "maya prefers strong coffee before breakfast.",
            Difference::Polarity,
        ),
        (
            "maya visited the museum with Ana.",
            "maya visited the museum with Bea.",
            Difference::Names,
        ),
        (
            "maya visited the old museum building.",
            "maya visited the new museum building.",
            Difference::Words,
        ),
    ] {
        assert_eq!(same_fact(a, b), Verdict::Near(expected), "{a} | {b}");
    }
    assert_eq!(
        same_fact("maya likes tea.", "the weather in Lima is mild"),
        Verdict::Unlike
    );
}

/// Pairs of facts said weeks apart of which neither outdates the other.
const BESIDE: &[(&str, &str)] = &[
    ("maya works at Intel.", "maya also works at Nokia."),
    ("maya works at Intel.", "maya works part-time at Nokia."),
    ("maya works at Intel.", "maya used to work at Nokia."),
    ("maya works at Intel.", "maya's brother works at Nokia."),
    ("maya works at Intel.", "maya works at night."),
    ("maya works at Intel.", "maya works at a bakery on weekends."),
    ("maya works at Intel.", "maya worked at Nokia."),
    ("maya works at Intel.", "maya interviewed at Nokia."),
    ("maya works at Intel.", "maya moved to Springfield."),
    ("maya lives in Lisbon.", "maya lives in Portugal."),
    ("maya lives in Portugal.", "maya lives in Lisbon."),
    ("maya lives in Lisbon.", "maya lives in Lisbon, Portugal."),
    ("maya lives in Lisbon.", "maya is moving to Oslo next month (2024-03)."),
    ("maya lives in Lisbon.", "maya went to Oslo."),
    ("maya lives in Lisbon.", "maya lives in Oslo for the summer."),
    ("maya lives in Lisbon.", "maya lived in Oslo as a child."),
    ("maya lives in San Francisco.", "maya lives in California."),
    ("maya is a teacher.", "maya is a writer."),
    ("maya is married.", "maya is married to Tom."),
    ("maya is 31 years old.", "maya is 31."),
    ("maya's favourite food is sushi.", "maya's favourite drink is tea."),
    ("maya loves tea.", "maya hates coffee."),
    ("maya loves running when it is cold.", "maya hates running."),
    ("maya has a dog.", "maya has a cat."),
    ("maya speaks Spanish.", "maya speaks English."),
    ("maya's name is Maya.", "maya's name is Maya Lopez."),
    (
        "maya: The Q3 report is due on May 2.",
        "maya: The Q4 report is due on May 9.",
    ),
    (
        "maya: Priya is the lead of the payments team.",
        "maya: Sam is the lead of the search team.",
    ),
    ("maya's work email is a@x.org.", "maya's home email is b@x.org."),
    (
        "maya's dentist appointment is on May 2.",
        "maya's dentist appointment is on September 9.",
    ),
];

#[test]
fn wrong_supersessions_are_none() {
    for (a, b) in BESIDE {
        let mut world = World::stating(&[(1, a), (40, b)]);
        world.dream_to_rest();
        assert_eq!(world.removed, [], "{a} | {b}");
        assert_eq!(world.texts(Level::Contradiction), Vec::<&str>::new(), "{a} | {b}");
    }
}
