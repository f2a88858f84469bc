//! Sets that are not part of the project, measured by path.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::host::conclusion::Level;
use super::host::run::Change;
use super::host::time::Time;
use super::host::toolbox::Operation;
use super::score::{Dream, World, message};

type Counts = BTreeMap<&'static str, usize>;

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

/// What an operation is called in the report.
fn word(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { level, replaces, .. } => match level {
            Level::Deductive if replaces.is_empty() => "implied",
            Level::Deductive => "superseded",
            Level::Inductive => "patterns",
            _ => "contradictions",
        },
        Operation::Merge { .. } => "merged",
        Operation::Remove { .. } => "superseded",
        Operation::Card { .. } => "card written",
    }
}

/// Dreams once, prints what happened, and counts it.
fn dream(world: &mut World, counts: &mut Counts, show: bool) -> Dream {
    let dream = world.dream();
    for (operation, changes) in &dream.done {
        *counts.entry(word(operation)).or_default() += 1;
        if show {
            println!("    {}", word(operation));
            for change in changes {
                println!("      {}", describe(world, change));
            }
        }
    }
    for (a, b) in world.suspect_merges(&dream) {
        println!("    SUSPECT MERGE {a} | {b}");
        *counts.entry("suspect merges").or_default() += 1;
    }
    for conclusion in world.unsupported() {
        println!("    NO EVIDENCE {}", conclusion.content);
        *counts.entry("without evidence").or_default() += 1;
    }
    let second = world.clone().dream();
    *counts.entry("second dream").or_default() += second.done.len();
    *counts.entry("refused").or_default() += dream.refused + second.refused;
    *counts.entry("card entries").or_default() += world.desk.card.iter().flatten().count();
    let derived = world.desk.conclusions().values().filter(|c| c.level != Level::Explicit);
    *counts.entry("derived").or_default() += derived.count();
    dream
}

fn describe(world: &World, change: &Change) -> String {
    let text = |id| world.history.get(id).map_or("?", |c| c.content.as_str());
    match change {
        Change::Created { conclusion } => {
            let sources: Vec<&str> = conclusion.sources.iter().map(text).collect();
            format!("+ {} from {sources:?}", conclusion.content)
        }
        Change::Removed {
            conclusion,
            replaced_by,
            ..
        } => format!("- {} by {:?}", conclusion.content, replaced_by.as_ref().map(text)),
        Change::Reinforced { id, .. } => format!("= {}", text(id)),
        Change::Card { after, .. } => {
            let entries: Vec<&str> = after.iter().flatten().map(|e| e.text.as_str()).collect();
            format!("card {entries:#?}")
        }
    }
}

/// Conversations of LoCoMo's shape: both speakers, all sessions, one dream.
pub(crate) fn locomo(conversations: &Value, show: bool) {
    let mut total = Counts::new();
    let mut spent = Duration::ZERO;
    for item in conversations.as_array().into_iter().flatten() {
        let conversation = &item["conversation"];
        for speaker in ["speaker_a", "speaker_b"] {
            let peer = conversation[speaker].as_str().unwrap_or("?");
            println!("{} {peer}", item["sample_id"].as_str().unwrap_or("?"));
            let mut world = World::new(peer);
            let begun = Instant::now();
            for number in 1..100 {
                let name = format!("session_{number}");
                let Some(turns) = conversation[&name].as_array() else {
                    continue;
                };
                let at = parse_date(conversation[format!("{name}_date_time")].as_str().unwrap_or(""));
                let messages: Vec<_> = (1_u64..)
                    .zip(turns)
                    .map(|(seq, turn)| {
                        let part = |key: &str| turn[key].as_str().unwrap_or("?");
                        message(seq, part("speaker"), part("text"), at + Duration::from_secs(20 * seq))
                    })
                    .collect();
                let statements = world.hear(&name, &messages);
                *total.entry("statements").or_default() += statements.len();
                if show {
                    for text in statements {
                        println!("    {name} {text}");
                    }
                }
            }
            dream(&mut world, &mut total, show);
            spent += begun.elapsed();
        }
    }
    println!("LoCoMo: {total:?} in {spent:?}");
}

