//! The world that tests run in: the real router, engine, table and queues on embedded storage, with a clock that
//! tests move and a layer that injects what the embedded engine hides (`design.md` section 10).

#![allow(dead_code, reason = "each test module uses its part of the rig")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode, header};
use reverie_aws::table::{Table, create_table};
use reverie_core::config::Config;
use reverie_core::id::IdSource;
use reverie_core::offline::{Offline, StaticEmbedder};
use reverie_core::ports::{Clock, QueueName};
use reverie_core::reasoner::{Embedder, Reasoner};
use reverie_core::time::Time;
use reverie_engine::{Engine, EngineParts};
use reverie_local::embedded::{Storage, client};
use reverie_local::queue::{LocalQueues, QueueError};
use serde_json::Value;
use tower::ServiceExt as _;

pub(crate) mod faults;
pub(crate) mod meter;
pub(crate) mod model_server;
pub(crate) mod reasoner;
pub(crate) mod steps;

pub(crate) use faults::{Fault, Faults};
pub(crate) use meter::{Cost, Meter};
pub(crate) use reasoner::Scripted;

/// 2026-01-01T00:00:00Z.
pub(crate) const START: Time = Time::from_seconds(1_767_225_600);
/// The visibility timeout of deliveries.
const VISIBILITY: Duration = Duration::from_mins(2);

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct TestClock(Mutex<Time>);

impl Clock for TestClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap()
    }
}

/// The clock of a machine whose time is not ours, by this many seconds.
#[derive(Debug)]
struct SkewedClock(Arc<TestClock>, i64);

impl Clock for SkewedClock {
    fn now(&self) -> Time {
        Time::from_micros(self.0.now().micros() + self.1 * 1_000_000)
    }
}

impl TestClock {
    /// Lets time pass.
    pub(crate) fn pass(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = *now + by;
    }
}

/// Ids that count: the same run of a test gives the same ids.
#[derive(Debug, Default)]
pub(crate) struct TestIds(AtomicU64);

impl IdSource for TestIds {
    fn random(&self) -> u128 {
        // Spread over all characters of a uid, so that a test that cuts one short notices.
        let number = u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1);
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) >> 2
    }
}

/// One process of Reverie, and what outlives it.
pub(crate) struct Rig {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) faults: Faults,
    pub(crate) queues: Arc<LocalQueues>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) app: Router,
    meter: Meter,
    storage: Storage,
    ids: Arc<TestIds>,
    reasoner: Arc<dyn Reasoner>,
    embedder: Arc<dyn Embedder>,
    config: Config,
}

