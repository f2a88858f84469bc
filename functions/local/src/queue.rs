//! The FIFO queues and the one-off schedules of this machine: one SQLite file behind the ports of the core.
//!
//! They keep what the design relies on of SQS FIFO and EventBridge Scheduler: order and one in flight per group,
//! five minutes of deduplication (also of scheduled bodies, also after the message was deleted), visibility, receive
//! counts, a dead-letter queue. What is accepted is on disk before the call returns: the log is synced at every
//! commit (`synchronous = FULL`), which costs well under a millisecond on an SSD and keeps the promise even when
//! the power fails.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::ports::{Clock, Letter, PortError, QueueName, Queues, Refused, Schedule, Schedules};
use reverie_core::time::Time;
use tokio::sync::Notify;

mod store;

use store::Store;

/// The file in a data directory.
const FILE: &str = "queue.sqlite";
/// How long equal deduplication ids are one message.
pub const DEDUPLICATION: Duration = Duration::from_mins(5);
/// A message that was received this often and is still there goes to the dead letters instead of being received
/// again.
pub const MAX_RECEIVES: u32 = 5;
/// How long a dead letter is kept.
pub const DEAD_LETTER_RETENTION: Duration = Duration::from_hours(14 * 24);
/// The longest visibility timeout, as in SQS.
pub const MAX_VISIBILITY: Duration = Duration::from_hours(12);

/// Why a call of the local queues failed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The receipt is not that of the message's last delivery, or its visibility has run out: someone else may be at
    /// work on the message.
    #[error("the receipt {0} is stale")]
    Stale(String),
    /// SQS or EventBridge Scheduler would refuse this.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The file could not be read or written.
    #[error("the queue's file failed")]
    File(#[from] rusqlite::Error),
}

/// A message handed out for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message's number; the same at every delivery.
    pub id: i64,
    /// Names this delivery, until its visibility runs out.
    pub receipt: String,
    /// The group, none of whose other messages is handed out meanwhile.
    pub group: String,
    /// The body as it was sent.
    pub body: String,
    /// How often the message was received, this time included.
    pub receive_count: u32,
}

/// A message that was received [`MAX_RECEIVES`] times in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The message's number.
    pub id: i64,
    /// Its group.
    pub group: String,
    /// Its body.
    pub body: String,
    /// When it was sent.
    pub sent_at: Time,
    /// When it was given up.
    pub died_at: Time,
}

/// How much lies in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that wait: visible, or behind another of their group.
    pub waiting: u64,
    /// Messages received and not deleted whose visibility runs.
    pub in_flight: u64,
    /// Dead letters.
    pub dead: u64,
    /// Schedules that will send to the queue.
    pub scheduled: u64,
}

/// The queues and schedules of this machine. Clones share them.
#[derive(Clone)]
pub struct LocalQueues {
    inner: Arc<Inner>,
}

struct Inner {
    store: Mutex<Store>,
    clock: Arc<dyn Clock>,
    ingest: Notify,
    dreams: Notify,
}

impl std::fmt::Debug for LocalQueues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LocalQueues")
    }
}

impl LocalQueues {
    /// Opens the queues of a data directory, which must exist; creates the file if there is none.
    pub fn open(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, QueueError> {
        Ok(Self::over(Store::open(&dir.join(FILE))?, clock))
    }

    /// Queues that live as long as their last clone.
    pub fn memory(clock: Arc<dyn Clock>) -> Result<Self, QueueError> {
        Ok(Self::over(Store::memory()?, clock))
    }

    fn over(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner: Arc::new(Inner {
                store: Mutex::new(store),
                clock,
                ingest: Notify::new(),
                dreams: Notify::new(),
            }),
        }
    }

    /// Runs one call on the file, then gives other tasks a turn: the calls are short and never wait for each other
    /// longer than a commit.
    async fn call<T>(
        &self,
        call: impl FnOnce(&mut Store, Time) -> Result<T, QueueError> + Send,
    ) -> Result<T, QueueError>
    where
        T: Send,
    {
        let outcome = {
            // A panic inside a call rolled its transaction back, so the store is as good as before.
            let mut store = self.inner.store.lock().unwrap_or_else(PoisonError::into_inner);
            call(&mut store, self.inner.clock.now())
        };
        tokio::task::yield_now().await;
        outcome
    }

