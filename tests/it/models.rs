//! The clients of language and embedding models, against the scripted model server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use futures_util::StreamExt as _;
use reverie_core::time::Time;
use reverie_models::{
    AwsAccess, LanguageModel, ModelConfig, ModelConfigError, ModelError, Models, Pace, Provider, Request, Response,
    StreamEvent, Task,
};

use crate::rig::START;
use crate::rig::model_server::ModelServer;

mod check;
mod embeddings;
mod fallback;
mod faults;
mod requests;
mod secrets;
mod wires;

/// The key that every client here has.
const KEY: &str = "sk-never-show-this-key";

/// A pace that waits for nothing and remembers for how long it was to wait.
pub(crate) struct TestPace {
    now: Mutex<Time>,
    waits: Mutex<Vec<Duration>>,
}

impl TestPace {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            now: Mutex::new(START),
            waits: Mutex::default(),
        })
    }

    fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }

    /// Goes back to the start.
    fn reset(&self) {
        *self.now.lock().unwrap() = START;
        self.waits.lock().unwrap().clear();
    }

    pub(crate) fn pass(&self, by: Duration) {
        let mut now = self.now.lock().unwrap();
        *now = *now + by;
    }
}

#[async_trait]
impl Pace for TestPace {
    fn now(&self) -> Time {
        *self.now.lock().unwrap()
    }

    async fn sleep(&self, time: Duration) {
        self.waits.lock().unwrap().push(time);
        self.pass(time);
    }

    fn chance(&self) -> f64 {
        0.5
    }
}

fn aws() -> AwsAccess {
    let credentials = Credentials::new(
        "AKIDNEVERSHOWTHIS",
        "never-show-this-secret-access-key",
        None,
        None,
        "test",
    );
    AwsAccess {
        credentials: SharedCredentialsProvider::new(credentials),
        region: Some("eu-west-1".to_owned()),
    }
}

/// The models at `url`, as variables say; `more` come before the usual ones, and the first of a name counts.
pub(crate) fn models(url: &str, pace: &Arc<TestPace>, more: &[(&str, &str)]) -> Models {
    models_with(url, pace, more, Some(aws())).unwrap()
}

fn models_with(
    url: &str,
    pace: &Arc<TestPace>,
    more: &[(&str, &str)],
    aws: Option<AwsAccess>,
) -> Result<Models, ModelConfigError> {
    let openai = format!("{url}/v1");
    let usual = [
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", KEY),
        ("OPENAI_BASE_URL", &openai),
        ("OPENAI_API_KEY", KEY),
        ("AWS_ENDPOINT_URL", url),
        ("REVERIE_MODEL", "m-1"),
    ];
    let lookup = |name: &str| {
        let found = more.iter().chain(&usual).find(|(n, _)| *n == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let config = ModelConfig::read(lookup)?;
    let pace: Arc<dyn Pace> = pace.clone();
    Models::new(&config, aws, &pace)
}

pub(crate) const PROVIDERS: [Provider; 3] = [Provider::Anthropic, Provider::Bedrock, Provider::OpenAi];

fn client_with(
    provider: Provider,
    server: &ModelServer,
    pace: &Arc<TestPace>,
    more: &[(&str, &str)],
) -> Arc<dyn LanguageModel> {
    let mut all = more.to_vec();
    all.push(("REVERIE_MODEL_PROVIDER", provider.as_str()));
    models(&server.url(), pace, &all).language(Task::Dream).unwrap()
}

fn client(provider: Provider, server: &ModelServer, pace: &Arc<TestPace>) -> Arc<dyn LanguageModel> {
    client_with(provider, server, pace, &[])
}

fn question() -> Request {
    Request::new("You answer briefly.", "What does Maya never show? Her diary.", 100)
}

/// The texts of a stream as they came, and how it ended.
async fn streamed(model: &Arc<dyn LanguageModel>, request: &Request) -> (Vec<String>, Result<Response, ModelError>) {
    let mut texts = Vec::new();
    let mut stream = match model.stream(request).await {
        Ok(stream) => stream,
        Err(error) => return (texts, Err(error)),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(StreamEvent::Text(text)) => texts.push(text),
            Ok(StreamEvent::Done(response)) => {
                assert!(stream.next().await.is_none(), "nothing comes after the end");
                return (texts, Ok(response));
            }
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return (texts, Err(error));
            }
        }
    }
    panic!("the stream ended without an end: {texts:?}");
}

/// Asks whole or in parts; of a stream only how it ended.
async fn ask(model: &Arc<dyn LanguageModel>, request: &Request, is_stream: bool) -> Result<Response, ModelError> {
    if is_stream {
        streamed(model, request).await.1
    } else {
        model.complete(request).await
    }
}
