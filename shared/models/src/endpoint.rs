//! One address of a provider: its authentication, its limits of time and size, and the retries.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::HeaderMap;
use reverie_core::time::{Time, doubled};
use serde_json::Value;

use crate::aws::{Scope, SharedAws};
use crate::error::{ModelError, PermanentFault, TransientFault};
use crate::fault::{Failure, Fault, refusal};
use crate::pace::Pace;
use crate::secret::{Key, Secret};

/// The largest answer that is read, in bytes.
pub(crate) const LARGEST_ANSWER: usize = 16 * 1024 * 1024;
/// The largest refusal that is read, in bytes; the rest tells nothing more.
const LARGEST_REFUSAL: usize = 64 * 1024;
/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The upper bound of the first random wait; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The upper bound of any random wait.
const LONGEST_RANDOM_WAIT: Duration = Duration::from_secs(8);

/// How long and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time of one call with all of its attempts and waits; of a stream, until its first event.
    pub total: Duration,
    /// Longest time between two parts of a stream.
    pub gap: Duration,
    /// How often a call is made again after it failed.
    pub retries: u32,
    /// Longest wait between two attempts. A provider that asks for more is left alone: the error says until when, and
    /// whoever asked can wait without being paid for it.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: Duration::from_mins(2),
            gap: Duration::from_mins(1),
            retries: 3,
            wait: Duration::from_secs(20),
        }
    }
}

/// What all endpoints share: connections, time, limits.
#[derive(Clone)]
pub(crate) struct Service {
    /// Made when it is first needed: it reads the system's certificates, which a start need not wait for.
    http: Arc<OnceLock<Result<reqwest::Client, String>>>,
    pub(crate) pace: Arc<dyn Pace>,
    pub(crate) limits: Limits,
}

impl Service {
    pub(crate) fn new(pace: Arc<dyn Pace>, limits: Limits) -> Self {
        Self {
            http: Arc::default(),
            pace,
            limits,
        }
    }

