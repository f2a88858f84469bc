//! Measures the offline reasoner on conversations: `cargo run --release --example measure_offline -- FILE [show]`.
//!
//! FILE is a JSON array of LoCoMo's shape (conversations with `session_N` and `observation`), or JSON lines of BEAM's
//! knowledge updates. `show` prints the statements, too.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use reverie_core::conclusion::{CardEntry, Conclusion, Level, Origin, SessionRef, Support};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, RunId, Seq, SessionName, SessionUid, WorkspaceUid};
use reverie_core::message::Message;
use reverie_core::offline::{NgramEmbedder, Offline};
use reverie_core::reasoner::{DeriveRequest, Reasoner, ThinkRequest, Thought};
use reverie_core::run::Phase;
use reverie_core::time::Time;
use reverie_core::toolbox::Operation;
use serde_json::Value;

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => std::process::exit(2),
    }
}

/// A representation in memory, with the little of the toolbox that measuring needs.
#[derive(Clone)]
struct World {
    peer: PeerName,
    representation: RepresentationId,
    conclusions: Vec<Conclusion>,
    card: Option<Vec<CardEntry>>,
    made: u32,
}

impl World {
    fn new(peer: &str) -> Self {
        let peer = PeerName::trusted(peer);
        Self {
            representation: RepresentationId::of(&WorkspaceUid::trusted("w"), &peer, &peer),
            peer,
            conclusions: Vec::new(),
            card: None,
            made: 0,
        }
    }

    fn add(&mut self, content: &str, level: Level, session: Option<&str>, at: Time, sources: Vec<ConclusionId>) {
        self.made += 1;
        let id = ConclusionId::new(&self.representation, at, &[&self.made.to_string()]);
        self.conclusions.push(Conclusion {
            id,
            content: content.to_owned(),
            level,
            session: session.map(|name| SessionRef {
                uid: SessionUid::trusted(name),
                name: SessionName::trusted(name),
            }),
            created_at: at,
            event_at: at,
            times_derived: 1,
            sources,
            support: session
                .map(|name| Support {
                    session: SessionUid::trusted(name),
                    messages: Vec::new(),
                })
                .into_iter()
                .collect(),
            pattern: None,
            origin: if level == Level::Explicit {
                Origin::Deriver
            } else {
                Origin::Dream(RunId::trusted("run"))
            },
            embedding: None,
        });
    }

    fn text(&self, id: &ConclusionId) -> String {
        self.conclusions
            .iter()
            .find(|c| c.id == *id)
            .map_or_else(|| "?".into(), |c| format!("{} [{}]", c.content, c.event_at.to_date()))
    }

    fn think(&self, phase: Phase, turn: u32) -> Thought {
        let request = ThinkRequest {
            phase,
            turn,
            observer: &self.peer,
            observed: &self.peer,
            conclusions: &self.conclusions,
            card: self.card.as_deref(),
            card_allowed: true,
            refused: &[],
        };
        now(Offline.think(request)).unwrap_or_default()
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create {
                level,
                content,
                sources,
                replaces,
                ..
            } => {
                let at = self
                    .conclusions
                    .iter()
                    .filter(|c| sources.contains(&c.id))
                    .map(|c| c.event_at)
                    .max()
                    .unwrap_or_default();
                self.add(content, *level, None, at, sources.clone());
                self.conclusions.retain(|c| !replaces.iter().any(|(id, _)| *id == c.id));
            }
            Operation::Merge { duplicates, .. } => self.conclusions.retain(|c| !duplicates.contains(&c.id)),
            Operation::Remove { ids, .. } => self.conclusions.retain(|c| !ids.contains(&c.id)),
            Operation::Card { entries } => self.card = Some(entries.clone()),
        }
    }

    /// Dreams until both phases are done; prints what happens and counts it.
    fn dream(&mut self, counts: &mut BTreeMap<&'static str, usize>, print: bool) -> Duration {
        let mut spent = Duration::ZERO;
        for phase in [Phase::Deduction, Phase::Induction] {
            for turn in 0..10 {
                let begun = Instant::now();
                let thought = self.think(phase, turn);
                spent += begun.elapsed();
                for operation in &thought.operations {
                    let (word, lines) = self.describe(operation);
                    *counts.entry(word).or_default() += 1;
                    if print {
                        println!("    {word}: {}", lines.join("\n        "));
                    }
                    self.apply(operation);
                }
                if thought.done {
                    break;
                }
            }
        }
        let again = self.think(Phase::Deduction, 0).operations.len() + self.think(Phase::Induction, 0).operations.len();
        *counts.entry("left for a second dream").or_default() += again;
        spent
    }

    fn describe(&self, operation: &Operation) -> (&'static str, Vec<String>) {
        match operation {
            Operation::Create {
                level,
                content,
                sources,
                replaces,
                ..
            } => {
                let word = match level {
                    Level::Deductive if replaces.is_empty() => "implied",
                    Level::Deductive => "superseded",
                    Level::Inductive => "pattern",
                    _ => "contradiction",
                };
                let mut lines = vec![content.clone()];
                lines.extend(sources.iter().map(|id| format!("from {}", self.text(id))));
                lines.extend(replaces.iter().map(|(id, _)| format!("removes {}", self.text(id))));
                (word, lines)
            }
            Operation::Merge { keep, duplicates } => {
                let mut lines = vec![self.text(keep)];
                lines.extend(duplicates.iter().map(|id| self.text(id)));
                ("merged", lines)
            }
            Operation::Remove { ids, replaced_by, .. } => {
                let mut lines: Vec<String> = ids.iter().map(|id| self.text(id)).collect();
                lines.extend(replaced_by.iter().map(|id| format!("by {}", self.text(id))));
                ("removed", lines)
            }
            Operation::Card { entries } => ("card", entries.iter().map(|e| e.text.clone()).collect()),
        }
    }
}

