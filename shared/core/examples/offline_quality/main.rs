//! Measures the offline reasoner: `cargo run --release -p reverie-core --example offline_quality [-- OPTIONS]`.
//!
//! Without options: the labelled cases of `shared/core/quality`. `--locomo FILE` and `--beam FILE` measure on those sets
//! too, which are not part of the project, `--conversation FILE` on JSON lines with `session`, `peer`, `content` and
//! `created_at`; `--show` prints every statement and operation, `--speed` the speed.

mod host {
    pub(crate) use reverie_core::*;
}
mod score;
mod sets;

use score::{Score, score};

const OWN: &str = include_str!("../../quality/cases.jsonl");
const HELD: &str = include_str!("../../quality/held.jsonl");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| options.iter().any(|o| o == name);
    let path = |name: &str| {
        options
            .iter()
            .position(|o| o == name)
            .and_then(|at| options.get(at + 1))
    };
    print("own cases", &score(OWN)?, true);
    // What fails there is not shown, so that no rule is fitted to it.
    print("held-out cases", &score(HELD)?, has("--held"));
    if let Some(path) = path("--locomo") {
        sets::locomo(&serde_json::from_str(&std::fs::read_to_string(path)?)?, has("--show"));
    }
    if let Some(path) = path("--beam") {
        sets::beam(&std::fs::read_to_string(path)?, has("--show"));
    }
    if let Some(path) = path("--conversation") {
        sets::conversation(&std::fs::read_to_string(path)?);
    }
    if has("--speed") {
        sets::speed();
    }
    Ok(())
}

fn print(name: &str, score: &Score, failures: bool) {
    let of = |(all, some): (usize, usize)| format!("{some} of {all}");
    println!("{name}");
    println!(
        "  superseded single-valued facts  {} (stale left: {}, never derived: {})",
        of(score.updates),
        score.stale,
        score.unheard
    );
    println!("  wrong supersessions             {}", score.wrong_supersessions);
    println!("  duplicates merged               {}", of(score.duplicates));
    println!("  wrong merges                    {}", score.wrong_merges);
    println!(
        "  contradictions found            {} (false ones: {})",
        of(score.contradictions),
        score.false_contradictions
    );
    println!("  extraction recall               {}", of(score.expected));
    println!("  extraction precision            {}", of(score.statements));
    println!(
        "  card entries                    {} (wrong cards: {})",
        of(score.card),
        score.false_cards
    );
    println!("  derived with evidence           {}", of(score.evidence));
    println!("  operations of second dreams     {}", score.second);
    if failures {
        for failure in &score.failures {
            println!("    {failure}");
        }
    }
}
