//! Faults between the engine and its world: calls that fail, are lost after they took effect, conflict, are throttled,
//! leave something unprocessed, or read what was there before.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use reverie_core::ports::{Letter, PortError, QueueName, Queues, Schedule, Schedules};
use reverie_core::reasoner::{
    DeriveRequest, Derived, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest, Thought,
};
use reverie_local::embedded::Storage;
use reverie_local::queue::LocalQueues;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It goes through.
    None,
    /// The process dies before the call takes effect.
    DieBefore,
    /// The call takes effect, and the process dies before it hears of it.
    DieAfter,
    /// It fails, and the process lives.
    Fail,
    /// It takes effect, and its answer is lost; the process lives.
    Lose,
    /// Another writer was at the same items.
    Conflict,
    /// The table is throttled.
    Throttle,
    /// Half of a batch is left unprocessed.
    Unprocessed,
    /// An eventually consistent read shows what an equal one showed before.
    Stale,
    /// A call to the table waits until it is let go on, and so does nobody else.
    Hold,
}

type Plan = Box<dyn FnMut(usize, &str) -> Fault + Send>;

struct State {
    plan: Plan,
    calls: Vec<String>,
    dead: bool,
    hold: Arc<Hold>,
    refused: Vec<String>,
    seen: HashMap<String, (u16, Vec<u8>)>,
}

/// Where a held call waits.
#[derive(Default)]
struct Hold {
    reached: Notify,
    released: Notify,
}

/// Decides what happens to each call to the world, by its number from 0 and its name.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Mutex<State>>);

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Faults {
    /// As planned.
    pub(crate) fn plan(plan: impl FnMut(usize, &str) -> Fault + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            plan: Box::new(plan),
            calls: Vec::new(),
            dead: false,
            hold: Arc::default(),
            refused: Vec::new(),
            seen: HashMap::new(),
        })))
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        Self::plan(|_, _| Fault::None)
    }

    /// What the embedded engine hides, one call in `one_in`, chosen by `seed`: conflicts, throttles, unprocessed items
    /// and stale reads, each where AWS would have them. Nothing that the code under test could not live with.
    pub(crate) fn weather(seed: u64, one_in: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self::plan(move |_, name| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if !state.is_multiple_of(one_in) {
                return Fault::None;
            }
            match (name, (state >> 32) % 2) {
                ("TransactWriteItems", 0) => Fault::Conflict,
                ("BatchGetItem", 0) => Fault::Unprocessed,
                ("Query", 0) => Fault::Stale,
                ("TransactWriteItems" | "BatchGetItem" | "Query" | "GetItem", _) => Fault::Throttle,
                _ => Fault::None,
            }
        })
    }

    /// Replaces the plan; the count of calls starts again.
    pub(crate) fn replan(&self, plan: impl FnMut(usize, &str) -> Fault + Send + 'static) {
        let mut state = self.0.lock().unwrap();
        state.plan = Box::new(plan);
        state.calls.clear();
    }

    /// From now on the table refuses every call that names a key which begins like this, for ever.
    pub(crate) fn refuse(&self, keys: &str) {
        self.0.lock().unwrap().refused.push(format!("{{\"S\":\"{keys}"));
    }

    /// It refuses nothing any more.
    pub(crate) fn pardon(&self) {
        self.0.lock().unwrap().refused.clear();
    }

    /// The names of the calls so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().calls.clone()
    }

    /// Returns when a call is held.
    pub(crate) async fn held(&self) {
        let hold = Arc::clone(&self.0.lock().unwrap().hold);
        hold.reached.notified().await;
    }

    /// Lets a held call go on.
    pub(crate) fn release(&self) {
        self.0.lock().unwrap().hold.released.notify_one();
    }

    /// Whether the process has died.
    pub(crate) fn is_dead(&self) -> bool {
        self.0.lock().unwrap().dead
    }

    fn next(&self, name: &str) -> Fault {
        let mut state = self.0.lock().unwrap();
        if state.dead {
            return Fault::DieBefore;
        }
        let number = state.calls.len();
        state.calls.push(name.to_owned());
        let fault = (state.plan)(number, name);
        state.dead |= matches!(fault, Fault::DieBefore | Fault::DieAfter);
        fault
    }

    /// A connector with these faults.
    pub(crate) fn wrap(&self, inner: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Faulty {
            inner,
            faults: self.clone(),
        })
    }
}

