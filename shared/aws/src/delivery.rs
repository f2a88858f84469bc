//! Deliveries of a FIFO queue to a function: who is handled when, what stays locked meanwhile, what comes again and
//! when (`design.md` section 4, "On AWS").

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_sqs::Client;
use reverie_core::cause::chain;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};
use tracing::Instrument;

/// How long a message is locked at receipt and at each heartbeat. Short, since its group waits for as long when the
/// function dies.
const LOCK: Duration = Duration::from_mins(2);
/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(40);
/// The longest wait that a handler may ask for.
const LONGEST_DELAY: Duration = Duration::from_mins(15);

/// A handler did not succeed; the message comes again.
#[derive(Debug, thiserror::Error)]
#[error("the handler failed")]
pub struct Failure {
    retry_after: Option<Duration>,
    #[source]
    source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// A failure, with the time to wait if the handler knows it; `None` leaves it to the lock's end.
    pub fn new(retry_after: Option<Duration>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            retry_after,
            source: source.into(),
        }
    }
}

/// One queue's deliveries.
#[derive(Clone, Debug)]
pub struct Deliveries {
    client: Client,
    url: String,
    heartbeat: bool,
    reserve: Duration,
}

impl Deliveries {
    /// Messages that the queue's own visibility timeout keeps locked, which is longer than the function's timeout.
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        Self {
            client,
            url: url.into(),
            heartbeat: false,
            reserve: Duration::ZERO,
        }
    }

    /// Locks each message anew when its handling begins, for two minutes, and again every 40 s until it ends: for
    /// handlers that may take long.
    #[must_use]
    pub fn with_heartbeat(self) -> Self {
        Self {
            heartbeat: true,
            ..self
        }
    }

    /// Begins no message later than this before the invocation's deadline; those left come again at once.
    #[must_use]
    pub fn with_reserve(self, reserve: Duration) -> Self {
        Self { reserve, ..self }
    }

    /// Handles a batch and names the messages that come again. Groups are handled side by side; within a group in
    /// order, and after a failure the rest of the group fails too. A panic fails its message only.
    pub async fn handle<F, Fut>(&self, batch: SqsEvent, deadline: SystemTime, handler: F) -> SqsBatchResponse
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let mut groups: BTreeMap<String, Vec<SqsMessage>> = BTreeMap::new();
        for message in batch.records {
            let group = message.attributes.get("MessageGroupId").cloned().unwrap_or_default();
            groups.entry(group).or_default().push(message);
        }
        let handler = Arc::new(handler);
        let mut tasks = JoinSet::new();
        for messages in groups.into_values() {
            let (deliveries, handler) = (self.clone(), Arc::clone(&handler));
            let group = async move { deliveries.group(messages, deadline, &*handler).await };
            tasks.spawn(group.in_current_span());
        }
        let mut response = SqsBatchResponse::default();
        while let Some(failed) = tasks.join_next().await {
            // A group's task cannot panic: only handlers can, in tasks of their own.
            failed
                .unwrap_or_default()
                .into_iter()
                .for_each(|id| response.add_failure(id));
        }
        response
    }

    /// Handles one group's messages; gives the ids of those that come again.
    async fn group<F, Fut>(&self, messages: Vec<SqsMessage>, deadline: SystemTime, handler: &F) -> Vec<String>
    where
        F: Fn(String) -> Fut,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        for (place, message) in messages.iter().enumerate() {
            let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
            let delay = if left < self.reserve {
                tracing::info!(
                    message.count = messages.len() - place,
                    "no time is left for these messages; they come again"
                );
                Some(Duration::ZERO)
            } else {
                match self.one(message, handler).await {
                    Ok(()) => continue,
                    Err(failure) => failure.retry_after.map(|delay| delay.min(LONGEST_DELAY)),
                }
            };
            // A group stays blocked for as long as any of its messages is locked, so all of them come at the same time.
            let rest = &messages[place..];
            if let Some(delay) = delay {
                for message in rest {
                    self.lock(message, delay).await;
                }
            }
            return rest.iter().filter_map(|message| message.message_id.clone()).collect();
        }
        Vec::new()
    }

    /// Handles one message and logs its failure.
    async fn one<F, Fut>(&self, message: &SqsMessage, handler: &F) -> Result<(), Failure>
    where
        F: Fn(String) -> Fut,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        if self.heartbeat {
            self.lock(message, LOCK).await;
        }
        let work = handler(message.body.clone().unwrap_or_default());
        let mut task = tokio::spawn(work.in_current_span());
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let outcome = loop {
            tokio::select! {
                outcome = &mut task => break outcome,
                _ = heartbeat.tick(), if self.heartbeat => self.lock(message, LOCK).await,
            }
        };
        let outcome = outcome.unwrap_or_else(|panic| Err(Failure::new(None, panic)));
        if let Err(failure) = &outcome {
            tracing::warn!(
                message.id = message.message_id.as_deref(),
                message.receive_count = receive_count(message),
                retry_in_seconds = failure.retry_after.map(|delay| delay.as_secs_f64()),
                error = chain(&*failure.source),
                "a message failed and comes again"
            );
        }
        outcome
    }

    /// Keeps a message locked for `time` from now. A failure costs time only: who finds the message too early finds
    /// that the run is held, or that there is nothing to do.
    async fn lock(&self, message: &SqsMessage, time: Duration) {
        let Some(receipt) = &message.receipt_handle else { return };
        // A part of a second counts as a whole one: coming too early would fail once more.
        let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
        let changed = self
            .client
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(receipt)
            .visibility_timeout(i32::try_from(seconds).unwrap_or(i32::MAX))
            .send()
            .await;
        if let Err(error) = changed {
            tracing::warn!(
                message.id = message.message_id.as_deref(),
                error = chain(&error),
                "a message's lock could not be changed"
            );
        }
    }
}

