//! The local queues under the contract, and what only they promise.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::ports::{Clock, QueueName, Queues, Schedules};
use reverie_core::time::Time;
use reverie_local::queue::{Counts, LocalQueues, QueueError};

use reverie_tests::contract::queue::{Driver, MINUTE, QUEUE, Received, Stale, cases, letter, schedule};

/// A clock that stands until it is moved.
struct Hand(Mutex<Time>);

impl Hand {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Time::from_seconds(1_800_000_000))))
    }

    fn to(&self, time: Time) {
        let mut now = self.0.lock().unwrap();
        *now = time.max(*now);
    }
}

impl Clock for Hand {
    fn now(&self) -> Time {
        *self.0.lock().unwrap()
    }
}

struct LocalDriver {
    clock: Arc<Hand>,
    queues: Mutex<LocalQueues>,
    /// Every life has a folder of its own, as its predecessor left it.
    lives: Mutex<Vec<tempfile::TempDir>>,
}

impl LocalDriver {
    fn new() -> Self {
        let (clock, dir) = (Hand::new(), tempfile::tempdir().unwrap());
        Self {
            queues: Mutex::new(LocalQueues::open(dir.path(), clock.clone()).unwrap()),
            lives: Mutex::new(vec![dir]),
            clock,
        }
    }

