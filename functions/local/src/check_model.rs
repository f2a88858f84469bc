//! What the configured models can do: one small call for each thing that Reverie asks of them.
//!
//! No test can show this, since it takes a real model; a user runs it once with real credentials. Nothing of the user's
//! is sent, so what a provider says about a failure can be shown as it is.

use std::sync::Arc;

use futures_util::StreamExt as _;
use reverie_core::reasoner::Embedder;
use reverie_core::run::Usage;
use reverie_models::{
    LanguageModel, Message, ModelError, Models, OutputSchema, Request, Response, StreamEvent, SystemBlock, Tool,
    ToolChoice,
};
use serde::Deserialize;
use serde_json::json;

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It works; what is worth knowing.
    Works(String),
    /// It does not, and Reverie does without at a price; which.
    Missing(String),
    /// It does not; why.
    Fails(String),
    /// Not tried, since something before it failed.
    Skipped,
}

/// One thing that a model should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// What was found.
    pub found: Found,
}

/// The checks of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub model: String,
    /// In the order in which they were made.
    pub checks: Vec<Check>,
    /// What they cost.
    pub usage: Usage,
}

/// Why a check failed, in words for the user.
type Failed = String;

/// Checks every language model, each without its fallback, and the embedding model.
pub async fn check(models: &Models) -> Vec<Report> {
    let mut reports = Vec::new();
    for (name, model) in models.each() {
        reports.push(check_language(name.to_string(), model).await);
    }
    if let Some(embedder) = models.embedder() {
        reports.push(check_embedder(&embedder).await);
    }
    reports
}

async fn check_language(name: String, model: &Arc<dyn LanguageModel>) -> Report {
    let mut subject = Subject {
        model: model.as_ref(),
        usage: Usage::default(),
    };
    let answers = subject.answers().await;
    let is_there = answers.is_ok();
    let mut checks = vec![Check::of("answers", answers)];
    if is_there {
        checks.push(Check::of("calls tools", subject.calls_tools().await));
        checks.push(Check::of("keeps to a schema", subject.keeps_to_a_schema().await));
        checks.push(Check::of("streams", subject.streams().await));
        checks.push(Check {
            what: "caches",
            found: subject.caches().await.unwrap_or_else(Found::Fails),
        });
    } else {
        let rest = ["calls tools", "keeps to a schema", "streams", "caches"];
        checks.extend(rest.map(|what| Check {
            what,
            found: Found::Skipped,
        }));
    }
    Report {
        model: name,
        checks,
        usage: subject.usage,
    }
}

impl Check {
    fn of(what: &'static str, found: Result<String, Failed>) -> Self {
        let found = found.map_or_else(Found::Fails, Found::Works);
        Self { what, found }
    }
}

/// An error with what the provider says about it.
fn told(error: &ModelError) -> Failed {
    let said = error
        .origin()
        .providers_words()
        .map(|said| format!("; it says: {said}"));
    format!("{error}{}", said.unwrap_or_default())
}

struct Subject<'a> {
    model: &'a dyn LanguageModel,
    usage: Usage,
}

/// Enough for models that think before they answer.
const MOST_TOKENS: u32 = 2048;

