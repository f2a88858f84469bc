//! What gets lost is made good by the reconciler (`design.md` section 2): the table is the truth, a queue message only a
//! hint to look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use reverie_core::offline::Offline;
use reverie_core::ports::QueueName;
use reverie_core::reasoner::{
    DeriveRequest, Derived, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest, Thought,
};
use reverie_engine::Report;
use serde_json::json;

use super::{MINUTE, ask, facts, quiet, runs, say, texts};
use crate::rig::{Fault, Faults, Rig, config, reasoner::verbatim};

/// From now on calls of this name do not get through.
fn cut(rig: &Rig, call: &'static str) {
    rig.faults
        .replan(move |_, name| if name == call { Fault::Fail } else { Fault::None });
}

fn mend(rig: &Rig) {
    rig.faults.replan(|_, _| Fault::None);
}

#[tokio::test]
async fn a_lost_wake_up_is_sent_again() {
    let rig = quiet().await;
    cut(&rig, "SendMessage");
    // The message is stored, so the answer is still 201.
    say(&rig, "s", "maya", &facts(0..1)).await;
    mend(&rig);
    rig.settle().await;
    assert_eq!(texts(&rig).await, [""; 0]);
    assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["pending_work_units"], 1);
    rig.pass(61 * MINUTE / 60);
    assert_eq!(rig.engine.reconcile().await.unwrap().sessions, 1);
    rig.settle().await;
    assert_eq!(texts(&rig).await, facts(0..1));
    // What is done is not looked at again.
    rig.pass(10 * MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap(), Report::default());
}

#[tokio::test]
async fn a_lost_schedule_is_made_good_when_it_should_have_fired() {
    let rig = quiet().await;
    cut(&rig, "CreateSchedule");
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    mend(&rig);
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 0);
    assert_eq!(rig.engine.reconcile().await.unwrap().representations, 1);
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test]
async fn a_lost_wake_up_for_a_timer_is_made_good() {
    let rig = quiet().await;
    rig.post("/v3/workspaces/w/peers", json!({"id": "maya"})).await;
    cut(&rig, "SendMessage");
    super::state(&rig, "maya", "maya", &facts(0..5)).await;
    mend(&rig);
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await.len(), 0);
    rig.engine.reconcile().await.unwrap();
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test]
async fn a_lost_start_message_is_sent_again() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    cut(&rig, "SendMessage");
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    mend(&rig);
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "pending");
    rig.pass(2 * MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap().runs, 1);
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test]
async fn a_message_that_was_received_and_vanished_is_made_good() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    let lost = rig.queues.receive(QueueName::Ingest, MINUTE).await.unwrap().unwrap();
    rig.queues.delete(QueueName::Ingest, &lost.receipt).await.unwrap();
    rig.pass(2 * MINUTE);
    rig.engine.reconcile().await.unwrap();
    rig.settle().await;
    rig.pass(61 * MINUTE);
    rig.queues.tick().await.unwrap();
    let lost = rig.queues.receive(QueueName::Dreams, MINUTE).await.unwrap().unwrap();
    rig.queues.delete(QueueName::Dreams, &lost.receipt).await.unwrap();
    rig.settle().await;
    assert_eq!(runs(&rig).await.len(), 0);
    rig.engine.reconcile().await.unwrap();
    rig.settle().await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

/// Never comes back from its first thought.
struct Stuck(AtomicBool);

#[async_trait]
impl Reasoner for Stuck {
    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        Ok(verbatim(&request))
    }

    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        Offline.summarise(request).await
    }

    async fn think(&self, _: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        if !self.0.swap(true, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(Thought {
            done: true,
            ..Thought::default()
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_executor_died_is_gone_on_with_once_its_lease_has_run_out() {
    let rig = Rig::with(config(), Arc::new(Stuck(AtomicBool::new(false))), Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(ask(&rig, "maya").await, StatusCode::NO_CONTENT);
    // The executor dies in the middle, and its message with it.
    let delivery = rig.queues.receive(QueueName::Dreams, MINUTE).await.unwrap().unwrap();
    let death = tokio::time::timeout(Duration::from_secs(1), rig.engine.handle_dream(&delivery.body)).await;
    assert!(death.is_err());
    rig.queues.delete(QueueName::Dreams, &delivery.receipt).await.unwrap();
    assert_eq!(runs(&rig).await[0]["status"], "running");
    rig.pass(MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap().runs, 0, "its lease still holds");
    rig.pass(2 * MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap().runs, 1);
    rig.settle().await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("completed")));
}