/// A delivery that took longer than its visibility timeout, without the heartbeat of a real worker, comes again: the
/// handlers must bear that.
fn accept_stale(done: Result<(), QueueError>) {
    match done {
        Ok(()) | Err(QueueError::Stale(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Settings under which tests run: the documented defaults, with a threshold that small fixtures reach.
pub(crate) fn config() -> Config {
    Config {
        threshold: 5,
        ..Config::default()
    }
}

impl Rig {
    /// With the offline reasoner and no faults.
    pub(crate) async fn new() -> Self {
        Self::with(config(), Arc::new(Offline), Faults::none()).await
    }

    /// With settings and a reasoner of one's own.
    pub(crate) async fn with(config: Config, reasoner: Arc<dyn Reasoner>, faults: Faults) -> Self {
        Self::embedding(config, reasoner, Arc::new(StaticEmbedder::load().unwrap()), faults).await
    }

    /// With an embedder of one's own, too.
    pub(crate) async fn embedding(
        config: Config,
        reasoner: Arc<dyn Reasoner>,
        embedder: Arc<dyn Embedder>,
        faults: Faults,
    ) -> Self {
        let clock = Arc::new(TestClock(Mutex::new(START)));
        let storage = Storage::memory().unwrap();
        create_table(&storage.client(), "reverie").await.unwrap();
        let queues = Arc::new(LocalQueues::memory(Arc::clone(&clock) as Arc<dyn Clock>).unwrap());
        let ids = Arc::new(TestIds::default());
        Self::assemble(clock, storage, queues, ids, reasoner, embedder, config, faults)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a process")]
    fn assemble(
        clock: Arc<TestClock>,
        storage: Storage,
        queues: Arc<LocalQueues>,
        ids: Arc<TestIds>,
        reasoner: Arc<dyn Reasoner>,
        embedder: Arc<dyn Embedder>,
        config: Config,
        faults: Faults,
    ) -> Self {
        let meter = Meter::default();
        let connector = faults.wrap(meter.wrap(storage.connector()));
        let table = Arc::new(Table::new(client(connector), "reverie"));
        let ports = Arc::new(faults::FaultyPorts::new(Arc::clone(&queues), faults.clone()));
        let engine = Arc::new(Engine::new(EngineParts {
            table: Arc::clone(&table),
            queues: Arc::clone(&ports) as _,
            schedules: ports as _,
            reasoner: Arc::new(faults::FaultyReasoner::new(Arc::clone(&reasoner), faults.clone())),
            embedder: Arc::clone(&embedder),
            clock: Arc::clone(&clock) as _,
            ids: Arc::clone(&ids) as _,
            config: config.clone(),
        }));
        let app = reverie_http::router(reverie_http::App {
            table,
            engine: Arc::clone(&engine),
            clock: Arc::clone(&clock) as _,
            ids: Arc::clone(&ids) as _,
            config: Arc::new(config.clone()),
        });
        Self {
            clock,
            faults,
            queues,
            engine,
            app,
            meter,
            storage,
            ids,
            reasoner,
            embedder,
            config,
        }
    }

    /// The process dies and another one starts on the same storage and queues, without faults. As at the start of
    /// `serve`, it frees the messages and leases of its dead predecessor.
    pub(crate) async fn restart(self) -> Self {
        let Self {
            clock,
            storage,
            queues,
            ids,
            reasoner,
            embedder,
            config,
            ..
        } = self;
        queues.release_in_flight().await.unwrap();
        let rig = Self::assemble(clock, storage, queues, ids, reasoner, embedder, config, Faults::none());
        rig.engine.release_leases().await.unwrap();
        rig
    }

    /// From now on the handlers run on another machine, without faults, whose clock is this many seconds ahead; the API
    /// stays where it is.
    pub(crate) fn skew(&mut self, seconds: i64) {
        let ports = Arc::new(faults::FaultyPorts::new(Arc::clone(&self.queues), Faults::none()));
        self.engine = Arc::new(Engine::new(EngineParts {
            table: Arc::new(Table::new(client(self.storage.connector()), "reverie")),
            queues: Arc::clone(&ports) as _,
            schedules: ports as _,
            reasoner: Arc::clone(&self.reasoner),
            embedder: Arc::clone(&self.embedder),
            clock: Arc::new(SkewedClock(Arc::clone(&self.clock), seconds)),
            ids: Arc::clone(&self.ids) as _,
            config: self.config.clone(),
        }));
    }

    /// The next ids are the same in every rig that calls this at the same point.
    pub(crate) fn fix_ids(&self) {
        self.ids.0.store(1_000_000, Ordering::Relaxed);
    }

    /// The same storage with another embedder, as after a deployment.
    pub(crate) fn re_embedding(self, embedder: Arc<dyn Embedder>) -> Self {
        let config = self.config.clone();
        Self { embedder, ..self }.reconfigure(config)
    }

    /// The same storage under other settings, as after a deployment.
    pub(crate) fn reconfigure(self, config: Config) -> Self {
        let Self {
            clock,
            storage,
            queues,
            ids,
            reasoner,
            embedder,
            faults,
            ..
        } = self;
        Self::assemble(clock, storage, queues, ids, reasoner, embedder, config, faults)
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Lets time pass, and nothing else happen.
    pub(crate) fn pass(&self, by: Duration) {
        self.clock.pass(by);
    }

    /// Lets time pass, then lets everything happen that is due.
    pub(crate) async fn advance(&self, by: Duration) {
        self.pass(by);
        self.settle().await;
    }

    /// Fires due schedules and handles messages until nothing can be received. Gives the number of failed deliveries.
    pub(crate) async fn settle(&self) -> usize {
        let mut failures = 0;
        loop {
            self.queues.tick().await.unwrap();
            let mut received = false;
            for queue in [QueueName::Ingest, QueueName::Dreams] {
                let Some(delivery) = self.queues.receive(queue, VISIBILITY).await.unwrap() else {
                    continue;
                };
                received = true;
                let handled = match queue {
                    QueueName::Ingest => Box::pin(self.engine.handle_ingest(&delivery.body)).await,
                    QueueName::Dreams => Box::pin(self.engine.handle_dream(&delivery.body)).await,
                };
                match handled {
                    Ok(()) => accept_stale(self.queues.delete(queue, &delivery.receipt).await),
                    Err(error) => {
                        failures += 1;
                        if self.faults.is_dead() {
                            return failures;
                        }
                        let wait = error.retry_after().unwrap_or(Duration::from_secs(1));
                        let wait = wait.max(Duration::from_secs(1));
                        accept_stale(self.queues.change_visibility(queue, &delivery.receipt, wait).await);
                    }
                }
            }
            if !received {
                return failures;
            }
        }
    }

    /// What it costs to do something.
    pub(crate) async fn cost(&self, what: impl Future<Output = ()>) -> Cost {
        let before = self.faults.calls().len();
        self.meter.start();
        what.await;
        let (read, write) = self.meter.stop();
        let calls = self.faults.calls().split_off(before);
        Cost { calls, read, write }
    }

    /// Calls the API; the body of the answer is `Null` when it is empty.
    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    /// Calls the API with an idempotency key.
    pub(crate) async fn keyed(&self, path: &str, key: &str, body: &Value) -> (StatusCode, Value) {
        let request = Request::builder()
            .method("POST")
            .uri(path)
            .header("Idempotency-Key", key);
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Calls the API with a request of one's own.
    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, Value) {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap()
        };
        (status, body)
    }

    /// Calls the API and expects success.
    pub(crate) async fn ok(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert!(status.is_success(), "{method} {path}: {status} {answer}");
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ok("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.ok("POST", path, Some(body)).await
    }

    /// The conclusions of `observer` about `observed`, oldest first.
    pub(crate) async fn conclusions(&self, workspace: &str, observer: &str, observed: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let path = format!("/v3/workspaces/{workspace}/conclusions/list?size=100&reverse=true&page={page}");
            let filters = serde_json::json!({"filters": {"observer_id": observer, "observed_id": observed}});
            let answer = self.post(&path, filters).await;
            all.extend(answer["items"].as_array().unwrap().clone());
            if all.len() as u64 >= answer["total"].as_u64().unwrap() {
                break;
            }
        }
        all
    }

    /// Their texts.
    pub(crate) async fn texts(&self, workspace: &str, observer: &str, observed: &str) -> Vec<String> {
        let all = self.conclusions(workspace, observer, observed).await;
        all.iter()
            .map(|conclusion| conclusion["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Everything that the table holds, ordered, without what differs between two runs that did the same: see
    /// [`Rig::fingerprint`].
    pub(crate) async fn items(&self) -> Vec<Value> {
        faults::scan(&self.storage).await
    }

    /// Puts an item of nothing but these attributes into the table: what no version of ours can read.
    pub(crate) async fn spoil(&self, attributes: &[(&str, &str)]) {
        let text = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
        let item = attributes.iter().map(|(name, value)| ((*name).to_owned(), text(value)));
        faults::put(&self.storage, item.collect()).await;
    }

    /// Everything that the table holds, in the clear: what is stored compressed is opened.
    pub(crate) async fn items_in_the_clear(&self) -> Vec<Value> {
        let mut items = self.items().await;
        items.iter_mut().for_each(faults::open);
        items
    }

    /// Everything that the table holds, as text to compare.
    ///
    /// Left out are fences, revisions, leases and times that say when something was written, not what: a run that was
    /// interrupted takes longer and has more of them.
    pub(crate) async fn fingerprint(&self) -> String {
        faults::fingerprint(self.items().await)
    }

    /// The same without the times at which things were begun, too: for what is begun later after an interruption.
    pub(crate) async fn fingerprint_without_times(&self) -> String {
        faults::fingerprint_without_times(self.items().await)
    }
}