#[derive(Debug)]
struct Faulty {
    inner: SharedHttpConnector,
    faults: Faults,
}

/// The name of the operation that a request asks for.
pub(crate) fn operation(request: &HttpRequest) -> String {
    let target = request.headers().get("x-amz-target");
    let name = target.and_then(|target| target.split('.').nth(1));
    name.unwrap_or_default().to_owned()
}

fn gone() -> ConnectorError {
    ConnectorError::other("the connection was cut".into(), None)
}

fn refusal(kind: &str, extra: &Value) -> HttpResponse {
    let mut body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": kind});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let mut response = HttpResponse::new(400.try_into().unwrap(), SdkBody::from(body.to_string()));
    response
        .headers_mut()
        .insert("content-type", "application/x-amz-json-1.0");
    response
}

impl HttpConnector for Faulty {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let name = operation(&request);
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let fault = self.faults.next(&name);
        let text = body.to_string();
        if name != "Query"
            && self
                .faults
                .0
                .lock()
                .unwrap()
                .refused
                .iter()
                .any(|keys| text.contains(keys))
        {
            let refused = refusal("ValidationException", &json!({}));
            return HttpConnectorFuture::ready(Ok(refused));
        }
        let (inner, faults) = (self.inner.clone(), self.faults.clone());
        HttpConnectorFuture::new(async move {
            if fault == Fault::Hold {
                let hold = Arc::clone(&faults.0.lock().unwrap().hold);
                hold.reached.notify_one();
                hold.released.notified().await;
            }
            match fault {
                Fault::DieBefore | Fault::Fail => Err(gone()),
                Fault::DieAfter | Fault::Lose => {
                    inner.call(request).await?;
                    Err(gone())
                }
                Fault::Conflict => {
                    let items = body["TransactItems"].as_array().map_or(1, Vec::len);
                    let reasons: Vec<_> = (0..items)
                        .map(|place| json!({"Code": if place == 0 { "TransactionConflict" } else { "None" }}))
                        .collect();
                    Ok(refusal(
                        "TransactionCanceledException",
                        &json!({ "CancellationReasons": reasons }),
                    ))
                }
                Fault::Throttle => Ok(refusal("ProvisionedThroughputExceededException", &json!({}))),
                Fault::Unprocessed => {
                    let mut asked = body.clone();
                    let mut left = json!({});
                    for (table, wanted) in asked["RequestItems"].as_object_mut().unwrap() {
                        let keys = wanted["Keys"].as_array_mut().unwrap();
                        let rest = keys.split_off(keys.len() / 2);
                        let mut unprocessed = wanted.clone();
                        unprocessed["Keys"] = json!(rest);
                        left[table] = unprocessed;
                    }
                    let none = asked["RequestItems"]
                        .as_object()
                        .unwrap()
                        .values()
                        .all(|wanted| wanted["Keys"].as_array().unwrap().is_empty());
                    let mut answer = if none {
                        json!({"Responses": {}})
                    } else {
                        *request.body_mut() = SdkBody::from(asked.to_string());
                        let response = inner.call(request).await?;
                        serde_json::from_slice(response.body().bytes().unwrap_or_default()).unwrap()
                    };
                    answer["UnprocessedKeys"] = left;
                    let mut response = HttpResponse::new(200.try_into().unwrap(), SdkBody::from(answer.to_string()));
                    response
                        .headers_mut()
                        .insert("content-type", "application/x-amz-json-1.0");
                    Ok(response)
                }
                Fault::None | Fault::Stale | Fault::Hold => {
                    let loose = body["ConsistentRead"] != json!(true) && matches!(name.as_str(), "Query" | "GetItem");
                    let question = body.to_string();
                    if fault == Fault::Stale && loose {
                        let seen = faults.0.lock().unwrap().seen.get(&question).cloned();
                        if let Some((status, answer)) = seen {
                            let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(answer));
                            response
                                .headers_mut()
                                .insert("content-type", "application/x-amz-json-1.0");
                            return Ok(response);
                        }
                    }
                    let response = inner.call(request).await?;
                    if loose {
                        let answer = response.body().bytes().unwrap_or_default().to_vec();
                        faults
                            .0
                            .lock()
                            .unwrap()
                            .seen
                            .insert(question, (response.status().as_u16(), answer));
                    }
                    Ok(response)
                }
            }
        })
    }
}

