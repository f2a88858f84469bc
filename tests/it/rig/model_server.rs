//! A scripted model server: speaks the wires of all providers on a free port, answers as told, breaks as told, and
//! remembers what it was asked.
//!
//! Language models and embeddings have a script each. An empty script of embeddings answers by itself; an empty script
//! of the language model is an error that says so, unless there is somebody who answers ([`ModelServer::otherwise`]). The addresses: [`ModelServer::url`] is that of Anthropic and of AWS,
//! and `/v1` below it that of OpenAI.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

mod dialects;

use dialects::{Dialect, Rendered};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Answers, whole or in parts as it was asked.
    Answer(Answer),
    /// Answers so much of it, then cuts the connection: 0 is before the first part, but after the head.
    Cut(Answer, usize),
    /// Answers so much of it and ends as if that were all.
    Short(Answer, usize),
    /// Refuses: a status, headers, a body.
    Refuse(u16, Vec<(&'static str, String)>, Value),
    /// Status 200 with this in place of an answer.
    Raw(&'static str, String),
    /// Closes the connection without a word.
    HangUp,
    /// Says nothing, for longer than anyone waits.
    Silence,
    /// Answers the head and so much, and then says nothing.
    Stall(Answer, usize),
}

impl Step {
    /// Refuses with an error of Anthropic's form, which every client reads.
    pub(crate) fn refuse(status: u16, kind: &str) -> Self {
        Self::refuse_with(status, kind, &[])
    }

    /// The same with headers.
    pub(crate) fn refuse_with(status: u16, kind: &str, headers: &[(&'static str, &str)]) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": format!("{kind}, says the server")}});
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Self::Refuse(status, headers.collect(), body)
    }

    /// Refuses with a sentence.
    pub(crate) fn refuse_saying(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        Self::Refuse(status, Vec::new(), body)
    }
}

/// A model's answer, in no dialect.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// What it says, in order.
    pub(crate) parts: Vec<Part>,
    /// Why it stops, by Anthropic's word.
    pub(crate) stop: &'static str,
    /// Tokens read anew, written, read from the cache, written to the cache.
    pub(crate) usage: [u64; 4],
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text.
    Text(String),
    /// Thinking, with its signature; only Anthropic's dialect has it.
    Thinking(String),
    /// A call of a tool: its id, its name, its arguments as they are written.
    Call(String, String, String),
}

impl Answer {
    /// A text.
    pub(crate) fn text(text: &str) -> Self {
        Self {
            parts: vec![Part::Text(text.to_owned())],
            stop: "end_turn",
            usage: [10, 5, 0, 0],
        }
    }

    /// Calls of tools: name and arguments each; ids count from `c1`.
    pub(crate) fn calls(calls: &[(&str, Value)]) -> Self {
        let parts = calls.iter().enumerate().map(|(at, (name, arguments))| {
            Part::Call(format!("c{}", at + 1), (*name).to_owned(), arguments.to_string())
        });
        Self {
            parts: parts.collect(),
            stop: "tool_use",
            usage: [10, 5, 0, 0],
        }
    }
}

impl From<Answer> for Step {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Path, as it was sent.
    pub(crate) path: String,
    /// Headers.
    pub(crate) headers: HeaderMap,
    /// Body.
    pub(crate) body: Value,
}

impl Asked {
    /// A header's value; empty when there is none.
    pub(crate) fn header(&self, name: &str) -> String {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }
}

/// Who answers to what a model is asked.
type Answerer = Arc<dyn Fn(&Value) -> Step + Send + Sync>;

#[derive(Default)]
struct Script {
    language: VecDeque<Step>,
    otherwise: Option<Answerer>,
    embeddings: VecDeque<Step>,
    asked: Vec<Asked>,
    secrets: HashMap<String, VecDeque<String>>,
    /// What a key must be; any is accepted when there is none.
    key: Option<String>,
}

/// The running server; it stops when it is dropped.
pub(crate) struct ModelServer {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    task: JoinHandle<()>,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Shared = State<Arc<Mutex<Script>>>;

impl ModelServer {
    /// Starts with a script of the language model.
    pub(crate) async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Arc::new(Mutex::new(Script {
            language: steps.into_iter().collect(),
            ..Script::default()
        }));
        let router = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/chat/completions", post(completions))
            .route("/v1/embeddings", post(embeddings))
            .route("/model/{model}/{operation}", post(bedrock))
            .route("/", post(secrets))
            .with_state(Arc::clone(&script));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { address, script, task }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Begins another script of the language model, and forgets what was asked.
    pub(crate) fn begin(&self, steps: impl IntoIterator<Item = Step>) {
        let mut script = self.script.lock().unwrap();
        script.language = steps.into_iter().collect();
        script.asked.clear();
    }

    /// More steps of the language model.
    pub(crate) fn then(&self, steps: impl IntoIterator<Item = Step>) {
        self.script.lock().unwrap().language.extend(steps);
    }

    /// What is done with a request once the script of the language model is over.
    pub(crate) fn otherwise(&self, answerer: impl Fn(&Value) -> Step + Send + Sync + 'static) {
        self.script.lock().unwrap().otherwise = Some(Arc::new(answerer));
    }

    /// Steps of the embedding model, before it answers by itself.
    pub(crate) fn embedding(&self, steps: impl IntoIterator<Item = Step>) {
        self.script.lock().unwrap().embeddings.extend(steps);
    }

    /// The values of a secret, one after the other; the last one stays.
    pub(crate) fn secret(&self, arn: &str, values: &[&str]) {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        self.script.lock().unwrap().secrets.insert(arn.to_owned(), values);
    }

    /// From now on only this key is accepted.
    pub(crate) fn accept_only(&self, key: &str) {
        self.script.lock().unwrap().key = Some(key.to_owned());
    }

    /// Everything that was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }

    /// How many steps of the language model are left.
    pub(crate) fn left(&self) -> usize {
        self.script.lock().unwrap().language.len()
    }
}

/// Remembers a request; a refusal when its key is not accepted.
fn enter(script: &mut Script, path: &str, headers: &HeaderMap, body: &Bytes) -> Result<Value, Box<Response>> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let asked = Asked {
        path: path.to_owned(),
        headers: headers.clone(),
        body: body.clone(),
    };
    let keys = [asked.header("x-api-key"), asked.header("authorization")];
    script.asked.push(asked);
    match &script.key {
        Some(key) if !keys.iter().any(|given| given.trim_start_matches("Bearer ") == key) => {
            let [key, bearer] = keys;
            // As some providers do, it quotes the key.
            let said = format!("invalid key {key}{bearer}");
            Err(Box::new(refusal(
                401,
                &[],
                &json!({"error": {"type": "authentication_error", "message": said}}),
            )))
        }
        _ => Ok(body),
    }
}

async fn messages(State(script): Shared, headers: HeaderMap, body: Bytes) -> Response {
    language(&script, "/v1/messages", &headers, &body, |body| {
        (Dialect::Anthropic, body["stream"] == true)
    })
    .await
}

async fn completions(State(script): Shared, headers: HeaderMap, body: Bytes) -> Response {
    language(&script, "/v1/chat/completions", &headers, &body, |body| {
        (Dialect::OpenAi, body["stream"] == true)
    })
    .await
}

async fn bedrock(
    State(script): Shared,
    Path((model, operation)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/model/{model}/{operation}");
    if model.contains("embed") {
        return embed(&script, &path, &headers, &body).await;
    }
    language(&script, &path, &headers, &body, |_| {
        (Dialect::Bedrock, operation == "invoke-with-response-stream")
    })
    .await
}

async fn embeddings(State(script): Shared, headers: HeaderMap, body: Bytes) -> Response {
    embed(&script, "/v1/embeddings", &headers, &body).await
}

async fn language(
    script: &Arc<Mutex<Script>>,
    path: &str,
    headers: &HeaderMap,
    body: &Bytes,
    dialect: impl FnOnce(&Value) -> (Dialect, bool),
) -> Response {
    let (step, body) = {
        let mut script = script.lock().unwrap();
        let body = match enter(&mut script, path, headers, body) {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        let step = match (script.language.pop_front(), &script.otherwise) {
            (Some(step), _) => step,
            (None, Some(answerer)) => answerer(&body),
            (None, None) => Step::refuse_saying(400, "invalid_request_error", "the script is over"),
        };
        (step, body)
    };
    let (dialect, is_stream) = dialect(&body);
    play(step, |answer| dialect.render(answer, is_stream)).await
}

async fn embed(script: &Arc<Mutex<Script>>, path: &str, headers: &HeaderMap, body: &Bytes) -> Response {
    let (step, body) = {
        let mut script = script.lock().unwrap();
        match enter(&mut script, path, headers, body) {
            Ok(body) => (script.embeddings.pop_front(), body),
            Err(refusal) => return *refusal,
        }
    };
    let vectors = dialects::vectors(&body);
    match step {
        None => Rendered::json(&vectors).whole(),
        Some(step) => play(step, |_| Rendered::json(&vectors)).await,
    }
}

/// Secrets Manager and SSM, in AWS's JSON dialect.
async fn secrets(State(script): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let mut script = script.lock().unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    let target = target.unwrap_or_default().to_owned();
    script.asked.push(Asked {
        path: target.clone(),
        headers,
        body: body.clone(),
    });
    let name = body["SecretId"].as_str().or_else(|| body["Name"].as_str());
    let values = name.and_then(|name| script.secrets.get_mut(name));
    let Some(values) = values else {
        return refusal(
            400,
            &[],
            &json!({"__type": "com.amazonaws#ResourceNotFoundException", "message": "no such secret"}),
        );
    };
    let value = if values.len() > 1 {
        values.pop_front()
    } else {
        values.front().cloned()
    };
    let answer = if target.starts_with("AmazonSSM") {
        json!({"Parameter": {"Value": value}})
    } else {
        json!({"SecretString": value})
    };
    Rendered::json(&answer).whole()
}

async fn play(step: Step, render: impl FnOnce(&Answer) -> Rendered) -> Response {
    match step {
        Step::Answer(answer) => render(&answer).whole(),
        Step::Cut(answer, parts) => render(&answer).cut(parts),
        Step::Short(answer, parts) => render(&answer).short(parts),
        Step::Stall(answer, parts) => render(&answer).stall(parts),
        Step::Refuse(status, headers, body) => refusal(status, &headers, &body),
        Step::Raw(kind, body) => respond(200, &[("content-type", kind.to_owned())], Body::from(body)),
        // What unwinds through the connection closes it; unlike a panic it prints nothing.
        Step::HangUp => std::panic::resume_unwind(Box::new("hung up")),
        Step::Silence => {
            tokio::time::sleep(Duration::from_hours(1)).await;
            refusal(500, &[], &Value::Null)
        }
    }
}

fn refusal(status: u16, headers: &[(&'static str, String)], body: &Value) -> Response {
    let mut headers = headers.to_vec();
    headers.push(("content-type", "application/json".to_owned()));
    headers.push(("request-id", "req_scripted".to_owned()));
    respond(status, &headers, Body::from(body.to_string()))
}

fn respond(status: u16, headers: &[(&'static str, String)], body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}
