//! Summaries: sentences that were said, and the early ones among them for good.

use super::{Offline, day, message, now};
use crate::message::Message;
use crate::reasoner::{Reasoner as _, SummaryRequest};
use crate::summary::Kind;
use crate::text::estimate_tokens;

fn said(from: u64, lines: &[(&str, &str)]) -> Vec<Message> {
    (from..)
        .zip(lines)
        .map(|(seq, (peer, text))| message(seq, peer, text, day(1)))
        .collect()
}

fn summary(previous: Option<&str>, messages: &[Message], max_tokens: u32) -> String {
    let request = SummaryRequest {
        kind: Kind::Short,
        previous,
        messages,
        max_tokens,
        instructions: None,
    };
    now(Offline.summarise(request)).expect("offline always answers").content
}

#[test]
fn a_summary_quotes_what_says_something_and_leaves_out_talk() {
    let messages = said(
        1,
        &[
            ("maya", "Hi there! I live in Lisbon. How are you?"),
            ("tom", "Great, thanks!"),
            ("tom", "I work at Nokia as an engineer. Wow."),
            ("maya", "ok"),
            ("王", "你好！我住在北京。"),
        ],
    );
    assert_eq!(
        summary(None, &messages[..4], 1000),
        "maya: I live in Lisbon.\ntom: I work at Nokia as an engineer."
    );
    assert_eq!(
        summary(None, &said(1, &[("li", "你好！我住在北京。")]), 1000),
        "li: 我住在北京。"
    );
}

#[test]
fn every_line_was_said_or_stood_in_the_previous_summary() {
    let messages = said(
        21,
        &[
            (
                "maya",
                "I moved to Porto in May. The weather there is fine, 23 degrees on average! Do you know Ana Sousa?",
            ),
            ("tom", "```\nfn main() {}\n```"),
        ],
    );
    let previous = "maya: I live in Lisbon.\nThey talked about the move at length.";
    for line in summary(Some(previous), &messages, 1000).lines() {
        let (_, text) = line.split_once(": ").unwrap_or(("", line));
        let found = previous.contains(text) || messages.iter().any(|message| message.content.contains(text));
        assert!(found, "{line:?} was never said");
    }
}

#[test]
fn early_facts_survive_any_number_of_summaries_and_the_newest_are_there() {
    let mut carried: Option<String> = None;
    for round in 0..200_u64 {
        let fact = format!("I bought {} books in {}.", round + 3, 1900 + round);
        let mut lines = vec![
            ("maya", fact.as_str()),
            ("tom", "Really? Nice!"),
            ("maya", "Yes, haha."),
        ];
        if round == 0 {
            lines.push(("maya", "I am allergic to peanuts."));
            lines.push(("maya", "My daughter Ana lives in Porto."));
        }
        let next = summary(carried.as_deref(), &said(round * 20 + 1, &lines), 300);
        assert!(estimate_tokens(&next) <= 300, "{round}: {next}");
        assert!(next.contains(&fact), "{round}: {next}");
        assert!(next.contains("Ana lives in Porto"), "{round}: {next}");
        carried = Some(next);
    }
}

#[test]
fn it_keeps_to_any_bound_and_is_the_same_every_time() {
    let text = "I live in Lisbon. I work at Nokia. I have two cats. I play the violin. 我住在北京。我有两只猫。";
    let messages = said(1, &[("maya", text), ("tom", &"x".repeat(9_000))]);
    for max in [0, 1, 5, 12, 13, 30, 60, 1000] {
        let once = summary(Some("maya: I was born in Faro."), &messages, max);
        assert!(estimate_tokens(&once) <= max, "{max}: {once}");
        assert_eq!(once, summary(Some("maya: I was born in Faro."), &messages, max));
    }
}

#[test]
fn what_is_said_again_stands_there_once() {
    let messages = said(
        1,
        &[
            ("maya", "I live in Lisbon."),
            ("maya", "i live in  lisbon. I have a cat."),
        ],
    );
    let first = summary(None, &messages, 1000);
    assert_eq!(first, "maya: I live in Lisbon.\nmaya: I have a cat.");
    assert_eq!(summary(Some(&first), &messages, 1000), first);
}

#[test]
fn talk_alone_is_quoted_rather_than_nothing_and_silence_is_silence() {
    let messages = said(
        1,
        &[("maya", "ok"), ("tom", "sure"), ("maya", "{\"a\": 1}"), ("tom", "bye")],
    );
    assert_eq!(summary(None, &messages, 1000), "maya: ok\ntom: sure\nmaya: {\"a\": 1}");
    assert_eq!(summary(None, &said(1, &[("maya", ""), ("tom", " \n")]), 1000), "");
    assert_eq!(
        summary(Some("maya: I live in Lisbon."), &messages, 1000),
        "maya: I live in Lisbon."
    );
}
