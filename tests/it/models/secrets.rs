//! Keys: read when they are needed, read anew when they are not accepted, and never shown.

use std::io::Write;
use std::sync::{Arc, Mutex};

use reverie_models::{AwsAccess, ModelError, PermanentFault, Provider};
use serde_json::json;
use tracing::instrument::WithSubscriber as _;

use super::{KEY, PROVIDERS, TestPace, ask, aws, client, client_with, models_with, question};
use crate::rig::model_server::{Answer, ModelServer, Step};

const SECRET: &str = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:reverie-AbCdEf";
const PARAMETER: &str = "arn:aws:ssm:eu-central-1:123456789012:parameter/reverie/key";

#[tokio::test]
async fn a_key_in_aws_is_read_once_when_it_is_first_needed() {
    for (arn, value, target) in [
        (SECRET.to_owned(), "sk-kept\n", "secretsmanager.GetSecretValue"),
        (
            format!("{SECRET}#key"),
            "{\"key\":\"sk-kept\"}",
            "secretsmanager.GetSecretValue",
        ),
        (PARAMETER.to_owned(), "sk-kept", "AmazonSSM.GetParameter"),
    ] {
        let server = ModelServer::start([Answer::text("a").into(), Answer::text("b").into()]).await;
        server.secret(arn.trim_end_matches("#key"), &[value]);
        server.accept_only("sk-kept");
        let model = client_with(
            Provider::Anthropic,
            &server,
            &TestPace::new(),
            &[("ANTHROPIC_API_KEY", &arn)],
        );
        assert!(server.asked().is_empty(), "nothing is read before it is needed");
        model.complete(&question()).await.unwrap();
        model.complete(&question()).await.unwrap();
        let paths: Vec<_> = server.asked().into_iter().map(|asked| asked.path).collect();
        assert_eq!(paths, [target, "/v1/messages", "/v1/messages"]);
        let read = &server.asked()[0];
        // In the secret's region, which need not be the deployment's.
        assert!(read.header("authorization").contains("/eu-central-1/"), "{read:?}");
        if target.starts_with("AmazonSSM") {
            assert_eq!(read.body["WithDecryption"], true);
        }
    }
}

#[tokio::test]
async fn a_key_that_was_changed_is_read_anew() {
    let server = ModelServer::start([Answer::text("a").into()]).await;
    server.secret(SECRET, &["sk-old", "sk-new"]);
    server.accept_only("sk-new");
    let pace = TestPace::new();
    let model = client_with(Provider::OpenAi, &server, &pace, &[("OPENAI_API_KEY", SECRET)]);
    model.complete(&question()).await.unwrap();
    assert_eq!(server.asked().len(), 4, "read, refused, read, accepted");
    assert!(pace.waits().is_empty());
}

#[tokio::test]
async fn a_key_that_is_wrong_for_good_ends_the_call() {
    let server = ModelServer::start([]).await;
    server.secret(SECRET, &["sk-old"]);
    server.accept_only("sk-new");
    let model = client_with(
        Provider::Anthropic,
        &server,
        &TestPace::new(),
        &[("ANTHROPIC_API_KEY", SECRET)],
    );
    let error = model.complete(&question()).await.unwrap_err();
    let fault = PermanentFault::Authentication;
    assert!(
        matches!(&error, ModelError::Permanent { fault: found, .. } if *found == fault),
        "{error}"
    );
    assert_eq!(server.asked().len(), 3, "read, refused, read the same");
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_an_error_that_says_so() {
    let server = ModelServer::start([]).await;
    server.secret(SECRET, &["{\"other\":\"sk-kept\"}"]);
    for (arn, part) in [
        (PARAMETER.to_owned(), "ResourceNotFoundException"),
        (format!("{SECRET}#key"), "no such member"),
    ] {
        let model = client_with(
            Provider::Anthropic,
            &server,
            &TestPace::new(),
            &[("ANTHROPIC_API_KEY", &arn)],
        );
        let error = model.complete(&question()).await.unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("sk-kept"), "{error}");
    }
}

#[test]
fn what_aws_must_give_is_missed_at_the_start() {
    let bedrock = [("REVERIE_MODEL_PROVIDER", "bedrock")];
    let kept = [("REVERIE_MODEL_PROVIDER", "anthropic"), ("ANTHROPIC_API_KEY", SECRET)];
    let without_region = AwsAccess { region: None, ..aws() };
    for (settings, aws, name) in [
        (&bedrock[..], None, "AWS_ACCESS_KEY_ID"),
        (&bedrock[..], Some(without_region), "AWS_REGION"),
        (&kept[..], None, "AWS_ACCESS_KEY_ID"),
    ] {
        let error = models_with("http://127.0.0.1:9", &TestPace::new(), settings, aws).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(name), "{name}: {error}");
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything that is logged, of all crates and levels, and every error: no key, no text.
#[tokio::test]
async fn no_log_and_no_error_shows_a_key_or_what_was_said() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let subscriber = tracing::Dispatch::new(subscriber);
    // With one subscriber alone, a place that logs in another thread first is taken for one that nobody listens to.
    let _other = tracing::Dispatch::new(tracing_subscriber::registry());
    let mut shown = Vec::new();
    let calls = async {
        for provider in PROVIDERS {
            // What Bedrock is sent is signed with a key, and holds none.
            let key = if provider == Provider::Bedrock { "" } else { KEY };
            for is_stream in [false, true] {
                for step in [
                    Answer::text("Her diary.").into(),
                    Step::refuse_saying(400, "invalid_request_error", &format!("your diary, your key {key}")),
                    Step::refuse(529, "overloaded_error"),
                    Step::Cut(Answer::text("Her diary."), 1),
                    Step::HangUp,
                    // A gateway that says 200, and quotes the key where its word for the error belongs.
                    Step::Raw(
                        "application/json",
                        json!({"error": {"code": key, "message": key}}).to_string(),
                    ),
                ] {
                    let server = ModelServer::start(vec![step; 2]).await;
                    let once = [
                        ("REVERIE_MODEL_RETRIES", "1"),
                        ("REVERIE_MODEL_FALLBACK", "anthropic:m-2"),
                    ];
                    let model = client_with(provider, &server, &TestPace::new(), &once);
                    if let Err(error) = ask(&model, &question(), is_stream).await {
                        shown.push(format!("{error} {error:?} {:?}", error.origin().providers_words()));
                    }
                }
                // A provider that quotes the key.
                let server = ModelServer::start([]).await;
                server.accept_only("another");
                let error = ask(&client(provider, &server, &TestPace::new()), &question(), is_stream).await;
                let error = error.unwrap_err();
                shown.push(format!("{error} {error:?} {:?}", error.origin().providers_words()));
            }
        }
    };
    calls.with_subscriber(subscriber).await;
    let shown = shown.join("\n");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("a model is asked again") && log.contains("the other is asked"),
        "the log is captured"
    );
    for secret in [KEY, "never-show-this-secret-access-key"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!log.contains(secret), "the log holds {secret}");
    }
    assert!(!log.contains("diary"), "the log holds what was said");
}