    /// Woken when something may have become receivable in `queue`.
    pub fn news(&self, queue: QueueName) -> &Notify {
        match queue {
            QueueName::Ingest => &self.inner.ingest,
            QueueName::Dreams => &self.inner.dreams,
        }
    }

    /// Hands out the oldest message whose group has none in flight, for `visibility`; `None` when there is none.
    ///
    /// A message that was received too often is moved to the dead letters on the way.
    pub async fn receive(&self, queue: QueueName, visibility: Duration) -> Result<Option<Delivery>, QueueError> {
        let visibility = allowed(visibility)?;
        self.call(move |store, now| store.receive(queue, now, now + visibility))
            .await
    }

    /// Deletes a message that was dealt with; its deduplication id stays taken.
    pub async fn delete(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError> {
        self.call(|store, now| store.delete(queue, receipt, now)).await?;
        // The next of its group.
        self.news(queue).notify_one();
        Ok(())
    }

    /// Sets the time from now after which a message is handed out again; zero is at once.
    pub async fn change_visibility(
        &self,
        queue: QueueName,
        receipt: &str,
        visibility: Duration,
    ) -> Result<(), QueueError> {
        let visibility = allowed(visibility)?;
        self.call(|store, now| store.change_visibility(queue, receipt, now, now + visibility))
            .await?;
        if visibility.is_zero() {
            self.news(queue).notify_one();
        }
        Ok(())
    }

    /// Sends the letters of the schedules that are due and removes these, each in one transaction; gives their
    /// number. Wakes the queues in which something is receivable.
    pub async fn tick(&self) -> Result<usize, QueueError> {
        let (fired, receivable) = self
            .call(|store, now| {
                let fired = store.fire_due(now)?;
                store.prune_dead(now)?;
                Ok((fired, store.receivable(now)?))
            })
            .await?;
        for queue in receivable {
            self.news(queue).notify_one();
        }
        Ok(fired)
    }

    /// Makes what a dead predecessor had received receivable at once; gives the number of messages. To be called
    /// before anything is received, by the one process that may use the file.
    pub async fn release_in_flight(&self) -> Result<usize, QueueError> {
        self.call(Store::release_in_flight).await
    }

    /// The dead letters of a queue, oldest first.
    pub async fn dead_letters(&self, queue: QueueName) -> Result<Vec<DeadLetter>, QueueError> {
        self.call(move |store, _| store.dead_letters(queue)).await
    }

    /// How much lies in a queue.
    pub async fn counts(&self, queue: QueueName) -> Result<Counts, QueueError> {
        self.call(move |store, now| store.counts(queue, now)).await
    }

    async fn accept(&self, queue: QueueName, letter: Letter) -> Result<(), QueueError> {
        letter.check()?;
        self.call(move |store, now| store.send(queue, &letter, now)).await?;
        self.news(queue).notify_one();
        Ok(())
    }

    async fn plan(&self, schedule: Schedule) -> Result<(), QueueError> {
        schedule.check()?;
        self.call(move |store, _| store.create_schedule(&schedule)).await
    }
}

fn allowed(visibility: Duration) -> Result<Duration, Refused> {
    if visibility > MAX_VISIBILITY {
        return Err(Refused {
            what: "a visibility timeout",
            allowed: "at most 12 hours",
        });
    }
    Ok(visibility)
}

fn port(what: &'static str) -> impl Fn(QueueError) -> PortError {
    move |source| PortError {
        what,
        source: Box::new(source),
    }
}

#[async_trait]
impl Queues for LocalQueues {
    async fn send(&self, queue: QueueName, letter: Letter) -> Result<(), PortError> {
        self.accept(queue, letter).await.map_err(port("send to a queue"))
    }
}

#[async_trait]
impl Schedules for LocalQueues {
    async fn create(&self, schedule: Schedule) -> Result<(), PortError> {
        self.plan(schedule).await.map_err(port("create a schedule"))
    }

    async fn delete(&self, name: &str) -> Result<(), PortError> {
        self.call(|store, _| store.delete_schedule(name))
            .await
            .map_err(port("delete a schedule"))
    }
}