    fn local(&self) -> LocalQueues {
        self.queues.lock().unwrap().clone()
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn stale(outcome: Result<(), QueueError>) -> Result<(), Stale> {
    match outcome {
        Err(QueueError::Stale(_)) => Err(Stale),
        other => {
            other.unwrap();
            Ok(())
        }
    }
}

#[async_trait]
impl Driver for LocalDriver {
    fn queues(&self) -> Arc<dyn Queues> {
        Arc::new(self.local())
    }

    fn schedules(&self) -> Arc<dyn Schedules> {
        Arc::new(self.local())
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    async fn receive(&self, visibility: Duration) -> Option<Received> {
        let delivery = self.local().receive(QUEUE, visibility).await.unwrap()?;
        Some(Received {
            receipt: delivery.receipt,
            group: delivery.group,
            body: delivery.body,
            receive_count: delivery.receive_count,
        })
    }

    async fn delete(&self, receipt: &str) -> Result<(), Stale> {
        stale(self.local().delete(QUEUE, receipt).await)
    }

    async fn change_visibility(&self, receipt: &str, visibility: Duration) -> Result<(), Stale> {
        stale(self.local().change_visibility(QUEUE, receipt, visibility).await)
    }

    async fn dead(&self) -> Vec<String> {
        let letters = self.local().dead_letters(QUEUE).await.unwrap();
        letters.into_iter().map(|letter| letter.body).collect()
    }

    async fn pass(&self, time: Duration) {
        self.clock.to(self.clock.now() + time);
        self.local().tick().await.unwrap();
    }

    async fn pass_fire(&self, at: Time) {
        self.clock.to(at);
        self.local().tick().await.unwrap();
    }

    async fn kill_and_restart(&self) {
        let next = tempfile::tempdir().unwrap();
        // What a killed process leaves is what lies on the disk while it still runs.
        copy(self.lives.lock().unwrap().last().unwrap().path(), next.path());
        *self.queues.lock().unwrap() = LocalQueues::open(next.path(), self.clock.clone()).unwrap();
        self.lives.lock().unwrap().push(next);
    }
}

/// Makes one test of every case.
macro_rules! tests {
    ($($case:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $case() {
                cases::$case(&LocalDriver::new()).await;
            }
        )+
    };
}

reverie_tests::queue_cases!(tests);

#[tokio::test]
async fn a_late_fire_still_comes() {
    let driver = LocalDriver::new();
    let at = driver.now() + 2 * MINUTE;
    driver.local().create(schedule("rep-1", at, "late")).await.unwrap();
    driver.pass_fire(at + 10 * MINUTE).await;
    let driver: &dyn Driver = &driver;
    assert_eq!(driver.drain().await, ["late"]);
}

#[tokio::test]
async fn a_restart_frees_what_the_dead_predecessor_had_received() {
    let driver = LocalDriver::new();
    let queues = driver.local();
    queues.send(QUEUE, letter("g", "d", "work")).await.unwrap();
    let first = queues.receive(QUEUE, MINUTE).await.unwrap().unwrap();
    driver.kill_and_restart().await;
    let queues = driver.local();
    assert_eq!(queues.receive(QUEUE, MINUTE).await.unwrap(), None);
    assert_eq!(queues.release_in_flight().await.unwrap(), 1);
    let second = queues.receive(QUEUE, MINUTE).await.unwrap().unwrap();
    assert_eq!((second.id, second.receive_count), (first.id, 2));
    let late = queues.delete(QUEUE, &first.receipt).await;
    assert!(matches!(late, Err(QueueError::Stale(_))));
}

#[tokio::test]
async fn the_two_queues_are_apart() {
    let queues = LocalDriver::new().local();
    queues
        .send(QueueName::Ingest, letter("g", "d", "ingest"))
        .await
        .unwrap();
    queues.send(QueueName::Dreams, letter("g", "d", "dream")).await.unwrap();
    let ingest = queues.receive(QueueName::Ingest, MINUTE).await.unwrap().unwrap();
    let dream = queues.receive(QueueName::Dreams, MINUTE).await.unwrap().unwrap();
    assert_eq!((ingest.body.as_str(), dream.body.as_str()), ("ingest", "dream"));
    assert!(queues.delete(QueueName::Dreams, &ingest.receipt).await.is_err());
}

#[tokio::test]
async fn counts_say_what_lies_where() {
    let driver = LocalDriver::new();
    let queues = driver.local();
    for n in 0..3 {
        queues.send(QUEUE, letter("g", &n.to_string(), "work")).await.unwrap();
    }
    queues
        .create(schedule("later", driver.now() + MINUTE, "body"))
        .await
        .unwrap();
    queues.receive(QUEUE, MINUTE).await.unwrap();
    let expected = Counts {
        waiting: 2,
        in_flight: 1,
        dead: 0,
        scheduled: 1,
    };
    assert_eq!(queues.counts(QUEUE).await.unwrap(), expected);
}

#[tokio::test]
async fn a_letter_and_a_fire_wake_the_waiting_worker() {
    let driver = LocalDriver::new();
    let queues = driver.local();
    let woken = || tokio::time::timeout(Duration::from_secs(5), queues.news(QUEUE).notified());
    queues.send(QUEUE, letter("g", "d", "work")).await.unwrap();
    woken().await.unwrap();
    queues
        .create(schedule("soon", driver.now() + MINUTE, "fired"))
        .await
        .unwrap();
    driver.pass_fire(driver.now() + MINUTE).await;
    woken().await.unwrap();
}

#[tokio::test]
async fn a_fire_that_a_kill_interrupts_is_neither_lost_nor_doubled() {
    let driver = LocalDriver::new();
    let at = driver.now() + MINUTE;
    driver.local().create(schedule("rep-1", at, "fired")).await.unwrap();
    driver.clock.to(at);
    driver.kill_and_restart().await;
    assert_eq!(driver.local().tick().await.unwrap(), 1);
    driver.kill_and_restart().await;
    assert_eq!(driver.local().tick().await.unwrap(), 0);
    let driver: &dyn Driver = &driver;
    assert_eq!(driver.drain().await, ["fired"]);
}

#[tokio::test]
async fn dead_letters_go_after_fourteen_days() {
    let driver = LocalDriver::new();
    let queues = driver.local();
    queues.send(QUEUE, letter("g", "d", "poison")).await.unwrap();
    for _ in 0..5 {
        let delivery = queues.receive(QUEUE, MINUTE).await.unwrap().unwrap();
        queues
            .change_visibility(QUEUE, &delivery.receipt, Duration::ZERO)
            .await
            .unwrap();
    }
    assert_eq!(queues.receive(QUEUE, MINUTE).await.unwrap(), None);
    driver.pass(Duration::from_hours(13 * 24)).await;
    assert_eq!(driver.dead().await.len(), 1);
    driver.pass(Duration::from_hours(24)).await;
    assert!(driver.dead().await.is_empty());
}

#[tokio::test]
async fn a_visibility_past_twelve_hours_is_refused() {
    let queues = LocalDriver::new().local();
    let refused = queues.receive(QUEUE, Duration::from_secs(12 * 3600 + 1)).await;
    assert!(matches!(refused, Err(QueueError::Refused { .. })));
}
