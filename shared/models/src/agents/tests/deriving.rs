use reverie_core::id::{PeerName, Seq};
use reverie_core::reasoner::Derived;

use super::*;

fn derived(answer: Response) -> Result<Derived, ReasonerError> {
    let messages = [
        said(1, "sam", "I start at Acme tomorrow"),
        said(2, "mia", "I live in Oslo"),
        said(3, "bot", "Congratulations!"),
    ];
    let model = Scripted::new([answer]);
    let request = DeriveRequest {
        messages: &messages,
        observed: &[PeerName::trusted("mia"), sam()],
        instructions: None,
    };
    let derived = wait(super::super::deriver::derive(&model, &request));
    assert_eq!(model.asked().len(), 1, "one call per batch");
    derived
}

fn notes(notes: &Value) -> Response {
    saying(&json!({ "notes": notes }).to_string())
}

#[test]
fn notes_become_statements_with_their_messages_and_the_time_of_the_latest() {
    let answer = notes(&json!([
        {"about": "sam", "content": " sam starts to work at Acme on 2026-03-02. ", "messages": [1, 3, 1]},
        {"about": "mia", "content": "mia lives in Oslo.", "messages": [2]},
    ]));
    let derived = derived(answer).unwrap();
    assert_eq!(derived.usage.total(), 110);
    let seen: Vec<_> = derived
        .statements
        .iter()
        .map(|s| (s.about.as_str(), s.content.as_str(), s.messages.clone(), s.event_at))
        .collect();
    assert_eq!(
        seen,
        [
            (
                "sam",
                "sam starts to work at Acme on 2026-03-02.",
                vec![Seq(101), Seq(103)],
                said(3, "bot", "").created_at
            ),
            (
                "mia",
                "mia lives in Oslo.",
                vec![Seq(102)],
                said(2, "mia", "").created_at
            ),
        ]
    );
}

#[test]
fn what_cannot_be_used_is_left_out_note_by_note() {
    let good = json!({"about": "mia", "content": "mia lives in Oslo.", "messages": [2, 0, 9]});
    for bad in [
        json!({"about": "user", "content": "The user works.", "messages": [1]}),
        json!({"about": "sam", "content": "  ", "messages": [1]}),
        json!({"about": "sam", "content": "x".repeat(2_001), "messages": [1]}),
        json!({"about": "sam", "content": "sam works.", "messages": []}),
        json!({"about": "sam", "content": "sam works.", "messages": [0, 4]}),
    ] {
        let derived = derived(notes(&json!([bad, good]))).unwrap();
        assert_eq!(derived.statements.len(), 1, "{bad}");
        assert_eq!(derived.statements[0].messages, [Seq(102)]);
        let error = super::deriving::derived(notes(&json!([bad]))).unwrap_err();
        assert!(error.is_permanent(), "all of it is useless: {bad}");
    }
    let others = notes(&json!([{"about": "bot", "content": "bot congratulates.", "messages": [3]}]));
    assert_eq!(derived(others).unwrap().statements, [], "not asked about");
    assert_eq!(derived(notes(&json!([]))).unwrap().statements, []);
}

#[test]
fn an_answer_that_is_not_of_the_agreed_shape_is_refused_whole() {
    let cut = Response {
        stop: StopReason::MaxTokens,
        ..saying("{\"notes\":[]}")
    };
    let refusal = Response {
        stop: StopReason::Refusal,
        ..saying("{\"notes\":[]}")
    };
    let secret = "sam's secret";
    for answer in [
        saying(""),
        saying(secret),
        saying("{\"notes\": [{\"about\": \"sam\"}]}"),
        saying("[]"),
        saying("{\"notes\":[{\"about\":\"sam\",\"content\":\"sam's secret\",\"messages\":\"all\"}]}"),
        cut,
        refusal,
    ] {
        let error = derived(answer).unwrap_err();
        assert!(matches!(&error, ReasonerError::Permanent { usage, .. } if usage.total() == 110));
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