fn message(seq: u64, peer: &str, content: &str, at: Time) -> Message {
    Message {
        seq: Seq(seq),
        peer: PeerName::trusted(peer),
        content: content.to_owned(),
        metadata: serde_json::Map::new(),
        configuration: None,
        created_at: at,
        arrived_at: at,
        tokens: 0,
    }
}

/// `1:56 pm on 8 May, 2023`.
fn parse_date(text: &str) -> Time {
    let parts: Vec<&str> = text.split([' ', ',', ':']).filter(|p| !p.is_empty()).collect();
    let [hour, minute, half, _, day, month, year] = parts.as_slice() else {
        return Time::default();
    };
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = months.iter().position(|m| month.starts_with(m)).unwrap_or(0) + 1;
    let hour: u32 = hour.parse().unwrap_or(0) % 12 + if *half == "pm" { 12 } else { 0 };
    let day: u32 = day.parse().unwrap_or(1);
    Time::parse(&format!("{year}-{month:02}-{day:02}T{hour:02}:{minute}:00Z")).unwrap_or_default()
}

fn derive(world: &mut World, messages: &[Message], session: &str) -> (Vec<String>, Duration) {
    let observed = [world.peer.clone()];
    let begun = Instant::now();
    let derived = now(Offline.derive(DeriveRequest {
        messages,
        observed: &observed,
    }));
    let spent = begun.elapsed();
    let statements = derived.map(|d| d.statements).unwrap_or_default();
    for statement in &statements {
        world.add(
            &statement.content,
            Level::Explicit,
            Some(session),
            statement.event_at,
            Vec::new(),
        );
    }
    (statements.into_iter().map(|s| s.content).collect(), spent)
}

fn locomo(conversations: &[Value], show: bool) {
    let mut total: BTreeMap<&'static str, usize> = BTreeMap::new();
    for item in conversations {
        let conversation = &item["conversation"];
        println!("{}", item["sample_id"].as_str().unwrap_or("?"));
        for speaker in ["speaker_a", "speaker_b"] {
            let peer = conversation[speaker].as_str().unwrap_or("?");
            let mut world = World::new(peer);
            let (mut said, mut spent) = (0, Duration::ZERO);
            for number in 1..100 {
                let name = format!("session_{number}");
                let Some(turns) = conversation[&name].as_array() else {
                    continue;
                };
                let at = parse_date(conversation[format!("{name}_date_time")].as_str().unwrap_or(""));
                let messages: Vec<Message> = (1_u64..)
                    .zip(turns)
                    .map(|(seq, turn)| {
                        let text = turn["text"].as_str().unwrap_or("");
                        message(
                            seq,
                            turn["speaker"].as_str().unwrap_or("?"),
                            text,
                            at + Duration::from_secs(20 * seq),
                        )
                    })
                    .collect();
                let (statements, took) = derive(&mut world, &messages, &name);
                said += statements.len();
                spent += took;
                if show {
                    for text in statements {
                        println!("    {name} {text}");
                    }
                }
            }
            let expected: usize = item["observation"]
                .as_object()
                .into_iter()
                .flat_map(serde_json::Map::values)
                .map(|per| per[peer].as_array().map_or(0, Vec::len))
                .sum();
            println!("  {peer}: {said} statements, {expected} observations listed, derived in {spent:?}");
            let mut counts = BTreeMap::new();
            let thought = world.dream(&mut counts, true);
            println!("  {peer}: {counts:?}, dreamt in {thought:?} over {said}");
            *total.entry("statements").or_default() += said;
            *total.entry("observations listed").or_default() += expected;
            for (word, count) in counts {
                *total.entry(word).or_default() += count;
            }
        }
    }
    println!("total {total:?}");
}

