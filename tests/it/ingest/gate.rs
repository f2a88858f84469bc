//! When a model is asked: not for every short POST, and never too late (report 4).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::config::Config;
use reverie_core::offline::Offline;
use reverie_core::reasoner::{
    DeriveRequest, Derived, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest, Thought,
};

use serde_json::json;

use super::{MESSAGES, queue, said, texts, time_passes};
use crate::rig::reasoner::verbatim;
use crate::rig::{Faults, Rig, Scripted, config};

/// Asking it is dear.
#[derive(Default)]
struct Dear(AtomicUsize);

#[async_trait]
impl Reasoner for Dear {
    fn wants_batches(&self) -> bool {
        true
    }

    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(verbatim(&request))
    }

    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        Offline.summarise(request).await
    }

    async fn think(&self, _: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        Ok(Thought {
            done: true,
            ..Thought::default()
        })
    }
}

async fn dear(config: Config) -> (Rig, Arc<Dear>) {
    let asked = Arc::new(Dear::default());
    (Rig::with(config, Arc::clone(&asked) as _, Faults::none()).await, asked)
}

#[tokio::test]
async fn one_short_message_is_derived_from_in_time_with_no_further_traffic() {
    let short = said(&["maya works at Intel, on the fourth floor, and is not happy there at all"]);
    // Offline at once.
    let rig = Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await;
    rig.post(MESSAGES, short.clone()).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await.len(), 1);
    // With a model once it has waited long enough.
    let (rig, asked) = dear(config()).await;
    rig.post(MESSAGES, short.clone()).await;
    time_passes(&rig, 4).await;
    assert_eq!((texts(&rig).await.len(), asked.0.load(Ordering::Relaxed)), (0, 0));
    assert_eq!(queue(&rig).await["pending_work_units"], 1, "it is known to wait");
    time_passes(&rig, 6).await;
    assert_eq!((texts(&rig).await.len(), asked.0.load(Ordering::Relaxed)), (1, 1));
    assert_eq!(queue(&rig).await["pending_work_units"], 0);
    // Or at once, where that is wanted.
    let (rig, _) = dear(Config {
        flush: true,
        ..config()
    })
    .await;
    rig.post(MESSAGES, short.clone()).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await.len(), 1);
    // And as soon as other settings say.
    let (rig, _) = dear(Config {
        max_age: Duration::from_secs(1),
        ..config()
    })
    .await;
    rig.post(MESSAGES, short).await;
    time_passes(&rig, 6).await;
    assert_eq!(texts(&rig).await.len(), 1);
}

#[tokio::test]
async fn short_messages_are_gathered_until_there_are_enough() {
    let (rig, asked) = dear(config()).await;
    // Each is 100 tokens long.
    for number in 0..12 {
        let text = format!("maya {number} {}", "word ".repeat(98));
        rig.post(MESSAGES, said(&[text])).await;
        rig.settle().await;
        rig.pass(Duration::from_secs(2));
    }
    assert_eq!((texts(&rig).await.len(), asked.0.load(Ordering::Relaxed)), (12, 2));
}

#[tokio::test]
async fn what_no_message_can_join_any_more_is_not_held_back() {
    let (rig, asked) = dear(config()).await;
    let message = |text: &str, instructions: Option<&str>| {
        json!({"peer_id": "maya", "content": text,
            "configuration": {"reasoning": {"custom_instructions": instructions}}})
    };
    // Few tokens, but other settings follow; and then nothing, so that the last one waits.
    let messages = [message("maya is tall", Some("CRM")), message("maya is shy", None)];
    rig.post(MESSAGES, json!({ "messages": messages })).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, ["maya is tall"]);
    // A batch that is full before the next, long message.
    rig.post(MESSAGES, said(&["word ".repeat(400), "word ".repeat(1000)]))
        .await;
    rig.settle().await;
    assert_eq!((texts(&rig).await.len(), asked.0.load(Ordering::Relaxed)), (4, 3));
}