/// How often the message was received, this time included.
fn receive_count(message: &SqsMessage) -> Option<u64> {
    message.attributes.get("ApproximateReceiveCount")?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Mutex;

    use aws_sdk_sqs::config::http::HttpResponse;
    use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
    use aws_smithy_runtime_api::client::http::{
        HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
    };
    use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
    use aws_smithy_types::body::SdkBody;
    use serde_json::Value;

    use super::*;

    /// Notes the visibility of each message, with the second at which it was set.
    #[derive(Clone, Debug)]
    struct Locks {
        start: Instant,
        seen: Arc<Mutex<Vec<(u64, String, u64)>>>,
    }

    impl HttpConnector for Locks {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            let body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
            let receipt = body["ReceiptHandle"].as_str().unwrap().to_owned();
            let lock = (
                self.start.elapsed().as_secs(),
                receipt,
                body["VisibilityTimeout"].as_u64().unwrap(),
            );
            self.seen.lock().unwrap().push(lock);
            HttpConnectorFuture::ready(Ok(HttpResponse::new(200.try_into().unwrap(), SdkBody::from("{}"))))
        }
    }

    fn rig() -> (Locks, Deliveries) {
        let locks = Locks {
            start: Instant::now(),
            seen: Arc::default(),
        };
        let connector = SharedHttpConnector::new(locks.clone());
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("test"))
            .credentials_provider(Credentials::for_tests())
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build();
        (
            locks,
            Deliveries::new(Client::from_conf(config), "https://queue.invalid/q.fifo"),
        )
    }

    fn batch(messages: &[(&str, &str)]) -> SqsEvent {
        let records: Vec<_> = messages
            .iter()
            .map(|(group, body)| serde_json::json!({"messageId": body, "receiptHandle": body, "body": body, "attributes": {"MessageGroupId": group}}))
            .collect();
        serde_json::from_value(serde_json::json!({ "Records": records })).unwrap()
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_hours(1)
    }

    /// Does what the body says.
    async fn act(body: String) -> Result<(), Failure> {
        if body.starts_with("sleep") {
            tokio::time::sleep(Duration::from_secs(100)).await;
        }
        match body.as_str() {
            "fail" => Err(Failure::new(None, "no")),
            "wait" => Err(Failure::new(Some(Duration::from_millis(2500)), "not yet")),
            "wait long" => Err(Failure::new(Some(Duration::from_hours(2)), "not yet")),
            "panic" => panic!("on purpose"),
            _ => Ok(()),
        }
    }

    async fn handle(deliveries: &Deliveries, messages: &[(&str, &str)]) -> Vec<String> {
        let response = deliveries.handle(batch(messages), later(), act).await;
        let mut failed: Vec<_> = response
            .batch_item_failures
            .into_iter()
            .map(|item| item.item_identifier)
            .collect();
        failed.sort();
        failed
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_the_rest_of_its_group_fails_and_other_groups_do_not() {
        let (locks, deliveries) = rig();
        let messages = [
            ("a", "1"),
            ("b", "2"),
            ("a", "fail"),
            ("b", "3"),
            ("a", "4"),
            ("c", "panic"),
            ("c", "5"),
        ];
        assert_eq!(handle(&deliveries, &messages).await, ["4", "5", "fail", "panic"]);
        assert!(
            locks.seen.lock().unwrap().is_empty(),
            "the queue decides when they come again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_was_asked_for_holds_for_the_whole_group_and_fifteen_minutes_at_most() {
        let (locks, deliveries) = rig();
        assert_eq!(handle(&deliveries, &[("a", "wait"), ("a", "1")]).await, ["1", "wait"]);
        handle(&deliveries, &[("b", "wait long")]).await;
        let seen: Vec<_> = locks
            .seen
            .lock()
            .unwrap()
            .iter()
            .map(|(_, id, seconds)| (id.clone(), *seconds))
            .collect();
        assert_eq!(
            seen,
            [
                ("wait".to_owned(), 3),
                ("1".to_owned(), 3),
                ("wait long".to_owned(), 900)
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_locked_before_its_work_begins_and_until_it_ends() {
        let (locks, deliveries) = rig();
        assert!(handle(&deliveries.with_heartbeat(), &[("a", "sleep")]).await.is_empty());
        let seen: Vec<_> = locks
            .seen
            .lock()
            .unwrap()
            .iter()
            .map(|(at, _, seconds)| (*at, *seconds))
            .collect();
        assert_eq!(seen, [(0, 120), (40, 120), (80, 120)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_begun_in_time_comes_again_at_once() {
        let (locks, deliveries) = rig();
        let deadline = SystemTime::now() + Duration::from_secs(30);
        let deliveries = deliveries.with_reserve(Duration::from_mins(1));
        let response = deliveries.handle(batch(&[("a", "1"), ("a", "2")]), deadline, act).await;
        assert_eq!(response.batch_item_failures.len(), 2);
        assert!(locks.seen.lock().unwrap().iter().all(|(_, _, seconds)| *seconds == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn groups_are_handled_side_by_side() {
        let (locks, deliveries) = rig();
        assert!(
            handle(&deliveries, &[("a", "sleep 1"), ("b", "sleep 2")])
                .await
                .is_empty()
        );
        assert_eq!(locks.start.elapsed().as_secs(), 100);
    }
}