fn beam(lines: &str, show: bool) {
    let mut total: BTreeMap<&'static str, usize> = BTreeMap::new();
    for line in lines.lines() {
        let Ok(item) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let mut world = World::new("user");
        let mut at = Time::from_seconds(1_700_000_000);
        let parts = match item["kind"].as_str() {
            Some("knowledge_update") => ["original_info", "updated_info"],
            _ => ["first_statement", "second_statement"],
        };
        let mut texts = Vec::new();
        for part in parts {
            at = at + Duration::from_hours(24 * 7);
            for said in item["statements"][part].as_array().into_iter().flatten() {
                let message = message(1, "user", said["content"].as_str().unwrap_or(""), at);
                texts.extend(
                    derive(&mut world, &[message], part)
                        .0
                        .into_iter()
                        .map(|text| format!("{part}: {text}")),
                );
            }
        }
        let kind = if parts[0] == "original_info" {
            "updates"
        } else {
            "contradictions listed"
        };
        *total.entry(kind).or_default() += 1;
        *total.entry("statements").or_default() += texts.len();
        let mut counts = BTreeMap::new();
        let before = world.clone();
        world.dream(&mut counts, false);
        let acts = counts
            .iter()
            .any(|(word, n)| *n > 0 && !matches!(*word, "card" | "implied"));
        if acts || show {
            println!("{} {} -> {}", kind, item["subtype"], item["answer"]);
            for text in &texts {
                println!("  {text}");
            }
        }
        if acts {
            before.clone().dream(&mut BTreeMap::new(), true);
        }
        for (word, count) in counts {
            *total.entry(word).or_default() += count;
        }
    }
    println!("total {total:?}");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_default();
    let show = arguments.next().is_some();
    let text = if path.is_empty() {
        String::new()
    } else {
        std::fs::read_to_string(path)?
    };
    match serde_json::from_str::<Vec<Value>>(&text) {
        Ok(conversations) => locomo(&conversations, show),
        Err(_) => beam(&text, show),
    }
    let sentence = "maya works at Qualcomm as a senior engineer and lives in San Diego with two cats.";
    let begun = Instant::now();
    for _ in 0..10_000 {
        std::hint::black_box(NgramEmbedder::vector(std::hint::black_box(sentence)));
    }
    println!("embedding: {:?} a sentence", begun.elapsed() / 10_000);
    for size in [500_u32, 2_000, 10_000] {
        let mut world = World::new("maya");
        for n in 0..size {
            let at = Time::from_seconds(1_700_000_000 + i64::from(n) * 3_600);
            let text = match n % 5 {
                0 => format!("maya read a book about subject number {n} in the park."),
                1 => format!("maya works at Company{} as an engineer.", n / 50),
                2 => format!("maya painted {} with their friend.", n % 37),
                3 => format!("maya met colleague{} at the office for lunch.", n % 91),
                _ => format!("maya: 我在第{}天去公园画画。", n % 41),
            };
            world.add(&text, Level::Explicit, Some(&format!("s{}", n / 20)), at, Vec::new());
        }
        let begun = Instant::now();
        let deduced = world.think(Phase::Deduction, 0).operations.len();
        let middle = begun.elapsed();
        let induced = world.think(Phase::Induction, 0).operations.len();
        println!(
            "{size} conclusions: deduction {middle:?} ({deduced} operations), induction {:?} ({induced})",
            begun.elapsed().saturating_sub(middle)
        );
    }
    Ok(())
}
