//! What the hot paths cost: every call they make and the capacity units of the table, as documented
//! (`design.md` section 11). A call that is added fails here.
//!
//! The units are the embedded engine's own; `docs/data-model.md` says by which rules it counts.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::documentation::read;
use crate::rig::{Cost, Faults, Rig, Scripted, config};

mod dreams;
mod ingest;
mod messages;
mod reads;

const MINUTE: Duration = Duration::from_mins(1);
const MESSAGES: &str = "/v3/workspaces/w/sessions/s/messages";

/// What one operation costs.
struct Row {
    operation: &'static str,
    cost: Cost,
}

/// The costs of operations, as they are measured.
#[derive(Default)]
struct Costs(Vec<Row>);

impl Costs {
    async fn of(&mut self, operation: &'static str, rig: &Rig, what: impl Future<Output = ()>) {
        let cost = rig.cost(what).await;
        self.0.push(Row { operation, cost });
    }

    fn table(&self) -> String {
        let mut table = String::from("| operation | calls | read | write |\n|---|---|---|---|\n");
        for Row { operation, cost } in &self.0 {
            let Cost { read, write, .. } = cost;
            writeln!(table, "| {operation} | {} | {read} | {write} |", cost.list()).unwrap();
        }
        table
    }
}

/// A rig whose reasoner takes every message for a fact.
async fn rig(reasoner: Scripted) -> Rig {
    Rig::with(config(), Arc::new(reasoner), Faults::none()).await
}

fn said(texts: &[impl AsRef<str>]) -> Value {
    let messages = texts
        .iter()
        .map(|text| json!({"peer_id": "maya", "content": text.as_ref()}));
    json!({"messages": messages.collect::<Vec<_>>()})
}

/// Maya says something in the session.
async fn say(rig: &Rig, texts: &[impl AsRef<str>]) {
    rig.post(MESSAGES, said(texts)).await;
}

async fn settle(rig: &Rig) {
    assert_eq!(rig.settle().await, 0);
}

#[tokio::test]
async fn every_hot_path_costs_what_the_documentation_says() {
    let mut costs = Costs::default();
    messages::measure(&mut costs).await;
    ingest::measure(&mut costs).await;
    dreams::measure(&mut costs).await;
    reads::measure(&mut costs).await;
    let table = costs.table();
    assert!(
        read("docs/data-model.md").contains(&table),
        "docs/data-model.md does not say what is measured:\n\n{table}"
    );
}

#[tokio::test]
async fn a_message_to_a_known_session_takes_three_calls() {
    let rig = rig(Scripted::idle()).await;
    say(&rig, &["I work at Intel."]).await;
    let cost = rig.cost(say(&rig, &["I work at Qualcomm."])).await;
    assert_eq!(cost.calls, ["BatchGetItem", "TransactWriteItems", "SendMessage"]);
}

#[tokio::test]
async fn a_hundred_messages_of_nine_kilobytes_take_at_most_fifteen_write_units() {
    let rig = rig(Scripted::idle()).await;
    say(&rig, &["I work at Intel."]).await;
    settle(&rig).await;
    rig.pass(MINUTE);
    let cost = rig.cost(say(&rig, &messages::hundred())).await;
    assert!(cost.write <= 15.0, "{cost:?}");
}