/// Updates and contradictions of BEAM's shape.
pub(crate) fn beam(lines: &str, show: bool) {
    let mut total = Counts::new();
    for line in lines.lines() {
        let Ok(item) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let mut world = World::new("user");
        let mut at = Time::from_seconds(1_700_000_000);
        let update = item["kind"].as_str() == Some("knowledge_update");
        let (kind, parts) = if update {
            ("updates listed", ["original_info", "updated_info"])
        } else {
            ("contradictions listed", ["first_statement", "second_statement"])
        };
        *total.entry(kind).or_default() += 1;
        for part in parts {
            at = at + Duration::from_hours(24 * 7);
            for (seq, said) in (1_u64..).zip(item["statements"][part].as_array().into_iter().flatten()) {
                let said = message(seq, "user", said["content"].as_str().unwrap_or(""), at);
                let statements = world.hear(part, &[said]);
                *total.entry("statements").or_default() += statements.len();
                if show {
                    println!("    {part} {statements:?}");
                }
            }
        }
        let before = total.clone();
        let made = dream(&mut world, &mut total, show);
        let after = total.clone();
        let did = |word| after.get(word) > before.get(word);
        if update {
            *total.entry("updates superseded").or_default() += usize::from(did("superseded"));
            *total.entry("updates stated as contradictions").or_default() += usize::from(did("contradictions"));
        } else {
            *total.entry("contradictions found").or_default() += usize::from(did("contradictions"));
            *total.entry("contradictions superseded").or_default() += usize::from(did("superseded"));
        }
        if show && !made.done.is_empty() {
            println!("  {} -> {}", item["subtype"], item["answer"]);
        }
    }
    println!("BEAM: {total:?}");
}

/// A conversation as messages in JSON lines: what is known of its first speaker after one dream.
pub(crate) fn conversation(lines: &str) {
    let said: Vec<Value> = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let part = |item: &Value, key: &str| item[key].as_str().unwrap_or("?").to_owned();
    let Some(peer) = said.first().map(|item| part(item, "peer")) else {
        return;
    };
    let mut world = World::new(&peer);
    for session in said.chunk_by(|a, b| a["session"] == b["session"]) {
        let messages: Vec<_> = (1_u64..)
            .zip(session)
            .map(|(seq, item)| {
                let at = Time::parse(&part(item, "created_at")).unwrap_or_default();
                message(seq, &part(item, "peer"), &part(item, "content"), at)
            })
            .collect();
        for text in world.hear(&part(&session[0], "session"), &messages) {
            println!("    {text}");
        }
    }
    let mut counts = Counts::new();
    dream(&mut world, &mut counts, true);
    println!("{peer}: {counts:?}");
}

/// The speed of dreams over many conclusions.
pub(crate) fn speed() {
    for size in [500_u64, 2_000, 10_000, 20_000] {
        let mut world = World::new("maya");
        for n in 0..size {
            let at = Time::from_seconds(1_700_000_000) + Duration::from_hours(n);
            let text = match n % 5 {
                0 => format!("I read a book about subject number {n} in the park."),
                1 => format!("I work at Company{} as an engineer.", n / 50),
                2 => format!("I painted {} lakes with my friend.", n % 37),
                3 => format!("I met colleague{} at the office for lunch.", n % 91),
                _ => format!("我在第{}天去公园画画。", n % 41),
            };
            world.hear(&format!("s{}", n / 20), &[message(n, "maya", &text, at)]);
        }
        let begun = Instant::now();
        let done = world.dream().done.len();
        println!(
            "{size} conclusions: a dream of {done} operations in {:?}",
            begun.elapsed()
        );
    }
}
