//! Batches that fail: an outage loses nothing, and a message that cannot be derived from holds nothing up (reports 3
//! and 8).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use reverie_core::conclusion::Embedding;
use reverie_core::offline::{Offline, StaticEmbedder};
use reverie_core::reasoner::{
    DeriveRequest, Derived, EmbedError, Embedder, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest,
    Thought,
};
use serde_json::{Value, json};

use super::{MESSAGES, failed, queue, said, texts, time_passes};
use crate::rig::reasoner::verbatim;
use crate::rig::{Fault, Faults, Rig, Scripted, config};

/// How a batch with a poisoned message in it goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Poison {
    /// There is no usable answer.
    Refused,
    /// The provider fails, every time.
    Unavailable,
    /// The reasoner panics.
    Panic,
    /// There is no answer at all.
    Silence,
}

/// Cannot bear messages that contain "poison", until it is healed.
struct Poisoned {
    poison: Poison,
    healed: AtomicBool,
    asked: AtomicUsize,
}

impl Poisoned {
    fn new(poison: Poison) -> Arc<Self> {
        Arc::new(Self {
            poison,
            healed: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Reasoner for Poisoned {
    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let poisoned = request
            .messages
            .iter()
            .any(|message| message.content.contains("poison"));
        if !poisoned || self.healed.load(Ordering::Relaxed) {
            return Ok(verbatim(&request));
        }
        match self.poison {
            Poison::Refused => Err(ReasonerError::permanent("no JSON: {poison".to_owned())),
            Poison::Unavailable => Err(ReasonerError::transient("503".to_owned())),
            Poison::Panic => panic!("not a character boundary"),
            Poison::Silence => std::future::pending().await,
        }
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

async fn poisoned(poison: Poison) -> (Rig, Arc<Poisoned>) {
    let reasoner = Poisoned::new(poison);
    let rig = Rig::with(config(), Arc::clone(&reasoner) as _, Faults::none()).await;
    (rig, reasoner)
}

/// Twelve messages, some of them poisoned.
fn dozen(bad: &[usize]) -> Vec<String> {
    (0..12)
        .map(|number| {
            if bad.contains(&number) {
                format!("poison {number}")
            } else {
                format!("maya noted {number}")
            }
        })
        .collect()
}

fn without_poison(texts: &[String]) -> Vec<String> {
    texts.iter().filter(|text| !text.contains("poison")).cloned().collect()
}

fn only_poison(texts: &[String], error: &str) -> Vec<(String, String)> {
    let poison = texts.iter().filter(|text| text.contains("poison"));
    poison.map(|text| (text.clone(), error.to_owned())).collect()
}

async fn retry(rig: &Rig, place: usize) -> StatusCode {
    let all = rig.post(&format!("{MESSAGES}/list?size=100"), json!({})).await;
    let id = all["items"][place]["id"].as_str().unwrap().to_owned();
    rig.call("POST", &format!("{MESSAGES}/{id}/retry"), None).await.0
}

#[tokio::test]
async fn a_message_without_a_usable_answer_is_parked_and_all_others_are_derived_from() {
    for bad in [
        &[][..],
        &[0],
        &[5],
        &[11],
        &[3, 4],
        &[0, 6, 11],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    ] {
        for poison in [Poison::Refused, Poison::Panic] {
            let (rig, reasoner) = poisoned(poison).await;
            let texts_ = dozen(bad);
            rig.post(MESSAGES, said(&texts_)).await;
            assert_eq!(rig.settle().await, 0, "it is done in one go: {bad:?}");
            let mut seen = texts(&rig).await;
            seen.sort();
            let mut expected = without_poison(&texts_);
            expected.sort();
            assert_eq!(seen, expected, "{bad:?}");
            assert_eq!(failed(&rig).await, only_poison(&texts_, "reasoner"), "{bad:?}");
            // Every conclusion was made once, by one batch.
            let all = rig.conclusions("w", "maya", "maya").await;
            assert!(all.iter().all(|conclusion| conclusion["times_derived"] == 1));
            assert!(reasoner.asked() <= 1 + 10 * bad.len(), "{bad:?}: {}", reasoner.asked());
            // What failed is seen where one looks, and is no work that waits.
            let status = queue(&rig).await;
            assert_eq!(
                (&status["failed_work_units"], &status["total_work_units"]),
                (&json!(bad.len()), &json!(0))
            );
            if !bad.is_empty() {
                assert_eq!(status["sessions"]["s"]["failed_work_units"], bad.len());
            }
            // Messages that come later do not suffer.
            rig.post(MESSAGES, said(&["maya went on"])).await;
            assert_eq!(rig.settle().await, 0);
            assert!(texts(&rig).await.contains(&"maya went on".to_owned()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_at_which_the_provider_fails_every_time_is_parked_once_others_have_gone_well() {
    for poison in [Poison::Unavailable, Poison::Silence] {
        let (rig, _) = poisoned(poison).await;
        let texts_ = dozen(&[7]);
        rig.post(MESSAGES, said(&texts_)).await;
        rig.settle().await;
        assert_eq!(texts(&rig).await, [""; 0], "at first it is tried again");
        time_passes(&rig, 120).await;
        let mut seen = texts(&rig).await;
        seen.sort();
        let mut expected = without_poison(&texts_);
        expected.sort();
        assert_eq!(seen, expected);
        assert_eq!(failed(&rig).await, only_poison(&texts_, "reasoner_unavailable"));
        assert_eq!(queue(&rig).await["pending_work_units"], 0);
    }
}

#[tokio::test]
async fn an_outage_parks_nothing_however_long_it_lasts() {
    parks_nothing(|| ReasonerError::transient("503")).await;
}

/// A model that is set up wrongly refuses everything, and not one message is to blame.
#[tokio::test]
async fn a_reasoner_that_refuses_whatever_it_is_asked_parks_nothing() {
    parks_nothing(|| ReasonerError::permanent("400: this model cannot be asked so")).await;
}

async fn parks_nothing(failure: impl Fn() -> ReasonerError + Send + 'static) {
    let down = Arc::new(AtomicBool::new(true));
    let is_down = Arc::clone(&down);
    let reasoner = Scripted::idle().deriving(move |request| {
        if is_down.load(Ordering::Relaxed) {
            return Err(failure());
        }
        Ok(verbatim(request))
    });
    let rig = Rig::with(config(), Arc::new(reasoner), Faults::none()).await;
    rig.post(MESSAGES, said(&dozen(&[]))).await;
    time_passes(&rig, 4 * 60).await;
    assert_eq!((texts(&rig).await, failed(&rig).await), (vec![], vec![]));
    let status = queue(&rig).await;
    assert_eq!(
        (&status["pending_work_units"], &status["failed_work_units"]),
        (&json!(1), &json!(0))
    );
    down.store(false, Ordering::Relaxed);
    time_passes(&rig, 15).await;
    assert_eq!(texts(&rig).await.len(), 12);
}

/// Fails as often as it is told, and at texts that contain "poison" always.
struct Embeds {
    failures: AtomicU32,
    healed: AtomicBool,
    inner: StaticEmbedder,
}

impl Embeds {
    fn failing(times: u32) -> Arc<Self> {
        Arc::new(Self {
            failures: AtomicU32::new(times),
            healed: AtomicBool::new(false),
            inner: StaticEmbedder::load().unwrap(),
        })
    }
}

#[async_trait]
impl Embedder for Embeds {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let left = self.failures.load(Ordering::Relaxed);
        if left > 0 {
            self.failures.store(left - 1, Ordering::Relaxed);
            return Err(EmbedError::new("503"));
        }
        if !self.healed.load(Ordering::Relaxed) && texts.iter().any(|text| text.contains("poison")) {
            return Err(EmbedError::new("413"));
        }
        self.inner.embed(texts).await
    }
}

async fn embedding(embedder: &Arc<Embeds>) -> (Rig, Arc<Scripted>) {
    let reasoner = Arc::new(Scripted::idle());
    let rig = Rig::embedding(
        config(),
        Arc::clone(&reasoner) as _,
        Arc::clone(embedder) as _,
        Faults::none(),
    )
    .await;
    (rig, reasoner)
}

#[tokio::test]
async fn what_was_not_saved_is_never_done() {
    for failures in [1, 3, 20] {
        let (rig, reasoner) = embedding(&Embeds::failing(failures)).await;
        rig.post(MESSAGES, said(&dozen(&[]))).await;
        rig.settle().await;
        assert_eq!(texts(&rig).await, [""; 0]);
        assert_eq!(
            queue(&rig).await["pending_work_units"],
            1,
            "nothing saved, nothing done"
        );
        time_passes(&rig, 120).await;
        assert_eq!(texts(&rig).await.len(), 12, "{failures} failures");
        assert_eq!(reasoner.derivations(), 1, "its answer is kept meanwhile");
        assert_eq!(
            (failed(&rig).await, queue(&rig).await["pending_work_units"].clone()),
            (vec![], json!(0))
        );
    }
}

#[tokio::test]
async fn a_message_that_says_what_cannot_be_embedded_is_parked_and_can_be_tried_again() {
    let embedder = Embeds::failing(0);
    let (rig, reasoner) = embedding(&embedder).await;
    let texts_ = dozen(&[2, 9]);
    rig.post(
        "/v3/workspaces/w/sessions",
        json!({"id": "s", "peers": {"maya": {}, "bob": {"observe_others": true}}}),
    )
    .await;
    rig.post(MESSAGES, said(&texts_)).await;
    rig.settle().await;
    time_passes(&rig, 30).await;
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    assert_eq!(sorted(texts(&rig).await), sorted(without_poison(&texts_)));
    assert_eq!(
        sorted(rig.texts("w", "bob", "maya").await),
        sorted(without_poison(&texts_))
    );
    assert_eq!(failed(&rig).await, only_poison(&texts_, "embedding"));
    assert_eq!(reasoner.derivations(), 1);
    embedder.healed.store(true, Ordering::Relaxed);
    for place in [2, 9] {
        assert_eq!(retry(&rig, place).await, StatusCode::ACCEPTED);
    }
    assert_eq!(rig.settle().await, 0);
    assert_eq!(sorted(texts(&rig).await), sorted(texts_.clone()));
    assert_eq!(sorted(rig.texts("w", "bob", "maya").await), sorted(texts_));
    assert_eq!(failed(&rig).await, []);
}

#[tokio::test]
async fn a_parked_message_is_tried_again_when_somebody_asks() {
    let (rig, reasoner) = poisoned(Poison::Refused).await;
    let texts_ = dozen(&[4, 8]);
    rig.post(MESSAGES, said(&texts_)).await;
    rig.settle().await;
    assert_eq!(retry(&rig, 3).await, StatusCode::CONFLICT, "it has not failed");
    // It fails as before.
    assert_eq!(retry(&rig, 4).await, StatusCode::ACCEPTED);
    let status = queue(&rig).await;
    assert_eq!(
        (&status["pending_work_units"], &status["failed_work_units"]),
        (&json!(1), &json!(1))
    );
    let listed = rig.get("/v3/workspaces/w/queue/failed?session_id=s").await;
    assert_eq!(
        (&listed["total"], &listed["items"][0]["retrying"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(rig.settle().await, 0);
    assert_eq!(failed(&rig).await, only_poison(&texts_, "reasoner"));
    assert_eq!(queue(&rig).await["pending_work_units"], 0);
    // Once what was wrong with it is mended it is derived from, once.
    reasoner.healed.store(true, Ordering::Relaxed);
    let asked = reasoner.asked();
    for _ in 0..3 {
        assert_eq!(
            retry(&rig, 4).await,
            StatusCode::ACCEPTED,
            "asking twice is asking once"
        );
    }
    assert_eq!(rig.settle().await, 0);
    assert_eq!(reasoner.asked(), asked + 1);
    assert_eq!(failed(&rig).await, only_poison(&dozen(&[8]), "reasoner"));
    let all = rig.conclusions("w", "maya", "maya").await;
    assert_eq!(all.len(), 11);
    assert!(all.iter().all(|conclusion| conclusion["times_derived"] == 1));
    assert_eq!(retry(&rig, 4).await, StatusCode::CONFLICT);
    // A lost wake-up is made good.
    rig.faults.replan(|_, name| {
        if name == "SendMessage" {
            Fault::Fail
        } else {
            Fault::None
        }
    });
    assert_eq!(retry(&rig, 8).await, StatusCode::ACCEPTED);
    rig.faults.replan(|_, _| Fault::None);
    rig.settle().await;
    assert_eq!(texts(&rig).await.len(), 11);
    time_passes(&rig, 5).await;
    assert_eq!((texts(&rig).await.len(), failed(&rig).await), (12, vec![]));
    // No answer is left behind.
    let items = rig.items().await;
    assert!(
        !items
            .iter()
            .any(|item| item["type"] == "answer" || item["type"] == "parked")
    );
}

#[tokio::test]
async fn a_try_that_meets_an_outage_goes_on_after_it() {
    let (rig, reasoner) = poisoned(Poison::Unavailable).await;
    rig.post(MESSAGES, said(&["poison"])).await;
    time_passes(&rig, 60).await;
    assert_eq!(failed(&rig).await.len(), 1);
    assert_eq!(retry(&rig, 0).await, StatusCode::ACCEPTED);
    rig.settle().await;
    assert_eq!(queue(&rig).await["pending_work_units"], 1);
    // Another message of the session does not wait for it.
    rig.post(MESSAGES, said(&["maya went on"])).await;
    time_passes(&rig, 1).await;
    assert_eq!(texts(&rig).await, ["maya went on"]);
    reasoner.healed.store(true, Ordering::Relaxed);
    time_passes(&rig, 30).await;
    assert_eq!((texts(&rig).await.len(), failed(&rig).await.len()), (2, 0));
    assert_eq!(queue(&rig).await["pending_work_units"], 0);
}

#[tokio::test]
async fn what_is_recorded_of_a_failure_holds_no_text() {
    let (rig, _) = poisoned(Poison::Refused).await;
    rig.post(MESSAGES, said(&["a poison of mine"])).await;
    rig.settle().await;
    let items = rig.items().await;
    let parked: Vec<&Value> = items.iter().filter(|item| item["type"] == "parked").collect();
    assert_eq!(parked.len(), 1);
    assert!(!parked[0].to_string().contains("poison"), "{}", parked[0]);
}

#[tokio::test]
async fn a_search_for_a_poisoned_message_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(
        async |rig| {
            rig.post(MESSAGES, said(&dozen(&[1, 2])[..3])).await;
        },
        |_| {},
    )
    .await;
}

#[tokio::test]
async fn another_try_at_a_parked_message_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(
        async |rig| {
            rig.post(MESSAGES, said(&dozen(&[1])[..2])).await;
            rig.settle().await;
            assert_eq!(retry(rig, 1).await, StatusCode::ACCEPTED);
        },
        |reasoner| reasoner.healed.store(true, Ordering::Relaxed),
    )
    .await;
}

async fn every_crash(before: impl AsyncFn(&Rig), then: impl Fn(&Poisoned)) {
    let begin = async || {
        let (rig, reasoner) = poisoned(Poison::Refused).await;
        before(&rig).await;
        then(&reasoner);
        rig.fix_ids();
        (rig, reasoner)
    };
    let (rig, reasoner) = begin().await;
    rig.faults.replan(|_, _| Fault::None);
    assert_eq!(rig.settle().await, 0);
    let (expected, calls, asked_once) = (rig.fingerprint().await, rig.faults.calls(), reasoner.asked());
    assert!(calls.len() > 8, "{calls:?}");
    for (call, name) in calls.iter().enumerate() {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let (rig, reasoner) = begin().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            rig.settle().await;
            assert!(rig.faults.is_dead());
            let rig = rig.restart().await;
            rig.fix_ids();
            rig.settle().await;
            assert_eq!(rig.fingerprint().await, expected, "{fault:?} at call {call}, {name}");
            // At most the one answer that was under way is asked for again, and once more whether it answers at all.
            assert!(reasoner.asked() <= asked_once + 2, "{fault:?} at call {call}");
        }
    }
}

#[tokio::test]
async fn two_deliveries_at_once_do_no_more_than_one() {
    let (rig, _) = poisoned(Poison::Refused).await;
    let texts_ = dozen(&[1, 10]);
    rig.post(MESSAGES, said(&texts_)).await;
    let rig = Arc::new(rig);
    let delivery = rig
        .queues
        .receive(reverie_core::ports::QueueName::Ingest, Duration::from_mins(2))
        .await
        .unwrap()
        .unwrap();
    let mut both = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let (rig, body) = (Arc::clone(&rig), delivery.body.clone());
        both.spawn(async move { rig.engine.handle_ingest(&body).await });
    }
    for done in both.join_all().await {
        done.unwrap();
    }
    let all = rig.conclusions("w", "maya", "maya").await;
    let seen: BTreeSet<&str> = all
        .iter()
        .map(|conclusion| conclusion["content"].as_str().unwrap())
        .collect();
    assert_eq!((all.len(), seen.len()), (10, 10));
    assert!(all.iter().all(|conclusion| conclusion["times_derived"] == 1));
    assert_eq!(failed(&rig).await, only_poison(&texts_, "reasoner"));
    let items = rig.items().await;
    assert!(
        !items.iter().any(|item| item["type"] == "answer"),
        "no answer is left behind"
    );
}

#[tokio::test]
async fn one_bad_answer_parks_nothing() {
    for bad in 1..=2 {
        let left = AtomicUsize::new(bad);
        let reasoner = Scripted::idle().deriving(move |request| {
            let bad = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            match bad {
                Ok(_) => Err(ReasonerError::permanent("no JSON".to_owned())),
                Err(_) => Ok(verbatim(request)),
            }
        });
        let rig = Rig::with(config(), Arc::new(reasoner), Faults::none()).await;
        rig.post(MESSAGES, said(&["maya works at Intel"])).await;
        assert_eq!(rig.settle().await, 0);
        assert_eq!((texts(&rig).await.len(), failed(&rig).await.len()), (1, 0));
    }
}