/// The queues and schedules, with the same faults.
#[derive(Debug)]
pub(crate) struct FaultyPorts {
    inner: Arc<LocalQueues>,
    faults: Faults,
}

impl FaultyPorts {
    pub(crate) fn new(inner: Arc<LocalQueues>, faults: Faults) -> Self {
        Self { inner, faults }
    }

    fn before(&self, what: &'static str) -> Result<Fault, PortError> {
        match self.faults.next(what) {
            Fault::DieBefore | Fault::Fail | Fault::Throttle => Err(PortError {
                what,
                source: "the connection was cut".into(),
            }),
            fault => Ok(fault),
        }
    }

    fn after(what: &'static str, fault: Fault) -> Result<(), PortError> {
        match fault {
            Fault::DieAfter | Fault::Lose => Err(PortError {
                what,
                source: "the connection was cut".into(),
            }),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Queues for FaultyPorts {
    async fn send(&self, queue: QueueName, letter: Letter) -> Result<(), PortError> {
        let fault = self.before("SendMessage")?;
        self.inner.send(queue, letter).await?;
        Self::after("SendMessage", fault)
    }
}

#[async_trait]
impl Schedules for FaultyPorts {
    async fn create(&self, schedule: Schedule) -> Result<(), PortError> {
        let fault = self.before("CreateSchedule")?;
        self.inner.create(schedule).await?;
        Self::after("CreateSchedule", fault)
    }

    async fn delete(&self, name: &str) -> Result<(), PortError> {
        let fault = self.before("DeleteSchedule")?;
        Schedules::delete(&*self.inner, name).await?;
        Self::after("DeleteSchedule", fault)
    }
}

/// The reasoner, with the same faults: a lost answer is one that was paid for.
pub(crate) struct FaultyReasoner {
    inner: Arc<dyn Reasoner>,
    faults: Faults,
}

impl FaultyReasoner {
    pub(crate) fn new(inner: Arc<dyn Reasoner>, faults: Faults) -> Self {
        Self { inner, faults }
    }

    fn cut() -> ReasonerError {
        ReasonerError::transient("the connection was cut")
    }
}

#[async_trait]
impl Reasoner for FaultyReasoner {
    fn wants_batches(&self) -> bool {
        self.inner.wants_batches()
    }

    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        let fault = self.faults.next("Derive");
        if matches!(fault, Fault::DieBefore | Fault::Fail) {
            return Err(Self::cut());
        }
        let derived = self.inner.derive(request).await?;
        if matches!(fault, Fault::DieAfter | Fault::Lose) {
            Err(Self::cut())
        } else {
            Ok(derived)
        }
    }

    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        let fault = self.faults.next("Summarise");
        if matches!(fault, Fault::DieBefore | Fault::Fail) {
            return Err(Self::cut());
        }
        let summary = self.inner.summarise(request).await?;
        if matches!(fault, Fault::DieAfter | Fault::Lose) {
            Err(Self::cut())
        } else {
            Ok(summary)
        }
    }

    async fn think(&self, request: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        let fault = self.faults.next("Think");
        if matches!(fault, Fault::DieBefore | Fault::Fail) {
            return Err(Self::cut());
        }
        let thought = self.inner.think(request).await?;
        if matches!(fault, Fault::DieAfter | Fault::Lose) {
            Err(Self::cut())
        } else {
            Ok(thought)
        }
    }
}

/// Writes an item past all of our code.
pub(crate) async fn put(storage: &Storage, item: HashMap<String, aws_sdk_dynamodb::types::AttributeValue>) {
    storage
        .client()
        .put_item()
        .table_name("reverie")
        .set_item(Some(item))
        .send()
        .await
        .unwrap();
}

/// Every item of the table, as plain JSON.
pub(crate) async fn scan(storage: &Storage) -> Vec<Value> {
    let client = storage.client();
    let mut items = Vec::new();
    let mut start = None;
    loop {
        let page = client
            .scan()
            .table_name("reverie")
            .set_exclusive_start_key(start)
            .send()
            .await
            .unwrap();
        items.extend(
            page.items
                .unwrap_or_default()
                .into_iter()
                .map(|item| Value::Object(item.into_iter().map(|(name, value)| (name, plain(value))).collect())),
        );
        start = page.last_evaluated_key;
        if start.is_none() {
            return items;
        }
    }
}

fn plain(value: aws_sdk_dynamodb::types::AttributeValue) -> Value {
    use aws_sdk_dynamodb::types::AttributeValue as A;
    match value {
        A::S(text) => json!(text),
        A::N(number) => number
            .parse::<i64>()
            .map_or_else(|_| json!(number), |number| json!(number)),
        A::Bool(flag) => json!(flag),
        A::B(bytes) => json!(bytes.as_ref()),
        A::L(list) => list.into_iter().map(plain).collect(),
        A::M(map) => Value::Object(map.into_iter().map(|(name, value)| (name, plain(value))).collect()),
        _ => Value::Null,
    }
}

/// Opens what an item holds compressed.
pub(crate) fn open(value: &mut Value) {
    let bytes = value.as_array().and_then(|list| {
        let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
        list.iter().map(byte).collect::<Option<Vec<u8>>>()
    });
    if let Some(bytes) = bytes
        && bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD])
    {
        let text = zstd::stream::decode_all(bytes.as_slice()).unwrap();
        *value = serde_json::from_slice(&text).unwrap();
        return;
    }
    match value {
        Value::Object(map) => map.values_mut().for_each(open),
        Value::Array(list) => list.iter_mut().for_each(open),
        _ => {}
    }
}

