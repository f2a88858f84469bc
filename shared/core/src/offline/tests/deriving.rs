//! What is derived from messages, and what is not.

use super::{derive, said_by_maya};

#[test]
fn first_person_statements_name_the_peer_and_stand_alone() {
    for (said, expected) in [
        (
            "I work at Intel as an engineer.",
            vec!["maya works at Intel as an engineer."],
        ),
        (
            "I'm vegan and I've got two cats!",
            vec!["maya is vegan.", "maya has got two cats."],
        ),
        (
            "My favourite color is teal. I don't like olives.",
            vec!["maya's favourite color is teal.", "maya does not like olives."],
        ),
        (
            "We live in Lisbon, but I was born in Faro.",
            vec!["maya lives in Lisbon.", "maya was born in Faro."],
        ),
        (
            "I ran a race yesterday, it was so much fun!",
            vec!["maya ran a race yesterday (2023-12-31)."],
        ),
        (
            "I ran a race last Saturday.",
            vec!["maya ran a race last Saturday (2023-12-30)."],
        ),
        ("im learning rust rn", vec!["maya is learning rust rn."]),
        (
            "- I like tea\n- I play chess\n",
            vec!["maya likes tea.", "maya plays chess."],
        ),
        (
            "I use this:\n```\nI am code\n```\nI prefer tabs.",
            vec!["maya prefers tabs."],
        ),
        (
            "I'm working on a budget tracker, can you help me with that?",
            vec!["maya is working on a budget tracker."],
        ),
        (
            "Gonna visit Rome next month!",
            vec!["maya is going to visit Rome next month (2024-02)."],
        ),
        (
            "My wife and I moved to Oslo.",
            vec!["maya and their wife moved to Oslo."],
        ),
        ("Call me Mel.", vec!["maya wants to be called Mel."]),
        (
            "I'm vegetarian, please don't suggest meat dishes.",
            vec!["maya is vegetarian.", "maya asks: please don't suggest meat dishes."],
        ),
        (
            "The Q3 report is due on August 15th.",
            vec!["maya: The Q3 report is due on August 15th."],
        ),
        (
            "I told Ana \"I quit\" last week.",
            vec!["maya told Ana \"I quit\" last week (week of 2023-12-25)."],
        ),
    ] {
        assert_eq!(said_by_maya(said), expected, "{said}");
    }
}

#[test]
fn h1_a_statement_names_its_messages_and_their_time() {
    let found = derive(
        &[
            ("maya", "I work at Intel."),
            ("bo", "Nice!"),
            ("maya", "As I said: I work at Intel!"),
            ("maya", "I like tea."),
        ],
        &["maya", "bo"],
    );
    let seqs: Vec<Vec<u64>> = found
        .iter()
        .map(|s| s.messages.iter().map(|seq| seq.0).collect())
        .collect();
    assert_eq!(seqs, [vec![1, 3], vec![4]], "{found:?}");
    assert!(
        found
            .iter()
            .all(|s| s.event_at == super::day(1) && s.about.as_str() == "maya")
    );
}

#[test]
fn report_6_what_is_said_about_the_other_is_no_fact_about_the_speaker() {
    for said in [
        "You live in Lima.",
        "So you work at Intel, and your wife is a nurse.",
        "I think you live in Lima.",
        "I remember that you live in Lima.",
        "I know you love Chinese food.",
        "你住在利马。",
        "Vives en Lima con tu hermana.",
        "Вы живёте в Лиме.",
    ] {
        let found = derive(&[("assistant", said), ("user", "ok")], &["assistant", "user"]);
        assert_eq!(found, Vec::new(), "{said}");
    }
}

#[test]
fn talk_hypotheses_hearsay_and_noise_yield_nothing() {
    for said in [
        "Wow, that's cool!",
        "Hey Mel! How have you been?",
        "Thanks, I appreciate it!",
        "If I lived in Lima, I would surf every day.",
        "I'd love to live in Lima.",
        "I wish I had a dog.",
        "Maybe I will move to Lima.",
        "He said I work too much.",
        "My mother says I am lazy.",
        "\"I live in Rome\", he said.",
        "What do I know about Rome?",
        "Should I move to Rome?",
        "I love it!",
        "I agree.",
        "Let me know if I can help.",
        "Agent boot sequence: loaded 3 servers, restored 22 entries.",
        "{\"status\": \"error\", \"me\": \"I failed\"}",
        "ERROR: I could not connect",
        "Cron job 'sync' completed at 03:00 UTC. 0 errors.",
        "> I live in Rome",
        "It's been a long week.",
        "",
        "   \n\n",
        "?!",
        "I",
    ] {
        assert_eq!(said_by_maya(said), Vec::<String>::new(), "{said}");
    }
}

#[test]
fn report_13_statements_in_other_scripts_are_kept_word_for_word() {
    for (said, expected) in [
        (
            "将间隔时间改回2秒，重新加载完成（PID 26061）",
            "maya: 将间隔时间改回2秒，重新加载完成（PID 26061）。",
        ),
        ("我住在北京。你呢？", "maya: 我住在北京。"),
        ("私は毎朝コーヒーを飲みます。", "maya: 私は毎朝コーヒーを飲みます。"),
        ("Я работаю врачом в Москве.", "maya: Я работаю врачом в Москве."),
        ("أعمل مهندسة في القاهرة.", "maya: أعمل مهندسة في القاهرة."),
        ("ฉันทำงานที่โรงพยาบาลในเชียงใหม่", "maya: ฉันทำงานที่โรงพยาบาลในเชียงใหม่."),
        ("मैं दिल्ली में रहता हूँ।", "maya: मैं दिल्ली में रहता हूँ."),
        ("Vivo en Madrid con mi hermana.", "maya: Vivo en Madrid con mi hermana."),
        (
            "Ich wohne seit zwei Jahren in Berlin.",
            "maya: Ich wohne seit zwei Jahren in Berlin.",
        ),
    ] {
        assert_eq!(said_by_maya(said), [expected], "{said}");
    }
}

#[test]
fn informal_speech_is_put_into_good_order() {
    for (said, expected) in [
        ("Now I want to help others.", vec!["Now maya wants to help others."]),
        (
            "When I was younger, I played chess.",
            vec!["When they were younger, maya played chess."],
        ),
        (
            "It's all a process and I'm learning carpentry.",
            vec!["maya is learning carpentry."],
        ),
        (
            "Just wanted to give you the heads up - I took a writing class.",
            vec!["maya took a writing class."],
        ),
        (
            "We all have our own desks.",
            vec!["maya and others all have their own desks."],
        ),
        ("I'm loving it!", vec![]),
        ("I do - every day.", vec![]),
        ("Never give up!", vec![]),
        ("Taking care of my garden is vital.", vec![]),
        ("Been a long road.", vec![]),
        (
            "Our kids are our future.",
            vec!["maya and others' kids are their future."],
        ),
    ] {
        assert_eq!(said_by_maya(said), expected, "{said}");
    }
}
