//! What bounds a run, and what a run says that came to little or nothing (`design.md` section 6).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reverie_core::conclusion::Level;
use reverie_core::config::Config;
use reverie_core::reasoner::{ReasonerError, ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason, Usage};
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use crate::rig::steps::{dream, facts, list, say, scripted, status, thought};
use crate::rig::{Faults, Rig, Scripted, TestClock, config};

/// A tenth of a thousand tokens.
const HUNDRED: Usage = Usage {
    input_tokens: 10,
    output_tokens: 20,
    cache_read_input_tokens: 30,
    cache_creation_input_tokens: 40,
};

fn deduce(request: &ThinkRequest<'_>) -> Operation {
    Operation::Create {
        level: Level::Deductive,
        content: format!("{} {}", request.phase.as_str(), request.turn),
        sources: vec![request.conclusions[0].id.clone()],
        pattern: None,
        replaces: Vec::new(),
    }
}

/// A dream that would go on for ever, a hundred tokens a turn, each of which takes this long; and how often it asked.
async fn endless(max_tokens_per_run: u64, turn: Duration) -> (Rig, Value, usize) {
    let clock: Arc<OnceLock<Arc<TestClock>>> = Arc::default();
    let ticking = Arc::clone(&clock);
    let asked = Arc::new(Scripted::thinking(move |request| {
        if let Some(clock) = ticking.get() {
            clock.pass(turn);
        }
        Ok(Thought {
            operations: vec![deduce(request)],
            done: false,
            usage: HUNDRED,
            ..Thought::default()
        })
    }));
    let config = Config {
        max_tokens_per_run,
        ..config()
    };
    let rig = Rig::with(config, Arc::clone(&asked) as _, Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..2)).await;
    rig.settle().await;
    clock.set(Arc::clone(&rig.clock)).unwrap();
    let ran = dream(&rig).await;
    (rig, ran, asked.thoughts())
}

fn tokens(run: &Value) -> u64 {
    let usage = run["usage"].as_object().unwrap();
    usage.values().map(|part| part.as_u64().unwrap()).sum()
}

#[tokio::test]
async fn a_run_whose_tokens_are_used_up_ends_its_phase_and_says_so() {
    let (rig, ran, asked) = endless(250, Duration::ZERO).await;
    assert_eq!((asked, tokens(&ran)), (3, 300));
    // What was paid for is carried out, and the run ends as any other.
    assert_eq!(
        (&ran["status"], &ran["created_count"]),
        (&json!("completed"), &json!(3))
    );
    assert_eq!(
        ran["error"],
        "deduction: ended, 300 tokens of 250 are used up; induction: not begun, 300 tokens of 250 are used up"
    );
    assert_eq!(status(&rig).await["new_conclusions"], 0);
}

#[tokio::test]
async fn a_budget_that_is_met_to_the_token_is_used_up() {
    let (_, ran, asked) = endless(300, Duration::ZERO).await;
    assert_eq!((asked, tokens(&ran)), (3, 300));
    let (_, ran, asked) = endless(301, Duration::ZERO).await;
    assert_eq!((asked, tokens(&ran)), (4, 400));
}

#[tokio::test]
async fn a_budget_counts_over_all_slices_of_a_run() {
    // Longer than a slice: each turn is another delivery's.
    let (_, ran, asked) = endless(250, Duration::from_mins(6)).await;
    assert_eq!((asked, tokens(&ran)), (3, 300));
    assert_eq!(ran["status"], "completed");
}

#[tokio::test]
async fn without_a_budget_only_turns_bound_a_run() {
    let (_, ran, asked) = endless(0, Duration::ZERO).await;
    assert_eq!((asked, tokens(&ran)), (24, 2400));
    assert_eq!(
        ran["error"],
        "deduction: ended after 12 turns; induction: ended after 12 turns"
    );
}

type Answer = fn(&ThinkRequest<'_>) -> Result<Thought, ReasonerError>;

/// A dream of which the phases answer like this.
async fn dreamt(deduction: Answer, induction: Answer) -> (Rig, Value) {
    let rig = scripted(Scripted::thinking(move |request| match request.phase {
        Phase::Deduction => deduction(request),
        _ => induction(request),
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    let ran = dream(&rig).await;
    (rig, ran)
}

#[allow(clippy::unnecessary_wraps, reason = "an answer among others")]
fn nothing(_: &ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
    Ok(thought(Vec::new()))
}

fn junk(_: &ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
    Err(ReasonerError::permanent("not the agreed shape".to_owned()))
}

/// What the toolbox refuses.
fn everything_goes(request: &ThinkRequest<'_>) -> Operation {
    Operation::Remove {
        ids: request.conclusions.iter().map(|found| found.id.clone()).collect(),
        reason: RemovalReason::Other,
        replaced_by: None,
    }
}

#[tokio::test]
async fn report_08_a_run_that_comes_to_nothing_because_a_phase_failed_has_failed() {
    let refused: Answer = |request| Ok(thought(vec![everything_goes(request)]));
    for bad in [junk as Answer, refused] {
        for (deduction, induction) in [(bad, nothing as Answer), (nothing, bad)] {
            let (rig, ran) = dreamt(deduction, induction).await;
            assert_eq!((&ran["status"], ran["error"].is_string()), (&json!("failed"), true));
            // It is tried again, after a while.
            let why = status(&rig).await;
            assert_eq!(
                (&why["verdict"], &why["new_conclusions"]),
                (&json!("backing_off"), &json!(5))
            );
        }
    }
}

#[tokio::test]
async fn a_run_that_changed_something_has_completed_and_says_which_phase_failed() {
    let (rig, ran) = dreamt(
        |request| Ok(thought(vec![deduce(request), everything_goes(request)])),
        |request| Ok(thought(vec![everything_goes(request), everything_goes(request)])),
    )
    .await;
    assert_eq!(
        (&ran["status"], &ran["created_count"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!(ran["error"], "induction: none of 2 operations was acceptable");
    assert_eq!(status(&rig).await["verdict"], "below_threshold");
}

#[tokio::test]
async fn a_reasoner_that_never_comes_to_anything_nor_to_an_end_has_failed() {
    let (_, ran) = dreamt(|_| Ok(Thought::default()), nothing).await;
    assert_eq!(ran["status"], "failed");
    assert_eq!(
        ran["error"],
        "deduction: ended after 12 turns; deduction: nothing was asked for"
    );
}

#[tokio::test]
async fn what_its_owner_erased_is_no_fault_of_the_reasoner() {
    // Whatever a dream deduces, its owner does not want to hear.
    let rig = scripted(Scripted::thinking(|request| {
        Ok(thought(vec![Operation::Create {
            level: Level::Deductive,
            content: "maya is tired".to_owned(),
            sources: vec![request.conclusions[0].id.clone()],
            pattern: None,
            replaces: Vec::new(),
        }]))
    }))
    .await;
    say(&rig, "s", "maya", &facts(0..2)).await;
    rig.settle().await;
    let first = dream(&rig).await;
    let unwanted = first["created"][0]["conclusion"]["id"].as_str().unwrap();
    rig.ok("DELETE", &format!("/v3/workspaces/w/conclusions/{unwanted}"), None)
        .await;
    let second = dream(&rig).await;
    assert_eq!(
        (&second["status"], &second["error"]),
        (&json!("completed"), &Value::Null)
    );
    assert_eq!(list(&second["created"]), [""; 0]);
}
