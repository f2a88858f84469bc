//! Messages becoming conclusions.

use std::time::Duration;

use super::{Costs, MINUTE, say, settle};
use crate::rig::{Rig, Scripted};

/// Maya says one thing; ingest is what costs.
async fn one(costs: &mut Costs, rig: &Rig, operation: &'static str, text: &str) {
    say(rig, &[text]).await;
    costs.of(operation, rig, settle(rig)).await;
}

pub(super) async fn measure(costs: &mut Costs) {
    let rig = super::rig(Scripted::idle()).await;
    one(
        costs,
        &rig,
        "ingest one message, the first about a peer",
        "I work at Intel.",
    )
    .await;
    let letter = {
        say(&rig, &["I play chess."]).await;
        let queue = reverie_core::ports::QueueName::Ingest;
        let delivery = rig.queues.receive(queue, 2 * MINUTE).await.unwrap().unwrap();
        rig.queues
            .change_visibility(queue, &delivery.receipt, Duration::ZERO)
            .await
            .unwrap();
        delivery.body
    };
    costs
        .of("ingest one message: one new conclusion", &rig, settle(&rig))
        .await;
    costs
        .of("the same wake-up again: nothing new", &rig, async {
            rig.engine.handle_ingest(&letter).await.unwrap();
        })
        .await;
    one(costs, &rig, "ingest one message: a duplicate", "I play chess.").await;
    say(&rig, &["I play go.", "I play cards."]).await;
    settle(&rig).await;
    one(
        costs,
        &rig,
        "ingest one message: the fifth conclusion sets the timer",
        "I keep bees.",
    )
    .await;
    rig.pass(Duration::from_secs(30));
    one(
        costs,
        &rig,
        "ingest one message: the timer stays (coalesced)",
        "I keep cats.",
    )
    .await;
    rig.pass(5 * MINUTE);
    one(costs, &rig, "ingest one message: the timer is replaced", "I keep dogs.").await;
    let texts = super::messages::hundred();
    say(&rig, &texts).await;
    costs
        .of("ingest 100 messages: 100 new conclusions", &rig, settle(&rig))
        .await;
}
