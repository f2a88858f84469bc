//! What a language model costs: requests and tokens per 100 messages and per dream, on a LoCoMo conversation, with and
//! without the cheap search that precedes a dream.
//!
//!     cargo run --release -p reverie-local --example model_costs -- locomo.json conv-26
//!
//! No model is asked. One that counts answers in its place: it notes what the file gives as observations, and in a dream
//! it merges and updates what it is told may belong together, or, told nothing, first reads the whole memory. Tokens are
//! estimated as everywhere in Reverie; those that a provider's cache can give back are told apart.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use async_trait::async_trait;
use reverie_core::config::Config;
use reverie_core::offline::StaticEmbedder;
use reverie_core::run::Usage;
use reverie_core::text::estimate_tokens;
use reverie_local::api::Api;
use reverie_local::handlers::compose;
use reverie_local::import::{Selection, peers, read, upload};
use reverie_local::runtime::{self, Options};
use reverie_models::{
    Content, LanguageModel, Message, ModelError, ModelReasoner, Request, Response, ResponseStream, Role, StopReason,
    ToolInput, ToolUse,
};
use reverie_models::{Minds, TransientFault};
use serde_json::{Value, json};

/// Groups of hints in a dream, as deployed.
const HINTS: usize = 40;
/// The calls of one answer.
const CALLS: usize = 40;
/// The time in which nothing may stand still.
const PATIENCE: Duration = Duration::from_mins(10);

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "give the path of a LoCoMo file and the id of a conversation in it";
    let (path, sample) = (arguments.next().context(usage)?, arguments.next().context(usage)?);
    println!("| | requests | tokens read | of them from a cache | tokens written |");
    println!("|---|---:|---:|---:|---:|");
    for (hints, name) in [(HINTS, "with hints"), (0, "without")] {
        measure(Path::new(&path), &sample, hints, name)?;
    }
    Ok(())
}

fn measure(path: &Path, sample: &str, hints: usize, name: &str) -> anyhow::Result<()> {
    let selection = Selection {
        sample: Some(sample.to_owned()),
        sessions: Vec::new(),
    };
    let sessions = read(path, None, &selection)?;
    let messages: usize = sessions.iter().map(|session| session.messages.len()).sum();
    let model = Arc::new(Counting::over(path, sample)?);
    let embedder = Arc::new(StaticEmbedder::load()?);
    let reasoner = ModelReasoner {
        deriver: Arc::clone(&model) as _,
        summariser: Arc::clone(&model) as _,
        dreamer: Arc::clone(&model) as _,
        embedder: Arc::clone(&embedder) as _,
        hints,
    };
    let folder = tempfile::tempdir()?;
    let options = Options {
        data_dir: folder.path().to_owned(),
        port: 0,
        config: Config {
            // Dreams only when asked; what is left of a session is not waited for, since nothing more will come.
            threshold: u64::MAX,
            max_age: Duration::from_secs(2),
            reconcile_every: Duration::from_secs(1),
            ..Config::default()
        },
        minds: Minds {
            reasoner: Arc::new(reasoner),
            embedder,
        },
    };
    let tokio = tokio::runtime::Runtime::new()?;
    let running = tokio.block_on(runtime::start(&options, compose))?;
    let api = Api::new(&running.url(), "costs", None);
    api.ensure_workspace()?;
    for session in &sessions {
        upload(&api, session, &mut |_| {})?;
    }
    until(|| {
        let status: Value = api.get("/queue/status")?;
        Ok(status["in_progress_work_units"] == 0 && status["pending_work_units"] == 0)
    })?;
    let hundreds = f64::from(u32::try_from(messages)?) / 100.0;
    for (what, label) in [(Task::Derive, "deriving"), (Task::Summarise, "summaries")] {
        row(&format!("{label}, per 100 messages"), &model.counted(what), hundreds);
    }
    let speakers = peers(&sessions);
    for peer in &speakers {
        let _: Value = api
            .post("/schedule_dream", &json!({"observer": peer, "dream_type": "omni"}))
            .or_else(|error| {
                // 204 has no body.
                if matches!(error, reverie_local::api::ApiError::Shape { .. }) {
                    Ok(Value::Null)
                } else {
                    Err(error)
                }
            })?;
        until(|| {
            let runs: Value = api.get(&format!("/dreams?observer={peer}&observed={peer}"))?;
            Ok(runs["items"][0]["ended_at"].is_string())
        })?;
        let runs: Value = api.get(&format!("/dreams?observer={peer}&observed={peer}"))?;
        let run = &runs["items"][0];
        if run["status"] != "completed" {
            bail!("the dream about {peer} did not end well: {run}");
        }
        eprintln!(
            "{name}: {peer}: created {}, removed {}",
            run["created_count"], run["removed_count"]
        );
    }
    row(
        &format!("a dream, {name}"),
        &model.counted(Task::Dream),
        f64::from(u32::try_from(speakers.len())?),
    );
    tokio.block_on(running.stop());
    Ok(())
}

