//! What operations cost: the calls they make, and the capacity units that the table counts for them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

/// The most calls of a path that are listed in order.
const LONG: usize = 30;

/// What an operation costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// The names of its calls, in order.
    pub(crate) calls: Vec<String>,
    /// Read capacity units.
    pub(crate) read: f64,
    /// Write capacity units.
    pub(crate) write: f64,
}

impl Cost {
    /// The calls, in order, the same ones in a row counted; of a long path only how often each is made.
    pub(crate) fn list(&self) -> String {
        let mut runs: Vec<(&str, usize)> = Vec::new();
        for call in &self.calls {
            match runs.last_mut() {
                Some((last, count)) if last == call => *count += 1,
                _ => runs.push((call, 1)),
            }
        }
        if runs.len() > LONG {
            let all = std::mem::take(&mut runs);
            for (call, count) in all {
                match runs.iter_mut().find(|(known, _)| *known == call) {
                    Some((_, sum)) => *sum += count,
                    None => runs.push((call, count)),
                }
            }
        }
        let text = |(call, count): (&str, usize)| match count {
            1 => call.to_owned(),
            many => format!("{call} ×{many}"),
        };
        runs.into_iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

/// Adds up the capacity units of the calls to the table, while it is on. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Meter(Arc<State>);

#[derive(Default)]
struct State {
    is_on: AtomicBool,
    units: Mutex<(f64, f64)>,
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}

impl Meter {
    /// Counts from nothing.
    pub(crate) fn start(&self) {
        *self.0.units.lock().unwrap() = (0.0, 0.0);
        self.0.is_on.store(true, Ordering::Relaxed);
    }

    /// Counts no more; gives the read and the write units.
    pub(crate) fn stop(&self) -> (f64, f64) {
        self.0.is_on.store(false, Ordering::Relaxed);
        *self.0.units.lock().unwrap()
    }

    /// A connector whose calls are counted.
    pub(crate) fn wrap(&self, inner: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Metered {
            inner,
            meter: self.clone(),
        })
    }

    /// Adds what an answer says was consumed: by one table, or by each of several.
    fn add(&self, operation: &str, answer: &Value) {
        let consumed = &answer["ConsumedCapacity"];
        let tables = consumed
            .as_array()
            .map_or(std::slice::from_ref(consumed), Vec::as_slice);
        let units = tables.iter().map(|table| table["CapacityUnits"].as_f64().unwrap());
        let units: f64 = units.sum();
        let mut counted = self.0.units.lock().unwrap();
        match operation {
            "GetItem" | "BatchGetItem" | "Query" => counted.0 += units,
            "TransactWriteItems" | "BatchWriteItem" => counted.1 += units,
            other => panic!("does {other} read or write?"),
        }
    }
}

#[derive(Debug)]
struct Metered {
    inner: SharedHttpConnector,
    meter: Meter,
}

impl HttpConnector for Metered {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        if !self.meter.0.is_on.load(Ordering::Relaxed) {
            return self.inner.call(request);
        }
        let operation = super::faults::operation(&request);
        let mut question: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        question["ReturnConsumedCapacity"] = json!("TOTAL");
        *request.body_mut() = SdkBody::from(question.to_string());
        let (inner, meter) = (self.inner.clone(), self.meter.clone());
        HttpConnectorFuture::new(async move {
            let response = inner.call(request).await?;
            if response.status().is_success() {
                let answer = serde_json::from_slice(response.body().bytes().unwrap()).unwrap();
                meter.add(&operation, &answer);
            }
            Ok(response)
        })
    }
}
