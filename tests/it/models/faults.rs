//! Every fault on every wire, whole and in parts.

use std::time::Duration;

use reverie_models::{ModelError, PermanentFault, TransientFault};
use serde_json::json;

use super::{PROVIDERS, TestPace, ask, client, client_with, question, streamed};
use crate::rig::START;
use crate::rig::model_server::{Answer, ModelServer, Step};

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Answered,
    Transient(TransientFault),
    Permanent(PermanentFault),
}

fn end(answer: &Result<reverie_models::Response, ModelError>) -> End {
    match answer {
        Ok(response) => {
            assert_eq!(response.text(), "Her diary.");
            End::Answered
        }
        Err(ModelError::Transient { fault, .. }) => End::Transient(*fault),
        Err(ModelError::Permanent { fault, .. }) => End::Permanent(*fault),
    }
}

struct Fault {
    name: &'static str,
    steps: Vec<Step>,
    end: End,
    /// Requests in all.
    asked: usize,
}

fn answer() -> Answer {
    Answer::text("Her diary.")
}

/// A fault once, and then an answer.
fn passes(name: &'static str, step: Step) -> Fault {
    Fault {
        name,
        steps: vec![step, answer().into()],
        end: End::Answered,
        asked: 2,
    }
}

/// A fault after which nothing is tried.
fn ends(name: &'static str, step: Step, end: End) -> Fault {
    Fault {
        name,
        steps: vec![step, answer().into()],
        end,
        asked: 1,
    }
}

/// A fault again and again.
fn stays(name: &'static str, step: &Step, fault: TransientFault) -> Fault {
    Fault {
        name,
        steps: vec![step.clone(); 9],
        end: End::Transient(fault),
        asked: 4,
    }
}