fn until(mut is_done: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = std::time::Instant::now();
    while !is_done()? {
        if began.elapsed() > PATIENCE {
            bail!("nothing has come to an end for {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn row(what: &str, count: &Count, by: f64) {
    let Usage {
        input_tokens,
        output_tokens,
        cache_read_input_tokens,
        ..
    } = count.usage;
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let per = |number: u64| format!("{:.0}", number as f64 / by);
    println!(
        "| {what} | {:.1} | {} | {} | {} |",
        f64::from(count.requests) / by,
        per(input_tokens + cache_read_input_tokens),
        per(cache_read_input_tokens),
        per(output_tokens)
    );
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    Derive,
    Summarise,
    Dream,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u32,
    usage: Usage,
}

/// Counts what it is asked, and answers what can be answered without understanding.
struct Counting {
    /// What is to be noted of a message: about whom, and what.
    observations: HashMap<String, Vec<(String, String)>>,
    counts: Mutex<HashMap<Task, Count>>,
    /// What was asked before, as far as a provider's cache reaches.
    cached: Mutex<HashMap<String, u64>>,
}

impl Counting {
    /// Knows the observations that the file gives for its messages.
    fn over(path: &Path, sample: &str) -> anyhow::Result<Self> {
        let all: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        let samples = all.as_array().context("a LoCoMo file is a list")?;
        let found = samples.iter().find(|one| one["sample_id"] == sample);
        let found = found.with_context(|| format!("there is no conversation {sample}"))?;
        let mut said = HashMap::new();
        for (name, turns) in found["conversation"].as_object().into_iter().flatten() {
            for turn in turns
                .as_array()
                .into_iter()
                .flatten()
                .filter(|_| name.starts_with("session_"))
            {
                if let (Some(id), Some(text)) = (turn["dia_id"].as_str(), turn["text"].as_str()) {
                    said.insert(id.to_owned(), text.trim().to_owned());
                }
            }
        }
        let mut observations: HashMap<String, Vec<(String, String)>> = HashMap::new();
        let sessions = found["observation"].as_object().into_iter().flatten();
        for (speaker, facts) in sessions.filter_map(|(_, by)| by.as_object()).flatten() {
            for fact in facts.as_array().into_iter().flatten() {
                let id = fact[1].as_str().or_else(|| fact[1][0].as_str()).unwrap_or_default();
                if let (Some(text), Some(said)) = (fact[0].as_str(), said.get(id)) {
                    let known = observations.entry(said.clone()).or_default();
                    known.push((speaker.clone(), text.to_owned()));
                }
            }
        }
        Ok(Self {
            observations,
            counts: Mutex::default(),
            cached: Mutex::default(),
        })
    }

    fn counted(&self, task: Task) -> Count {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&task).copied().unwrap_or_default()
    }

    /// A note for each observation about the messages that are shown.
    fn notes(&self, shown: &str) -> Vec<Content> {
        let mut notes = Vec::new();
        for line in shown.lines().filter(|line| line.starts_with('#')) {
            let Some((head, quoted)) = line.split_once(" \"") else {
                continue;
            };
            let number = head[1..]
                .split(' ')
                .next()
                .and_then(|number| number.parse::<usize>().ok());
            let sender = head.split(' ').nth(1).unwrap_or_default();
            let text: String = serde_json::from_str(&format!("\"{quoted}")).unwrap_or_default();
            for (about, content) in self.observations.get(text.trim()).into_iter().flatten() {
                if about.to_lowercase() == sender.to_lowercase() {
                    notes.push(json!({"about": sender, "content": content, "messages": [number]}));
                }
            }
        }
        vec![Content::text(json!({ "notes": notes }).to_string())]
    }
}

fn texts(message: &Message) -> String {
    let parts = message.content.iter().map(|content| match content {
        Content::Text { text } => text.clone(),
        Content::ToolUse(call) => match &call.input {
            ToolInput::Object(map) => Value::Object(map.clone()).to_string(),
            ToolInput::Malformed(text) => text.clone(),
        },
        Content::ToolResult(result) => result.content.clone(),
        Content::Opaque { block, .. } => block.to_string(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The ids of the lines below a heading, group by group.
fn groups(opening: &str, heading: &str) -> Vec<Vec<String>> {
    let mut groups = Vec::new();
    let mut open = false;
    for line in opening.lines() {
        if let Some(id) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            if open && let Some(group) = groups.last_mut() {
                let group: &mut Vec<String> = group;
                group.push(id.to_owned());
            }
        } else {
            open = line.starts_with(heading);
            if open {
                groups.push(Vec::new());
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

fn call(number: usize, name: &str, arguments: &Value) -> Content {
    Content::ToolUse(ToolUse {
        id: format!("c{number}"),
        name: name.to_owned(),
        input: ToolInput::parse(&arguments.to_string()),
    })
}

/// What is done in a dream: with hints, what they say at once; without, after the whole memory has been read.
fn dreamt(request: &Request) -> Vec<Content> {
    let opening = request.messages.first().map(texts).unwrap_or_default();
    let turn = request
        .messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .count();
    let offers = |tool: &str| request.tools.iter().any(|offered| offered.name == tool);
    let finish = || vec![call(0, "finish", &json!({}))];
    if !opening.contains("<hints>") {
        let latest = request.messages.last().map(texts).unwrap_or_default();
        let is_all_shown = opening.contains("\nAll ") || opening.starts_with("All ");
        let more = turn == 0 || latest.contains("older ones are not shown");
        if is_all_shown || !more {
            return finish();
        }
        let last = latest
            .lines()
            .rfind(|line| line.starts_with('['))
            .and_then(|line| line[1..].split(']').next());
        let mut arguments = json!({"limit": 40});
        if turn > 0
            && let Some(last) = last
        {
            arguments["before"] = json!(last);
        }
        return vec![call(0, "list", &arguments)];
    }
    let mut calls = Vec::new();
    if offers("merge") {
        for group in groups(&opening, "Perhaps the same") {
            if let Some((keep, duplicates)) = group.split_last() {
                calls.push(("merge", json!({"keep": keep, "duplicates": duplicates})));
            }
        }
    }
    if offers("remove") {
        for group in groups(&opening, "Perhaps an update") {
            if let Some((newest, outdated)) = group.split_last() {
                calls.push((
                    "remove",
                    json!({"ids": outdated, "reason": "superseded", "replaced_by": newest}),
                ));
            }
        }
    }
    if turn > 0 {
        calls.clear();
    }
    calls.truncate(CALLS - 1);
    calls.push(("finish", json!({})));
    calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| call(at, name, arguments))
        .collect()
}

#[async_trait]
impl LanguageModel for Counting {
    async fn complete(&self, request: &Request) -> Result<Response, ModelError> {
        let rules: String = request.system.iter().map(|block| block.text.as_str()).collect();
        let shown = request.messages.last().map(texts).unwrap_or_default();
        let (task, content) = if rules.contains("You read messages of a conversation") {
            (Task::Derive, self.notes(&shown))
        } else if rules.contains("You keep the summary") {
            let words: Vec<&str> = shown.split_whitespace().take(120).collect();
            (Task::Summarise, vec![Content::text(words.join(" "))])
        } else {
            (Task::Dream, dreamt(request))
        };
        let mut usage = Usage::default();
        // What a provider caches is a prefix: the tools and the rules, then the messages that were sent before.
        let tools = request.tools.iter().flat_map(|tool| {
            let schema = tool.schema.to_string();
            [tool.name.clone(), tool.description.clone(), schema]
        });
        let tools: String = tools.collect();
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let mut prefix = String::new();
        let parts = std::iter::once(tools + &rules).chain(request.messages.iter().map(texts));
        for (place, part) in parts.enumerate() {
            let tokens = u64::from(estimate_tokens(&part));
            prefix.push_str(&part);
            let kept = place == 0 || request.cache_messages;
            if kept && cached.contains_key(&prefix) {
                usage.cache_read_input_tokens += tokens;
            } else {
                usage.input_tokens += tokens;
            }
            if kept {
                cached.insert(prefix.clone(), tokens);
            }
        }
        let answer = Message {
            role: Role::Assistant,
            content,
        };
        usage.output_tokens = u64::from(estimate_tokens(&texts(&answer)));
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(task).or_default();
        count.requests += 1;
        count.usage += usage;
        let stop = if answer
            .content
            .iter()
            .any(|content| matches!(content, Content::ToolUse(_)))
        {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        Ok(Response {
            model: "counting".to_owned(),
            content: answer.content,
            stop,
            usage,
        })
    }

    async fn stream(&self, _: &Request) -> Result<ResponseStream, ModelError> {
        Err(ModelError::Transient {
            fault: TransientFault::Unavailable,
            retry_at: reverie_core::time::Time::default(),
            origin: Box::new(reverie_models::Origin::default()),
        })
    }
}
