//! What is sent, word for word.

use std::fmt::Write as _;

use super::*;

/// A request as somebody would read it.
fn readable(request: &Request) -> String {
    let mut text = String::new();
    for block in &request.system {
        let _ = writeln!(text, "== system, cached: {} ==\n{}", block.cache, block.text);
    }
    for tool in &request.tools {
        let _ = writeln!(
            text,
            "== tool {} ==\n{}\n{:#}\n",
            tool.name, tool.description, tool.schema
        );
    }
    if let Some(output) = &request.output {
        let _ = writeln!(text, "== output {} ==\n{:#}\n", output.name, output.schema);
    }
    for message in &request.messages {
        let _ = writeln!(text, "== {:?} ==\n{}", message.role, self::text(message));
        for result in results(message) {
            let _ = writeln!(text, "[{}] {}", result.id, result.content);
        }
    }
    let _ = writeln!(
        text,
        "== tools: {:?}, at most {} tokens, cached: {} ==",
        request.tool_choice, request.max_output_tokens, request.cache_messages
    );
    text
}

const LIFE: &[&str] = &[
    "sam works at Acme",
    "sam lives in Oslo",
    "sam went climbing on Saturday",
    "sam works at Beta now",
    "sam is living in Oslo",
    "sam went climbing after work",
    "sam has 2 cats",
    "sam has 3 cats",
];

fn asked(phase: Phase) -> Request {
    let mut dream = Dream::over(LIFE, [saying("Nothing to do.")]).of(phase);
    dream.desk.card = Some(vec![CardEntry {
        text: "IDENTITY: Works at Acme".to_owned(),
        conclusions: dream.desk.conclusions().keys().take(1).cloned().collect(),
    }]);
    dream.instructions = Some("Care about sports.");
    dream.card_instructions = Some("No pets on the card.");
    dream.last_dream_at = Some(day(3));
    assert_eq!(dream.run().error, None);
    dream.model.asked().remove(0)
}

#[test]
fn deduction_is_asked_so() {
    insta::assert_snapshot!(readable(&asked(Phase::Deduction)));
}

#[test]
fn induction_is_asked_so() {
    insta::assert_snapshot!(readable(&asked(Phase::Induction)));
}

#[test]
fn the_card_is_asked_for_so() {
    insta::assert_snapshot!(readable(&asked(Phase::Card)));
}

#[test]
fn a_batch_is_asked_about_so() {
    let messages = [
        said(18, "sam", "I start at Acme tomorrow"),
        said(19, "bot", "You live in \"Lima\", right?"),
    ];
    let model = Scripted::new([saying("{\"notes\":[]}")]);
    let request = DeriveRequest {
        messages: &messages,
        observed: &[sam()],
        instructions: Some("Only what is about work."),
    };
    wait(super::super::deriver::derive(&model, &request)).unwrap();
    insta::assert_snapshot!(readable(&model.asked()[0]));
}

#[test]
fn nothing_that_changes_comes_before_what_is_cached() {
    let one = asked(Phase::Deduction);
    let mut other = Dream::over(&["sam plays chess"], [saying("Nothing to do.")]);
    other.run();
    let other = &other.model.asked()[0];
    assert_eq!((&one.system, &one.tools), (&other.system, &other.tools));
    assert!(one.system[0].cache && one.cache_messages);
}
