//! Workers: receive from a queue, let a handler look, delete or back off. What Lambda's event source mapping does in
//! AWS.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::cause::chain;
use reverie_core::ports::QueueName;
use reverie_core::time::doubled;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::queue::{Delivery, LocalQueues, MAX_RECEIVES, QueueError};

/// How long a message is locked at receipt and at each heartbeat (`design.md` section 4, "On AWS").
const VISIBILITY: Duration = Duration::from_mins(2);
/// The time between heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(40);
/// Back-off after the first failure; doubles with every further one.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
/// The longest back-off of our own; a handler may ask for a longer one.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(1);
/// The longest back-off that a handler may ask for.
const LONGEST_DELAY: Duration = Duration::from_mins(15);
/// How long a stopping worker waits for the work it has begun. What is cut off is done again after the next start.
const GRACE: Duration = Duration::from_secs(10);
/// An idle worker looks at least this often, should a wake-up ever be missed.
const IDLE_LOOK: Duration = Duration::from_secs(5);

/// Deals with one message of a queue.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Looks at what the body names and does what is due. `Ok` consumes the message.
    async fn handle(&self, body: &str) -> Result<(), Failure>;
}

/// A handler did not succeed; the message comes again.
#[derive(Debug, thiserror::Error)]
#[error("the handler failed")]
pub struct Failure {
    /// When to try again, if the handler knows.
    pub retry_after: Option<Duration>,
    /// Why.
    #[source]
    pub source: Box<dyn Error + Send + Sync>,
}

/// Starts `count` workers on a queue. They end when `stop` becomes true, or its sender is gone.
pub fn spawn(
    queues: &LocalQueues,
    queue: QueueName,
    handler: &Arc<dyn Handler>,
    count: usize,
    stop: &watch::Receiver<bool>,
) -> Vec<JoinHandle<()>> {
    (0..count)
        .map(|_| {
            let worker = Worker {
                queues: queues.clone(),
                queue,
                handler: Arc::clone(handler),
            };
            tokio::spawn(worker.run(stop.clone()))
        })
        .collect()
}

/// Resolves when the process is to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone: stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

struct Worker {
    queues: LocalQueues,
    queue: QueueName,
    handler: Arc<dyn Handler>,
}

impl Worker {
    async fn run(self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() && stop.has_changed().is_ok() {
            match self.queues.receive(self.queue, VISIBILITY).await {
                Ok(Some(delivery)) => {
                    // One wake-up may stand for several messages; the next worker looks for the next.
                    self.queues.news(self.queue).notify_one();
                    self.work(delivery, &mut stop).await;
                }
                Ok(None) => {
                    tokio::select! {
                        () = self.queues.news(self.queue).notified() => {}
                        () = tokio::time::sleep(IDLE_LOOK) => {}
                        () = stopped(&mut stop) => {}
                    }
                }
                Err(error) => {
                    tracing::error!(queue = self.queue.as_str(), error = %chain(&error), "the queue cannot be read");
                    tokio::select! {
                        () = tokio::time::sleep(IDLE_LOOK) => {}
                        () = stopped(&mut stop) => {}
                    }
                }
            }
        }
    }

    /// Works on one message, keeping it locked meanwhile.
    async fn work(&self, delivery: Delivery, stop: &mut watch::Receiver<bool>) {
        let handler = Arc::clone(&self.handler);
        let body = delivery.body.clone();
        // A task of its own, so that a panic of the handler is a failure of this message and of nothing else.
        let mut task = tokio::spawn(async move { handler.handle(&body).await });
        let mut heartbeat = tokio::time::interval_at(tokio::time::Instant::now() + HEARTBEAT, HEARTBEAT);
        let outcome = loop {
            tokio::select! {
                outcome = &mut task => break outcome,
                _ = heartbeat.tick() => {
                    let kept = self.queues.change_visibility(self.queue, &delivery.receipt, VISIBILITY).await;
                    self.note(&delivery, "keep a message locked", kept);
                }
                () = stopped(stop) => {
                    if let Ok(outcome) = tokio::time::timeout(GRACE, &mut task).await {
                        break outcome;
                    }
                    task.abort();
                    return;
                }
            }
        };
        match outcome {
            Ok(Ok(())) => {
                let deleted = self.queues.delete(self.queue, &delivery.receipt).await;
                self.note(&delivery, "delete a message that was dealt with", deleted);
            }
            Ok(Err(failure)) => {
                let error = chain(&*failure.source);
                self.back_off(&delivery, failure.retry_after, &error).await;
            }
            Err(error) => self.back_off(&delivery, None, &error.to_string()).await,
        }
    }

    async fn back_off(&self, delivery: &Delivery, retry_after: Option<Duration>, error: &str) {
        let delay = delay(delivery.receive_count, retry_after);
        if delivery.receive_count >= MAX_RECEIVES {
            tracing::error!(
                queue = self.queue.as_str(),
                message.id = delivery.id,
                message.receive_count = delivery.receive_count,
                error,
                "a message failed for the last time and goes to the dead letters"
            );
        } else {
            tracing::warn!(
                queue = self.queue.as_str(),
                message.id = delivery.id,
                message.receive_count = delivery.receive_count,
                retry_in_seconds = delay.as_secs_f64(),
                error,
                "a message failed and will be tried again"
            );
        }
        let hidden = self
            .queues
            .change_visibility(self.queue, &delivery.receipt, delay)
            .await;
        self.note(delivery, "put a message off", hidden);
    }

    /// A stale receipt means that someone else has the message by now: nothing is lost, but worth knowing.
    fn note(&self, delivery: &Delivery, what: &'static str, outcome: Result<(), QueueError>) {
        if let Err(error) = outcome {
            tracing::warn!(
                queue = self.queue.as_str(),
                message.id = delivery.id,
                error = %chain(&error),
                "cannot {what}"
            );
        }
    }
}