/// Attributes that say when, or by which attempt, something was written.
const VOLATILE: &[&str] = &[
    "version",
    "takeovers",
    "fence",
    "revision",
    "edition",
    "lease_until",
    "due_sk",
    "due_looks",
    "ttl",
    "attempts",
    "failures",
    "ended_at",
    "last_dream_at",
    "removed_at",
    "prune_at",
    "look_at",
];

/// Attributes that say when something was begun, or follow from it.
const TIMES: &[&str] = &[
    "due_pk",
    "created_at",
    "started_at",
    "pruned_at",
    "texts_until",
    "armed_since",
    "threshold_met_at",
    "claimed_at",
    "due_at",
    "scheduled_for",
];

pub(crate) fn fingerprint(items: Vec<Value>) -> String {
    without(items, VOLATILE)
}

pub(crate) fn fingerprint_without_times(items: Vec<Value>) -> String {
    without(items, &[VOLATILE, TIMES].concat())
}

fn without(items: Vec<Value>, attributes: &[&str]) -> String {
    let mut lines: Vec<String> = items
        .into_iter()
        // Marks and schedules' generations are traces of the way, not of where it led.
        .filter(|item| item["type"] != "mark")
        .map(|mut item| {
            strip(&mut item, attributes);
            item.to_string()
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

fn strip(value: &mut Value, attributes: &[&str]) {
    match value {
        Value::Object(map) => {
            map.retain(|name, _| !attributes.contains(&name.as_str()));
            map.values_mut().for_each(|value| strip(value, attributes));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| strip(value, attributes)),
        _ => {}
    }
}