    fn http(&self) -> Result<&reqwest::Client, Failure> {
        let made = self.http.get_or_init(|| {
            reqwest::Client::builder()
                .connect_timeout(CONNECT)
                // Following one would carry the key elsewhere.
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("reverie/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(|error| format!("no HTTPS: {}", innermost(&error)))
        });
        let failed = |detail: &String| Failure::plain(PermanentFault::Configuration, detail.clone());
        made.as_ref().map_err(failed)
    }
}

/// How a request shows whose it is.
pub(crate) enum Auth {
    /// It does not.
    None,
    /// `x-api-key`.
    ApiKey(Key),
    /// `authorization: Bearer`.
    Bearer(Key),
    /// Signature Version 4.
    Signed { aws: SharedAws, scope: Scope },
}

/// One request: a POST of JSON.
pub(crate) struct Call {
    /// Below the base.
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
    pub(crate) content_type: &'static str,
}

impl Call {
    pub(crate) fn json(path: impl Into<String>, body: Value) -> Self {
        Self {
            path: path.into(),
            headers: Vec::new(),
            body,
            content_type: "application/json",
        }
    }
}

/// The answer is not of the agreed shape, and how; quotes nothing of it.
#[derive(Debug)]
pub(crate) struct Misread(pub(crate) &'static str);

/// An answer that has begun.
pub(crate) struct Sent {
    pub(crate) response: Response,
    /// What the request was signed in with: an answer may quote it.
    pub(crate) secret: Option<Secret>,
}

/// One address of a provider.
pub(crate) struct Endpoint {
    base: String,
    auth: Auth,
    service: Service,
}

impl Endpoint {
    pub(crate) fn new(base: impl Into<String>, auth: Auth, service: Service) -> Self {
        let mut base = base.into();
        base.truncate(base.trim_end_matches('/').len());
        Self { base, auth, service }
    }

    /// The same, with at most so long for one call and its retries.
    pub(crate) fn within(mut self, most: Duration) -> Self {
        self.service.limits.total = self.service.limits.total.min(most);
        self
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    /// Sends, reads the whole answer, and gives what `read` makes of it; with retries.
    pub(crate) async fn call<T>(
        &self,
        model: &str,
        call: &Call,
        read: impl Fn(&Value) -> Result<T, Misread> + Send + Sync,
    ) -> Result<T, ModelError> {
        let body = call.body.to_string();
        let mut attempts = Attempts::new(self, model);
        loop {
            let attempt = async {
                let Sent { mut response, secret } = self.send(call, &body).await?;
                let headers = response.headers().clone();
                let bytes = whole(&mut response, LARGEST_ANSWER).await?;
                let value = parse(&bytes, &headers, self.service.pace.now())
                    .map_err(|failure| failure.without(secret.as_ref()))?;
                read(&value).map_err(|Misread(what)| Failure::plain(PermanentFault::BadAnswer, what))
            };
            match attempts.within(attempt).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    /// One attempt: sends, and gives the answer once its status says that it is one.
    pub(crate) async fn send(&self, call: &Call, body: &str) -> Result<Sent, Failure> {
        let url = format!("{}{}", self.base, call.path);
        let mut headers = vec![("content-type", call.content_type.to_owned())];
        headers.extend(call.headers.iter().cloned());
        let mut request = self.service.http()?.post(&url);
        let mut secret = None;
        match &self.auth {
            Auth::None => {}
            Auth::ApiKey(key) => {
                let key = key.get().await?;
                request = request.header("x-api-key", sensitive(&key, "")?);
                secret = Some(key);
            }
            Auth::Bearer(key) => {
                let key = key.get().await?;
                request = request.header("authorization", sensitive(&key, "Bearer ")?);
                secret = Some(key);
            }
            Auth::Signed { aws, scope } => {
                for (name, value) in aws.sign(scope, &url, &headers, body.as_bytes()).await? {
                    request = request.header(name, value);
                }
            }
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut response = request.body(body.to_owned()).send().await.map_err(|e| transport(&e))?;
        let status = response.status();
        if status.is_success() {
            return Ok(Sent { response, secret });
        }
        let headers = response.headers().clone();
        // A refusal whose body does not come is still a refusal.
        let text = whole(&mut response, LARGEST_REFUSAL).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let text = secret
            .as_ref()
            .map_or_else(|| text.to_string(), |secret| secret.redact(&text));
        let mut failure = refusal(
            Some(status.as_u16()),
            &headers,
            text.as_bytes(),
            self.service.pace.now(),
        );
        if failure.refused_key {
            failure.refused_key = self.renew(secret.as_ref()).await;
        }
        Err(failure)
    }

    /// The key or the credentials were not accepted. Whether others are to be had.
    async fn renew(&self, refused: Option<&Secret>) -> bool {
        match (&self.auth, refused) {
            (Auth::ApiKey(key) | Auth::Bearer(key), Some(refused)) => key.renew(refused).await,
            (Auth::Signed { aws, .. }, _) => {
                aws.forget().await;
                true
            }
            _ => false,
        }
    }
}

/// The attempts of one call: how long, how often, with what waits.
pub(crate) struct Attempts<'a> {
    endpoint: &'a Endpoint,
    model: &'a str,
    deadline: Time,
    failed: u32,
    renewed: bool,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(endpoint: &'a Endpoint, model: &'a str) -> Self {
        Self {
            endpoint,
            model,
            deadline: endpoint.service.pace.now() + endpoint.service.limits.total,
            failed: 0,
            renewed: false,
        }
    }

    /// One attempt, within the time that is left.
    pub(crate) async fn within<T>(&self, attempt: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let left = self.deadline.since(self.endpoint.service.pace.now());
        tokio::time::timeout(left, attempt)
            .await
            .unwrap_or_else(|_| Err(Failure::plain(TransientFault::Timeout, "the whole time for the call")))
    }

    /// After an attempt failed: waits, so that the next may be made, or gives up.
    pub(crate) async fn after(&mut self, failure: Failure) -> Result<(), ModelError> {
        let Service { pace, limits, .. } = &self.endpoint.service;
        if failure.refused_key && !self.renewed {
            self.renewed = true;
            return Ok(());
        }
        let wait = self.wait(failure.retry_after);
        let is_late = pace.now() + wait >= self.deadline;
        let gives_up = !failure.may_retry() || self.failed >= limits.retries || wait > limits.wait || is_late;
        if gives_up {
            return Err(failure.into_error(self.model, pace.now()));
        }
        self.failed += 1;
        tracing::debug!(
            model.id = self.model,
            attempt = self.failed,
            wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            fault = ?failure.fault,
            origin = %failure.origin,
            "a model is asked again"
        );
        pace.sleep(wait).await;
        Ok(())
    }

    /// Full jitter under a bound that doubles; never less than the provider asks for, and a little more, so that not
    /// all who were told the same come back at once.
    fn wait(&self, asked: Option<Duration>) -> Duration {
        let chance = self.endpoint.service.pace.chance();
        match asked {
            Some(asked) => asked + FIRST_WAIT.mul_f64(chance),
            None => doubled(FIRST_WAIT, self.failed, LONGEST_RANDOM_WAIT).mul_f64(chance),
        }
    }
}

/// A header that no log shows.
fn sensitive(key: &Secret, prefix: &str) -> Result<reqwest::header::HeaderValue, Failure> {
    let text = format!("{prefix}{}", key.expose());
    let mut value = reqwest::header::HeaderValue::from_str(&text).map_err(|_| {
        Failure::plain(
            PermanentFault::Configuration,
            "the key has characters that no header takes",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// A whole body, up to a size.
pub(crate) async fn whole(response: &mut Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next_chunk(response).await? {
        if bytes.len() + chunk.len() > most {
            return Err(Failure::plain(
                PermanentFault::BadAnswer,
                format!("larger than {most} bytes"),
            ));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The next part of a body; none at its end.
pub(crate) async fn next_chunk(response: &mut Response) -> Result<Option<Bytes>, Failure> {
    response.chunk().await.map_err(|error| {
        let fault = if error.is_timeout() {
            TransientFault::Timeout
        } else {
            TransientFault::Broken
        };
        Failure::plain(fault, innermost(&error))
    })
}

/// A body as JSON. What is not JSON was cut off, or comes from something in between: it may be there next time.
pub(crate) fn parse(bytes: &[u8], headers: &HeaderMap, now: Time) -> Result<Value, Failure> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| {
        Failure::plain(
            TransientFault::Broken,
            format!("{} bytes that are not JSON", bytes.len()),
        )
    })?;
    // Some gateways answer 200 and put the error inside.
    let is_error = value["type"] == "error" || value.get("error").is_some_and(|error| !error.is_null());
    if is_error {
        return Err(refusal(None, headers, bytes, now));
    }
    Ok(value)
}

fn transport(error: &reqwest::Error) -> Failure {
    let fault: Fault = if error.is_builder() {
        PermanentFault::Configuration.into()
    } else if error.is_timeout() {
        TransientFault::Timeout.into()
    } else if error.is_connect() {
        TransientFault::Connection.into()
    } else {
        TransientFault::Broken.into()
    };
    Failure::plain(fault, innermost(error))
}

/// The first cause, which says what happened and, unlike those above it, names no address.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map_or_else(String::new, ToString::to_string)
}
