//! The second model behind the first.

use std::time::Duration;

use reverie_models::{ModelError, Provider, TransientFault};

use super::{TestPace, client_with, question, streamed};
use crate::rig::START;
use crate::rig::model_server::{Answer, ModelServer, Step};

const TWO: [(&str, &str); 2] = [("REVERIE_MODEL_FALLBACK", "openai:m-2"), ("REVERIE_MODEL_RETRIES", "1")];

fn models_asked(server: &ModelServer) -> Vec<String> {
    let asked = server.asked();
    asked
        .iter()
        .map(|asked| asked.body["model"].as_str().unwrap().to_owned())
        .collect()
}

fn down() -> Step {
    Step::refuse(529, "overloaded_error")
}

#[tokio::test]
async fn the_second_is_asked_when_the_first_is_exhausted_and_stays_for_five_minutes() {
    let server = ModelServer::start([
        down(),
        down(),
        Answer::text("second").into(),
        Answer::text("again").into(),
    ])
    .await;
    let pace = TestPace::new();
    let model = client_with(Provider::Anthropic, &server, &pace, &TWO);
    let found = model.complete(&question()).await.unwrap();
    assert_eq!((found.model.as_str(), found.text().as_str()), ("m-2", "second"));
    let (texts, _) = streamed(&model, &question()).await;
    assert_eq!(texts.concat(), "again");
    pace.pass(Duration::from_mins(5));
    server.then([Answer::text("first").into()]);
    assert_eq!(model.complete(&question()).await.unwrap().model, "m-1");
    assert_eq!(models_asked(&server), ["m-1", "m-1", "m-2", "m-2", "m-1"]);
}

#[tokio::test]
async fn a_stream_that_does_not_begin_goes_to_the_second() {
    let server = ModelServer::start([down(), down(), Answer::text("second").into()]).await;
    let model = client_with(Provider::Anthropic, &server, &TestPace::new(), &TWO);
    let (texts, found) = streamed(&model, &question()).await;
    assert_eq!(
        (texts.concat().as_str(), found.unwrap().model.as_str()),
        ("second", "m-2")
    );
}

#[tokio::test]
async fn a_model_that_is_gone_or_not_allowed_gives_way_and_a_bad_request_does_not() {
    for (step, gives_way) in [
        (Step::refuse(404, "not_found_error"), true),
        (Step::refuse(403, "permission_error"), true),
        (Step::refuse(401, "authentication_error"), true),
        (Step::refuse(402, "billing_error"), true),
        (Step::refuse(400, "invalid_request_error"), false),
        (Step::refuse(413, "request_too_large"), false),
        (
            Step::refuse_saying(400, "invalid_request_error", "prompt is too long"),
            false,
        ),
    ] {
        let what = format!("{step:?}");
        let server = ModelServer::start([step, Answer::text("second").into()]).await;
        let model = client_with(Provider::Anthropic, &server, &TestPace::new(), &TWO);
        assert_eq!(model.complete(&question()).await.is_ok(), gives_way, "{what}");
        assert_eq!(server.asked().len(), 1 + usize::from(gives_way), "{what}");
    }
}

#[tokio::test]
async fn when_both_fail_the_error_that_passes_sooner_counts() {
    let limited = |seconds: &str| Step::refuse_with(429, "rate_limit_error", &[("retry-after", seconds)]);
    for (first, second, seconds) in [("900", "60", 60), ("60", "900", 60)] {
        let server = ModelServer::start([limited(first), limited(second)]).await;
        let model = client_with(Provider::Anthropic, &server, &TestPace::new(), &TWO);
        let error = model.complete(&question()).await.unwrap_err();
        assert_eq!(error.retry_at(), Some(START + Duration::from_secs(seconds)));
    }
    // What passes counts before what does not.
    for steps in [
        vec![down(), down(), Step::refuse(404, "not_found_error")],
        vec![Step::refuse(404, "not_found_error"), down(), down()],
    ] {
        let server = ModelServer::start(steps).await;
        let model = client_with(Provider::Anthropic, &server, &TestPace::new(), &TWO);
        let error = model.complete(&question()).await.unwrap_err();
        let overloaded = TransientFault::Overloaded;
        assert!(
            matches!(error, ModelError::Transient { fault, .. } if fault == overloaded),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_first_is_asked_again_when_the_second_fails_meanwhile() {
    let server = ModelServer::start([down(), down(), Answer::text("second").into(), down(), down()]).await;
    server.then([Answer::text("first").into()]);
    let model = client_with(Provider::Anthropic, &server, &TestPace::new(), &TWO);
    model.complete(&question()).await.unwrap();
    assert_eq!(model.complete(&question()).await.unwrap().model, "m-1");
    assert_eq!(models_asked(&server), ["m-1", "m-1", "m-2", "m-2", "m-2", "m-1"]);
}
