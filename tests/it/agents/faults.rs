//! What goes wrong with a model in a dream: the run ends as it should, and memory is intact.

use std::time::Duration;

use reverie_models::Provider;
use serde_json::{Value, json};

use super::dreaming::{SAID, script, told_by_api};
use super::{Asked, Scene, dreaming, scene};
use crate::models::PROVIDERS;
use crate::rig::model_server::{Answer, Part, Step};
use crate::rig::steps::{ask, newest, runs, texts};

/// How a dream ends whose first answer is this.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// As if nothing had been.
    Well,
    /// Deduction has failed; induction has done its work.
    HalfWith(&'static str),
    /// With nothing done.
    FailedWith(&'static str),
}

async fn sorted(scene: &Scene) -> Vec<String> {
    let mut texts = texts(&scene.rig).await;
    texts.sort();
    texts
}

/// A dream, given so much time as an outage takes.
async fn dreamt(scene: &Scene) -> Value {
    ask(&scene.rig, "maya").await;
    scene.rig.settle().await;
    for _ in 0..6 {
        if runs(&scene.rig).await[0]["ended_at"].is_string() {
            break;
        }
        scene.advance(Duration::from_mins(6)).await;
        scene.rig.engine.reconcile().await.unwrap();
        scene.rig.settle().await;
    }
    newest(&scene.rig).await
}

async fn check(name: &str, provider: Provider, steps: Vec<Step>, end: End) {
    let scene = scene(provider).await;
    told_by_api(&scene).await;
    scene.server.then(steps);
    dreaming(&scene.server, script);
    let run = dreamt(&scene).await;
    let at = format!("{name} on {}: {run:#}", provider.as_str());
    let error = run["error"].as_str().unwrap_or_default();
    let done = sorted(&scene).await;
    match end {
        End::Well => {
            assert_eq!((&run["status"], error), (&json!("completed"), ""), "{at}");
            assert!(
                done.contains(&"maya works at Qualcomm, formerly at Intel".to_owned()),
                "{at}"
            );
        }
        End::HalfWith(part) => {
            assert_eq!(run["status"], "completed", "{at}");
            assert!(error.starts_with("deduction: ") && error.contains(part), "{at}");
            let mut expected: Vec<&str> = SAID.to_vec();
            expected.push("maya often paints");
            expected.sort_unstable();
            assert_eq!(done, expected, "{at}");
        }
        End::FailedWith(part) => {
            assert_eq!(run["status"], "failed", "{at}");
            assert!(error.contains(part), "{at}");
            let mut expected: Vec<&str> = SAID.to_vec();
            expected.sort_unstable();
            assert_eq!(done, expected, "{at}");
        }
    }
    assert!(!error.contains("maya"), "no text of users in errors: {at}");
}

/// A call whose arguments stand as they are written.
fn called(name: &str, arguments: &str) -> Answer {
    Answer {
        parts: vec![Part::Call("c1".to_owned(), name.to_owned(), arguments.to_owned())],
        ..Answer::calls(&[])
    }
}

fn calling(name: &str, arguments: &str) -> Step {
    called(name, arguments).into()
}

fn stopped(stop: &'static str, text: &str) -> Step {
    Answer {
        stop,
        ..Answer::text(text)
    }
    .into()
}

#[tokio::test]
async fn what_passes_is_waited_for_and_asked_again() {
    for provider in PROVIDERS {
        let answer = || Answer::text("That is all.");
        for (name, step) in [
            ("429", Step::refuse(429, "rate_limit_error")),
            (
                "429 with a time",
                Step::refuse_with(429, "rate_limit_error", &[("retry-after", "300")]),
            ),
            ("529", Step::refuse(529, "overloaded_error")),
            ("500", Step::refuse(500, "api_error")),
            ("a cut connection", Step::HangUp),
            ("a cut answer", Step::Cut(answer(), 1)),
        ] {
            check(name, provider, vec![step.clone(), step], End::Well).await;
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_before_the_time_that_the_provider_named() {
    let scene = scene(Provider::Anthropic).await;
    told_by_api(&scene).await;
    let limited = Step::refuse_with(429, "rate_limit_error", &[("retry-after", "300")]);
    scene.server.then([limited]);
    dreaming(&scene.server, script);
    ask(&scene.rig, "maya").await;
    scene.rig.settle().await;
    assert_eq!(scene.asked(), 1);
    scene.advance(Duration::from_secs(299)).await;
    assert_eq!(scene.asked(), 1, "not yet");
    scene.advance(Duration::from_secs(2)).await;
    assert_eq!(newest(&scene.rig).await["status"], "completed");
}

#[tokio::test]
async fn what_stays_fails_the_phase_and_not_the_memory() {
    for provider in PROVIDERS {
        let nothing = Answer {
            parts: Vec::new(),
            ..Answer::text("")
        };
        let first = |step: Step| vec![step];
        check(
            "a refused request",
            provider,
            first(Step::refuse(400, "invalid_request_error")),
            End::HalfWith("refuses"),
        )
        .await;
        check(
            "nothing",
            provider,
            first(nothing.into()),
            End::HalfWith("answered nothing"),
        )
        .await;
        check(
            "a refusal",
            provider,
            first(stopped("refusal", "I cannot help with that.")),
            End::HalfWith("the model refuses"),
        )
        .await;
        let mistakes = vec![
            calling("remove", "{\"ids\": [\"zzzzzz\"], \"reason\": \"other\"}"),
            Answer::text("Done.").into(),
        ];
        check(
            "an id that does not exist",
            provider,
            mistakes,
            End::HalfWith("none of the model's calls"),
        )
        .await;
        let broken = vec![calling("merge", "{\"keep\": \"abc"), Answer::text("Done.").into()];
        check(
            "arguments that are no JSON",
            provider,
            broken,
            End::HalfWith("none of the model's calls"),
        )
        .await;
        let circles = vec![calling("search", "{\"query\": \"work\"}"); 12];
        check("a loop", provider, circles, End::HalfWith("asked for nothing")).await;
        let locked = vec![Step::refuse(401, "authentication_error"); 6];
        check(
            "a wrong key",
            provider,
            locked,
            End::FailedWith("does not accept the key"),
        )
        .await;
    }
}

#[tokio::test]
async fn mistakes_can_be_mended() {
    for provider in PROVIDERS {
        for (name, step) in [
            (
                "an id that does not exist",
                calling("remove", "{\"ids\": [\"zzzzzz\"], \"reason\": \"other\"}"),
            ),
            ("arguments that are no JSON", calling("merge", "{\"keep\": \"abc")),
            ("a tool that is none", calling("format_disk", "{}")),
            ("an answer that is cut off", stopped("max_tokens", "Let me think about")),
            (
                "a call that is cut off",
                Answer {
                    stop: "max_tokens",
                    ..called("remove", "{\"ids\": [\"")
                }
                .into(),
            ),
        ] {
            let scene = scene(provider).await;
            told_by_api(&scene).await;
            scene.server.then([step]);
            dreaming(&scene.server, |what, seen| {
                if (what, seen.turn) != (Asked::Deduction, 1) {
                    return None;
                }
                let id = |text: &str| seen.id(text).unwrap();
                let merge =
                    json!({"keep": id("maya works at Qualcomm"), "duplicates": [id("maya is employed by Qualcomm")]});
                Some(Answer::calls(&[("merge", merge), ("finish", json!({}))]).into())
            });
            let run = dreamt(&scene).await;
            assert_eq!(
                (&run["status"], &run["error"]),
                (&json!("completed"), &Value::Null),
                "{name}: {run:#}"
            );
            assert_eq!(run["removed_count"], 1, "{name}");
        }
    }
}

#[tokio::test]
async fn a_model_that_wants_to_delete_everything_is_stopped_and_undone() {
    for provider in PROVIDERS {
        let scene = scene(provider).await;
        told_by_api(&scene).await;
        dreaming(&scene.server, |what, seen| {
            if what != Asked::Deduction || seen.turn > 0 {
                return None;
            }
            let ids: Vec<String> = SAID.iter().map(|text| seen.id(text).unwrap()).collect();
            let mut calls = vec![("remove", json!({"ids": ids, "reason": "other"}))];
            calls.extend(ids.iter().map(|id| ("remove", json!({"ids": [id], "reason": "other"}))));
            Some(Answer::calls(&calls).into())
        });
        let run = dreamt(&scene).await;
        assert_eq!(run["status"], "completed", "{run:#}");
        assert_eq!(run["removed_count"], 2, "half of five, rounded down");
        assert_eq!(texts(&scene.rig).await.len(), 3);
        let path = format!("/v3/workspaces/w/dreams/{}/undo", run["id"].as_str().unwrap());
        scene.rig.post(&path, json!({})).await;
        scene.rig.settle().await;
        let mut said = SAID.to_vec();
        said.sort_unstable();
        assert_eq!(sorted(&scene).await, said);
    }
}

#[tokio::test]
async fn an_outage_longer_than_a_run_waits_fails_it_and_touches_nothing() {
    let scene = scene(Provider::Anthropic).await;
    told_by_api(&scene).await;
    scene.server.otherwise(|_| Step::refuse(529, "overloaded_error"));
    let run = dreamt(&scene).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    assert!(run["error"].as_str().unwrap().contains("overloaded"));
    let mut said = SAID.to_vec();
    said.sort_unstable();
    assert_eq!(sorted(&scene).await, said);
}
