//! What broke for people who run memory systems, one test per report: the whole kind of each fault, not the one input.
//! Report 2 is with the deletions, 12 and 24 are with the timing and the verdicts that they are about.

use serde_json::Value;

use crate::rig::{Rig, steps::card};

mod ingest;
mod merging;
mod outages;
mod reasoner;
mod scope;
mod timing;

/// Everything that maya's own representation shows.
async fn stands(rig: &Rig) -> (Vec<Value>, Value) {
    (rig.conclusions("w", "maya", "maya").await, card(rig).await)
}