fn faults() -> Vec<Fault> {
    use PermanentFault as P;
    use TransientFault as T;
    let permanent = End::Permanent;
    let limited = |headers: &[(&'static str, &str)]| Step::refuse_with(429, "rate_limit_error", headers);
    let json = "application/json";
    vec![
        passes("429", limited(&[])),
        passes("429 for 7 s", limited(&[("retry-after", "7")])),
        passes(
            "429 until a date",
            limited(&[("retry-after", "Thu, 01 Jan 2026 00:00:09 GMT")]),
        ),
        ends(
            "429 for 10 min",
            limited(&[("retry-after", "600")]),
            End::Transient(T::RateLimited),
        ),
        ends(
            "429, spend limit",
            Step::Refuse(
                429,
                vec![],
                json!({"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}),
            ),
            permanent(P::Billing),
        ),
        passes("500", Step::refuse(500, "api_error")),
        passes("502", Step::Refuse(502, vec![], json!("bad gateway"))),
        passes("503", Step::refuse(503, "x")),
        passes("504", Step::refuse(504, "timeout_error")),
        passes("529", Step::refuse(529, "overloaded_error")),
        passes(
            "409 to be tried again",
            Step::refuse_with(409, "conflict_error", &[("x-should-retry", "true")]),
        ),
        ends(
            "500 not to be tried again",
            Step::refuse_with(500, "api_error", &[("x-should-retry", "false")]),
            End::Transient(T::Unavailable),
        ),
        stays("529 for ever", &Step::refuse(529, "overloaded_error"), T::Overloaded),
        stays("429 for ever", &limited(&[("retry-after", "2")]), T::RateLimited),
        ends(
            "400",
            Step::refuse(400, "invalid_request_error"),
            permanent(P::InvalidRequest),
        ),
        ends(
            "400, too long",
            Step::refuse_saying(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            permanent(P::ContextOverflow),
        ),
        ends(
            "401",
            Step::refuse(401, "authentication_error"),
            permanent(P::Authentication),
        ),
        ends("402", Step::refuse(402, "billing_error"), permanent(P::Billing)),
        ends("403", Step::refuse(403, "permission_error"), permanent(P::Permission)),
        ends("404", Step::refuse(404, "not_found_error"), permanent(P::NotFound)),
        ends("413", Step::refuse(413, "request_too_large"), permanent(P::TooLarge)),
        ends(
            "a redirection",
            Step::Refuse(307, vec![("location", "/v1/messages".to_owned())], json!(null)),
            permanent(P::NotFound),
        ),
        passes("a connection closed without a word", Step::HangUp),
        passes("a cut before the first part", Step::Cut(answer(), 0)),
        passes("a cut in the first part", Step::Cut(answer(), 1)),
        passes("an end before the first part", Step::Short(answer(), 0)),
        passes("an end in the first part", Step::Short(answer(), 1)),
        passes(
            "a page of a proxy",
            Step::Raw("text/html", "<html>no healthy upstream</html>".to_owned()),
        ),
        stays("cuts for ever", &Step::Cut(answer(), 1), T::Broken),
        ends(
            "an answer of no shape",
            Step::Raw(json, "{\"id\":1}".to_owned()),
            permanent(P::BadAnswer),
        ),
        passes(
            "an error with status 200",
            Step::Raw(json, "{\"error\":{\"code\":503,\"message\":\"no\"}}".to_owned()),
        ),
        ends(
            "an answer without end",
            Step::Raw(json, format!("\"{}\"", "x".repeat(17 * 1024 * 1024))),
            permanent(P::BadAnswer),
        ),
    ]
}

#[tokio::test]
async fn every_fault_ends_as_it_should_on_every_wire() {
    for provider in PROVIDERS {
        // One client for all: making one reads the system's certificates.
        let server = ModelServer::start([]).await;
        let pace = TestPace::new();
        let model = client(provider, &server, &pace);
        for is_stream in [false, true] {
            for fault in faults() {
                let what = format!("{} on {}, stream {is_stream}", fault.name, provider.as_str());
                server.begin(fault.steps);
                pace.reset();
                let found = ask(&model, &question(), is_stream).await;
                // Bedrock's credentials may have ended, so a 401 is tried once with fresh ones, without a wait.
                let again = usize::from(fault.name == "401" && provider == reverie_models::Provider::Bedrock);
                let expected = if again == 0 { fault.end } else { End::Answered };
                assert_eq!(end(&found), expected, "{what}: {found:?}");
                assert_eq!(server.asked().len(), fault.asked + again, "{what}");
                assert_eq!(pace.waits().len(), fault.asked - 1, "{what}: {:?}", pace.waits());
                if let Err(error) = found {
                    let shown = format!("{error} {error:?}");
                    for secret in [super::KEY, "diary", "never-show", "says the server"] {
                        assert!(!shown.contains(secret), "{what}: {shown}");
                    }
                    assert!(shown.contains("m-1"), "{what}: {shown}");
                }
            }
        }
    }
}

#[tokio::test]
async fn waits_grow_keep_to_what_the_provider_asks_and_end() {
    let seconds = |seconds: &[f64]| seconds.iter().copied().map(Duration::from_secs_f64).collect::<Vec<_>>();
    for (headers, expected) in [
        // Half of the bounds 0.5, 1 and 2 s: the chance in tests is a half.
        (vec![], seconds(&[0.25, 0.5, 1.0])),
        (vec![("retry-after", "7")], seconds(&[7.25, 7.25, 7.25])),
        (vec![("retry-after", "0")], seconds(&[0.25, 0.25, 0.25])),
        (vec![("retry-after-ms", "100")], seconds(&[0.35, 0.35, 0.35])),
    ] {
        let server = ModelServer::start(vec![Step::refuse_with(429, "rate_limit_error", &headers); 4]).await;
        let pace = TestPace::new();
        let model = client(reverie_models::Provider::Anthropic, &server, &pace);
        assert!(model.complete(&question()).await.is_err());
        assert_eq!(pace.waits(), expected, "{headers:?}");
    }
}

#[tokio::test]
async fn what_asks_for_a_longer_wait_is_left_alone_until_then() {
    let far = Step::refuse_with(429, "rate_limit_error", &[("retry-after", "600")]);
    let server = ModelServer::start([far]).await;
    let pace = TestPace::new();
    let model = client(reverie_models::Provider::OpenAi, &server, &pace);
    let error = model.complete(&question()).await.unwrap_err();
    assert_eq!(error.retry_at(), Some(START + Duration::from_mins(10)));
    assert!(pace.waits().is_empty());
}

#[tokio::test]
async fn a_call_with_its_retries_ends_within_its_time() {
    let server = ModelServer::start(vec![Step::refuse(529, "overloaded_error"); 20]).await;
    let pace = TestPace::new();
    let limits = [("REVERIE_MODEL_TIMEOUT_SECONDS", "10"), ("REVERIE_MODEL_RETRIES", "10")];
    let model = client_with(reverie_models::Provider::Anthropic, &server, &pace, &limits);
    assert!(model.complete(&question()).await.is_err());
    // 0.25 + 0.5 + 1 + 2 s; another 4 s fit, and 4 s more do not.
    assert_eq!(pace.waits().iter().sum::<Duration>(), Duration::from_secs_f64(7.75));
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn who_says_nothing_is_not_waited_for() {
    let limits = [("REVERIE_MODEL_TIMEOUT_SECONDS", "0.3"), ("REVERIE_MODEL_RETRIES", "0")];
    for provider in PROVIDERS {
        for is_stream in [false, true] {
            for step in [Step::Silence, Step::Stall(Answer::text("Her diary."), 1)] {
                let what = format!("{step:?} on {}, stream {is_stream}", provider.as_str());
                let server = ModelServer::start([step]).await;
                let model = client_with(provider, &server, &TestPace::new(), &limits);
                let found = ask(&model, &question(), is_stream).await;
                assert_eq!(
                    end(&found),
                    End::Transient(TransientFault::Timeout),
                    "{what}: {found:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn nobody_there_is_no_connection() {
    let pace = TestPace::new();
    for provider in PROVIDERS {
        let url = ModelServer::start([]).await.url();
        let all = [
            ("REVERIE_MODEL_PROVIDER", provider.as_str()),
            ("REVERIE_MODEL_RETRIES", "1"),
        ];
        let models = super::models(&url, &pace, &all);
        let model = models.language(reverie_models::Task::Chat).unwrap();
        let found = model.complete(&question()).await;
        assert_eq!(end(&found), End::Transient(TransientFault::Connection), "{found:?}");
    }
    assert_eq!(pace.waits().len(), PROVIDERS.len());
}

#[tokio::test]
async fn a_stream_that_breaks_after_its_first_text_says_so_and_is_not_begun_again() {
    let limits = [("REVERIE_MODEL_TIMEOUT_SECONDS", "0.3")];
    for provider in PROVIDERS {
        // Enough parts for the first half of the text, not for the second.
        let parts = if provider == reverie_models::Provider::OpenAi {
            2
        } else {
            4
        };
        for (step, fault) in [
            (Step::Cut(answer(), parts), TransientFault::Broken),
            (Step::Short(answer(), parts), TransientFault::Broken),
            (Step::Stall(answer(), parts), TransientFault::Timeout),
        ] {
            let what = format!("{step:?} on {}", provider.as_str());
            let server = ModelServer::start([step]).await;
            let pace = TestPace::new();
            let (texts, found) = streamed(&client_with(provider, &server, &pace, &limits), &question()).await;
            assert_eq!(texts, ["Her d"], "{what}");
            assert_eq!(end(&found), End::Transient(fault), "{what}: {found:?}");
            assert_eq!(server.asked().len(), 1, "{what}");
        }
    }
}