impl Subject<'_> {
    async fn ask(&mut self, request: &Request) -> Result<Response, Failed> {
        let response = self.model.complete(request).await.map_err(|error| told(&error))?;
        self.usage += response.usage;
        Ok(response)
    }

    async fn answers(&mut self) -> Result<String, Failed> {
        let request = Request::new("You answer in one word.", "What is the capital of France?", MOST_TOKENS);
        let response = self.ask(&request).await?;
        if response.text().trim().is_empty() {
            return Err(format!(
                "the answer has no text; it stopped because of {:?}",
                response.stop
            ));
        }
        let Usage {
            input_tokens,
            output_tokens,
            ..
        } = response.usage;
        if output_tokens == 0 {
            return Ok("but does not say how many tokens it took: budgets cannot hold".to_owned());
        }
        Ok(format!("{input_tokens} tokens read, {output_tokens} written"))
    }

    async fn calls_tools(&mut self) -> Result<String, Failed> {
        #[derive(Deserialize)]
        struct Sum {
            a: i64,
            b: i64,
        }
        let mut request = Request::new(
            "You compute with the tool add, never by yourself.",
            "How much is 17 and 25? Call the tool.",
            MOST_TOKENS,
        );
        request.tools = vec![Tool {
            name: "add".to_owned(),
            description: "Adds two whole numbers.".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"], "additionalProperties": false}),
        }];
        let response = self.ask(&request).await?;
        let mut results = Vec::new();
        for call in response.tool_uses() {
            let Sum { a, b } = call.arguments()?;
            results.push(call.result((a + b).to_string()));
        }
        if results.is_empty() {
            return Err("it answers by itself, without calling the tool".to_owned());
        }
        // The last turn of every phase: the tools stay, and none may be called.
        request.messages.extend([response.message(), Message::results(results)]);
        request.tool_choice = ToolChoice::None;
        let last = self.ask(&request).await?;
        if last.text().contains("42") {
            Ok("and reads their results".to_owned())
        } else {
            Err("it calls the tool, and does not answer with its result".to_owned())
        }
    }

    async fn keeps_to_a_schema(&mut self) -> Result<String, Failed> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "the shape is what is checked")]
        struct Event {
            city: String,
            year: i64,
        }
        let mut request = Request::new(
            "You extract what a text says.",
            "An earthquake destroyed Lisbon in 1755.",
            MOST_TOKENS,
        );
        request.output = Some(OutputSchema {
            name: "event".to_owned(),
            schema: json!({"type": "object", "properties": {"city": {"type": "string"}, "year": {"type": "integer"}},
                "required": ["city", "year"], "additionalProperties": false}),
        });
        let response = self.ask(&request).await?;
        let wrong = |error| format!("the answer is not as the schema says: {error}");
        response.json::<Event>().map_err(wrong)?;
        Ok(String::new())
    }

    async fn streams(&mut self) -> Result<String, Failed> {
        let request = Request::new("You answer briefly.", "Count from one to ten in words.", MOST_TOKENS);
        let mut stream = self.model.stream(&request).await.map_err(|error| told(&error))?;
        let (mut parts, mut text) = (0, String::new());
        loop {
            match stream.next().await {
                Some(Ok(StreamEvent::Text(more))) => {
                    parts += 1;
                    text.push_str(&more);
                }
                Some(Ok(StreamEvent::Done(response))) => {
                    self.usage += response.usage;
                    return if parts == 0 || response.text() != text {
                        Err("the parts are not the answer".to_owned())
                    } else {
                        Ok(format!("in {parts} parts"))
                    };
                }
                Some(Err(error)) => return Err(told(&error)),
                None => return Err("the stream has no end".to_owned()),
            }
        }
    }

    /// Asks twice with the same long instructions.
    async fn caches(&mut self) -> Result<Found, Failed> {
        let mut request = Request::new("", "Which rule has the number 7?", MOST_TOKENS);
        request.system = vec![SystemBlock::cached(long_instructions())];
        let first = self.ask(&request).await?.usage;
        let second = self.ask(&request).await?.usage;
        let (written, read) = (first.cache_creation_input_tokens, second.cache_read_input_tokens);
        Ok(if read > 0 {
            Found::Works(format!("{written} tokens written, {read} read"))
        } else {
            Found::Missing("nothing is read from a cache: long instructions are paid for at every call".to_owned())
        })
    }
}

/// Longer than the shortest prefix that any provider caches, 4,096 tokens.
fn long_instructions() -> String {
    let rule = |number: u32| format!("Rule {number}: answer question number {number} with the name of this rule only.");
    (1..=400).map(rule).collect::<Vec<_>>().join("\n")
}

async fn check_embedder(embedder: &Arc<dyn Embedder>) -> Report {
    Report {
        model: format!("embedding {}", embedder.model()),
        checks: vec![Check::of("embeds", embeds(embedder.as_ref()).await)],
        usage: Usage::default(),
    }
}

async fn embeds(embedder: &dyn Embedder) -> Result<String, Failed> {
    let texts = [
        "Maya moved to Lisbon in spring.",
        "Maya lives in Lisbon since spring.",
        "The printer is out of paper.",
    ];
    let found = embedder
        .embed(&texts.map(str::to_owned))
        .await
        .map_err(|error| error.to_string())?;
    let [one, other, unlike] = &found[..] else {
        return Err(format!("{} vectors for {} texts", found.len(), texts.len()));
    };
    match (one.cosine(other), one.cosine(unlike)) {
        (Some(near), Some(far)) if near > far => Ok(format!(
            "{} components, likeness {near:.2} and {far:.2}",
            one.components.len()
        )),
        (Some(near), Some(far)) => Err(format!("what is alike lies at {near:.2}, what is not at {far:.2}")),
        _ => Err("vectors of one model cannot be compared".to_owned()),
    }
}

impl Report {
    /// How many checks failed or were not made.
    pub fn failed(&self) -> usize {
        let is_bad = |check: &&Check| matches!(check.found, Found::Fails(_) | Found::Skipped);
        self.checks.iter().filter(is_bad).count()
    }
}
