//! Measures the built-in embedding: `cargo run --release -p reverie-core --example embedding_quality [-- OPTIONS]`.
//!
//! Each query looks for the texts that answer it among all texts of its set. Printed: how many of them are first, how
//! many are among the first five and ten, and the mean of the reciprocal ranks, for the n-grams alone and for the embedding.
//! Without options: `shared/core/quality`. `--locomo FILE` and `--languages FILE` measure on those sets, by path.

use std::collections::HashMap;
use std::time::Instant;

use reverie_core::conclusion::Embedding;
use reverie_core::offline::{StaticEmbedder, ngram_vector};
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const QUERIES: &str = include_str!("../quality/queries.jsonl");
const OWN: &str = include_str!("../quality/cases.jsonl");
const HELD: &str = include_str!("../quality/held.jsonl");

/// A way to embed a text.
type Vector<'a> = &'a dyn Fn(&str) -> Embedding;

/// Texts, and queries with the places of the texts that answer them.
#[derive(Default)]
struct Set {
    texts: Vec<String>,
    queries: Vec<(String, Vec<usize>)>,
    /// The query is one of the texts, and not to be found itself.
    among: bool,
}

/// How well queries find their texts.
#[derive(Default)]
struct Score {
    wanted: usize,
    first: usize,
    five: usize,
    ten: usize,
    reciprocal: f64,
}

impl Score {
    fn add(&mut self, rank: usize) {
        self.wanted += 1;
        self.first += usize::from(rank == 1);
        self.five += usize::from(rank <= 5);
        self.ten += usize::from(rank <= 10);
        self.reciprocal += 1.0 / f64::from(u32::try_from(rank).unwrap_or(u32::MAX));
    }

    fn of(&mut self, set: &Set, vector: Vector<'_>) {
        let texts: Vec<Embedding> = set.texts.iter().map(|text| vector(text)).collect();
        for (query, answers) in &set.queries {
            let wanted = vector(query);
            let mut ranked: Vec<(f32, usize)> = texts
                .iter()
                .enumerate()
                .filter(|(at, _)| !set.among || set.texts[*at] != *query)
                .map(|(at, text)| (text.cosine(&wanted).unwrap_or(-1.0), at))
                .collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for answer in answers {
                let rank = ranked.iter().position(|(_, at)| at == answer);
                self.add(rank.map_or(usize::MAX, |place| place + 1));
            }
        }
    }
}

fn print(name: &str, sets: &[Set], embedder: &StaticEmbedder) {
    let ngrams = |text: &str| ngram_vector(text);
    let embedding = |text: &str| embedder.vector(text);
    let ways: [(&str, Vector<'_>); 2] = [("n-grams", &ngrams), ("embedding", &embedding)];
    println!("{name}");
    for (way, vector) in ways {
        let mut score = Score::default();
        for set in sets {
            score.of(set, vector);
        }
        println!(
            "  {way:10} first {:4}, of five {:4}, of ten {:4}, of {:4}; mean reciprocal rank {:.3}",
            score.first,
            score.five,
            score.ten,
            score.wanted,
            score.reciprocal / f64::from(u32::try_from(score.wanted.max(1)).unwrap_or(u32::MAX)),
        );
    }
}

/// Questions and the statements that answer them.
fn queries() -> Result<Set> {
    let mut set = Set::default();
    for line in QUERIES.lines() {
        let line: Value = serde_json::from_str(line)?;
        set.queries.push((text(&line["query"]), vec![set.texts.len()]));
        set.texts.push(text(&line["answer"]));
    }
    Ok(set)
}

/// Messages of labelled cases: those that say the same, or belong to one update or contradiction, look for each other.
fn cases(lines: &str) -> Result<Set> {
    let mut set = Set {
        among: true,
        ..Set::default()
    };
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line)?;
        let begin = set.texts.len();
        let said: Vec<String> = list(&case["said"]).map(|said| text(&said[2])).collect();
        let groups: Vec<Vec<usize>> = list(&case["same"])
            .chain(std::iter::once(&case["clash"]))
            .map(|group| {
                let place = |at: &Value| Some(begin + usize::try_from(at.as_u64()?).ok()? - 1);
                list(group).filter_map(place).collect()
            })
            .collect();
        set.texts.extend(said);
        for group in groups {
            for from in &group {
                let others = group.iter().copied().filter(|at| at != from).collect();
                set.queries.push((set.texts[*from].clone(), others));
            }
        }
    }
    Ok(set)
}

/// Questions of conversations of LoCoMo's shape, among its messages or among the facts that it expects.
fn locomo(conversations: &Value, facts: bool) -> Vec<Set> {
    let mut sets = Vec::new();
    for item in list(conversations) {
        let mut set = Set::default();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        let mut add = |text: String, from: String| {
            places.entry(from).or_default().push(set.texts.len());
            set.texts.push(text);
        };
        for number in 1..100 {
            if facts {
                let said = &item["observation"][format!("session_{number}_observation")];
                for fact in said.as_object().into_iter().flat_map(|all| all.values()).flat_map(list) {
                    add(text(&fact[0]), text(&fact[1]));
                }
            } else {
                for turn in list(&item["conversation"][format!("session_{number}")]) {
                    add(
                        format!("{}: {}", text(&turn["speaker"]), text(&turn["text"])),
                        text(&turn["dia_id"]),
                    );
                }
            }
        }
        for asked in list(&item["qa"]) {
            let answers = list(&asked["evidence"])
                .filter_map(|from| places.get(&text(from)))
                .flatten();
            let answers: Vec<usize> = answers.copied().collect();
            set.queries.push((text(&asked["question"]), answers));
        }
        sets.push(set);
    }
    sets
}

/// Cases in other scripts, among our own texts.
fn languages(file: &Value) -> Result<Set> {
    let mut set = Set {
        texts: cases(OWN)?.texts,
        ..Set::default()
    };
    for case in list(&file["cases"]) {
        set.queries.push((text(&case["query"]), vec![set.texts.len()]));
        set.texts.push(text(&case["content"]));
    }
    Ok(set)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn main() -> Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let read = |name: &str| -> Result<Option<Value>> {
        let path = options
            .iter()
            .position(|o| o == name)
            .and_then(|at| options.get(at + 1));
        path.map(|path| Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?))
            .transpose()
    };
    let begun = Instant::now();
    let embedder = StaticEmbedder::load()?;
    println!("loaded in {:?}", begun.elapsed());
    print("questions of our own", &[queries()?], &embedder);
    print("own cases", &[cases(OWN)?], &embedder);
    print("held-out cases", &[cases(HELD)?], &embedder);
    if let Some(file) = read("--languages")? {
        print("other languages", &[languages(&file)?], &embedder);
    }
    if let Some(file) = read("--locomo")? {
        print("LoCoMo, among messages", &locomo(&file, false), &embedder);
        print("LoCoMo, among facts", &locomo(&file, true), &embedder);
    }
    let sentence = "maya works at Intel as a validation engineer and paints watercolours at weekends.";
    let begun = Instant::now();
    for _ in 0..10_000 {
        std::hint::black_box(embedder.vector(std::hint::black_box(sentence)));
    }
    println!("{:?} a sentence", begun.elapsed() / 10_000);
    Ok(())
}
