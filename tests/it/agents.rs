//! A language model derives and dreams: the real agents and clients, through the engine, against the scripted model
//! server.

use std::sync::Arc;
use std::time::Duration;

use reverie_core::config::Config;
use reverie_core::offline::StaticEmbedder;
use reverie_models::{ModelReasoner, Provider};
use serde_json::{Value, json};

use crate::models::{TestPace, models};
use crate::rig::model_server::{Answer, ModelServer, Step};
use crate::rig::{Faults, Rig, config};

mod changes;
mod crash;
mod deriving;
mod dreaming;
mod faults;
mod hostile;

/// Reverie with a language model.
struct Scene {
    rig: Rig,
    server: ModelServer,
    pace: Arc<TestPace>,
}

/// With a model of a provider, each of whose failures counts: the client tries nothing again by itself.
async fn scene(provider: Provider) -> Scene {
    let server = ModelServer::start([]).await;
    let pace = TestPace::new();
    let reasoner = reasoner(provider, &server, &pace);
    let rig = Rig::with(asked_only(), Arc::new(reasoner), Faults::none()).await;
    Scene { rig, server, pace }
}

/// Dreams only when it is asked to, derives at once.
fn asked_only() -> Config {
    Config {
        threshold: 10_000,
        flush: true,
        ..config()
    }
}

fn reasoner(provider: Provider, server: &ModelServer, pace: &Arc<TestPace>) -> ModelReasoner {
    let settings = [
        ("REVERIE_MODEL_PROVIDER", provider.as_str()),
        ("REVERIE_MODEL_RETRIES", "0"),
    ];
    let models = models(&server.url(), pace, &settings);
    ModelReasoner::new(&models, Arc::new(StaticEmbedder::load().unwrap())).unwrap()
}

impl Scene {
    /// Lets time pass, for the clients too, and everything happen that is due.
    async fn advance(&self, by: Duration) {
        self.pace.pass(by);
        self.rig.advance(by).await;
    }

    /// How often a model was asked.
    fn asked(&self) -> usize {
        self.server.asked().len()
    }
}

/// What the model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Asked {
    Derive,
    Deduction,
    Induction,
    Card,
}

/// A request as the scripted model sees it.
struct Seen {
    /// Every text of it, in the order of the request's parts.
    text: String,
    /// How many answers of the model it holds.
    turn: usize,
}

impl Seen {
    fn of(body: &Value) -> Self {
        let mut text = String::new();
        collect(body, &mut text);
        let messages = body["messages"].as_array().unwrap();
        let turn = messages.iter().filter(|m| m["role"] == "assistant").count();
        Self { text, turn }
    }

    fn what(&self) -> Asked {
        let marks = [
            ("You read messages of a conversation", Asked::Derive),
            ("Your task is to find patterns", Asked::Induction),
            ("Your task is the card alone", Asked::Card),
        ];
        let found = marks.iter().find(|(mark, _)| self.text.contains(mark));
        found.map_or(Asked::Deduction, |(_, what)| *what)
    }

    /// The id in brackets at the beginning of the line that quotes this text.
    fn id(&self, content: &str) -> Option<String> {
        let quoted = json!(content)
            .to_string()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e");
        let line = self
            .text
            .lines()
            .rfind(|line| line.starts_with('[') && line.contains(&quoted))?;
        Some(line[1..line.find(']')?].to_owned())
    }

    /// The messages of a batch: number, sender, text.
    fn messages(&self) -> Vec<(usize, String, String)> {
        let lines = self.text.lines().filter(|line| line.starts_with('#'));
        let read = lines.filter_map(|line| {
            let (head, quoted) = line.split_once(" \"")?;
            let mut head = head[1..].split(' ');
            let number = head.next()?.parse().ok()?;
            let text = serde_json::from_str(&format!("\"{quoted}")).ok()?;
            Some((number, head.next()?.to_owned(), text))
        });
        read.collect()
    }
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(found) => {
            text.push_str(found);
            text.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, text)),
        Value::Object(values) => values.values().for_each(|value| collect(value, text)),
        _ => {}
    }
}

/// Notes every message as it stands, about its sender.
fn verbatim(seen: &Seen) -> Answer {
    let notes: Vec<Value> = seen
        .messages()
        .into_iter()
        .filter(|(number, _, _)| *number > 0)
        .map(|(number, sender, text)| json!({"about": sender, "content": text, "messages": [number]}))
        .collect();
    // The prompt's example looks like a message, too.
    let notes: Vec<Value> = notes.into_iter().filter(|note| note["about"] != "sam").collect();
    Answer::text(&json!({ "notes": notes }).to_string())
}

fn finish() -> Answer {
    Answer::calls(&[("finish", json!({}))])
}

/// Derives word for word, and has nothing to do in dreams but what `dream` says.
fn dreaming(server: &ModelServer, dream: impl Fn(Asked, &Seen) -> Option<Step> + Send + Sync + 'static) {
    server.otherwise(move |body| {
        let seen = Seen::of(body);
        match seen.what() {
            Asked::Derive => verbatim(&seen).into(),
            what => dream(what, &seen).unwrap_or_else(|| finish().into()),
        }
    });
}