/// When a message that failed for the `receives`th time is tried again.
fn delay(receives: u32, asked: Option<Duration>) -> Duration {
    let own = doubled(FIRST_BACK_OFF, receives.saturating_sub(1), LONGEST_BACK_OFF);
    asked.map_or(own, |asked| asked.min(LONGEST_DELAY))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Mutex;

    use reverie_core::ports::{Clock, Letter, Queues};
    use reverie_core::time::Time;

    use super::*;

    const QUEUE: QueueName = QueueName::Dreams;

    /// Follows tokio's clock, which the tests pause.
    struct TokioClock(tokio::time::Instant);

    impl Clock for TokioClock {
        fn now(&self) -> Time {
            Time::from_seconds(1_800_000_000) + self.0.elapsed()
        }
    }

    /// Does what the body says, and notes when.
    struct Script {
        start: tokio::time::Instant,
        calls: Mutex<Vec<(u64, String)>>,
    }

    #[async_trait]
    impl Handler for Script {
        async fn handle(&self, body: &str) -> Result<(), Failure> {
            let seconds = self.start.elapsed().as_secs();
            self.calls.lock().unwrap().push((seconds, body.to_owned()));
            let fail = |retry_after| {
                Err(Failure {
                    retry_after,
                    source: "as told".into(),
                })
            };
            match body {
                "fail" => fail(None),
                "fail for 100 s" => fail(Some(Duration::from_secs(100))),
                "panic" => panic!("as told"),
                "work for an hour" => {
                    tokio::time::sleep(Duration::from_hours(1)).await;
                    Ok(())
                }
                _ => Ok(()),
            }
        }
    }

    struct Scene {
        queues: LocalQueues,
        script: Arc<Script>,
        stop: watch::Sender<bool>,
        workers: Vec<JoinHandle<()>>,
    }

    impl Scene {
        fn new() -> Self {
            let start = tokio::time::Instant::now();
            let queues = LocalQueues::memory(Arc::new(TokioClock(start))).unwrap();
            let script = Arc::new(Script {
                start,
                calls: Mutex::default(),
            });
            let (stop, stopped) = watch::channel(false);
            let handler: Arc<dyn Handler> = script.clone();
            let workers = spawn(&queues, QUEUE, &handler, 2, &stopped);
            Self {
                queues,
                script,
                stop,
                workers,
            }
        }

        async fn send(&self, group: &str, body: &str) {
            let letter = Letter {
                group: group.to_owned(),
                deduplication: format!("{group}-{body}").replace(' ', "-"),
                body: body.to_owned(),
            };
            self.queues.send(QUEUE, letter).await.unwrap();
        }

        /// Lets time pass as the runtime would: with a tick every 200 ms.
        async fn pass(&self, time: Duration) {
            let end = tokio::time::Instant::now() + time;
            while tokio::time::Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(200)).await;
                self.queues.tick().await.unwrap();
            }
        }

        fn calls(&self) -> Vec<(u64, String)> {
            self.script.calls.lock().unwrap().clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_is_handled_at_once_and_gone() {
        let scene = Scene::new();
        for group in ["a", "b", "c"] {
            scene.send(group, "fine").await;
        }
        scene.pass(Duration::from_millis(200)).await;
        assert_eq!(scene.calls().len(), 3);
        assert_eq!(
            scene.queues.counts(QUEUE).await.unwrap(),
            crate::queue::Counts::default()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failures_back_off_and_end_in_the_dead_letters() {
        for body in ["fail", "panic"] {
            let scene = Scene::new();
            scene.send("g", body).await;
            scene.pass(Duration::from_mins(2)).await;
            let times: Vec<_> = scene.calls().iter().map(|call| call.0).collect();
            assert_eq!(times, [0, 1, 3, 7, 15], "{body}");
            assert_eq!(scene.queues.counts(QUEUE).await.unwrap().dead, 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_may_name_the_delay() {
        let scene = Scene::new();
        scene.send("g", "fail for 100 s").await;
        scene.pass(Duration::from_secs(110)).await;
        let times: Vec<_> = scene.calls().iter().map(|call| call.0).collect();
        assert_eq!(times, [0, 100]);
    }

    #[tokio::test(start_paused = true)]
    async fn long_work_keeps_its_message_and_its_group_waits() {
        let scene = Scene::new();
        scene.send("g", "work for an hour").await;
        scene.send("g", "fine").await;
        scene.send("other", "fine").await;
        scene.pass(Duration::from_mins(59)).await;
        assert_eq!(scene.calls().len(), 2, "the other group went on");
        scene.pass(Duration::from_mins(2)).await;
        assert_eq!(scene.calls().len(), 3);
        assert_eq!(
            scene.queues.counts(QUEUE).await.unwrap(),
            crate::queue::Counts::default()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_ends_the_workers_and_leaves_unfinished_work_for_the_next_start() {
        let scene = Scene::new();
        scene.send("g", "work for an hour").await;
        scene.pass(Duration::from_secs(1)).await;
        scene.stop.send(true).unwrap();
        for worker in scene.workers {
            worker.await.unwrap();
        }
        assert_eq!(scene.queues.release_in_flight().await.unwrap(), 1);
        assert!(scene.queues.receive(QUEUE, VISIBILITY).await.unwrap().is_some());
    }

    #[test]
    fn delays_are_bounded() {
        assert_eq!(delay(1, None), Duration::from_secs(1));
        assert_eq!(delay(7, None), Duration::from_mins(1));
        assert_eq!(delay(u32::MAX, None), Duration::from_mins(1));
        assert_eq!(delay(1, Some(Duration::from_hours(9))), Duration::from_mins(15));
    }
}
