//! What a provider's refusal means: from its status, its words and its headers to a fault of ours.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reverie_core::time::Time;
use serde_json::Value;

use crate::error::{ModelError, Origin, PermanentFault as Permanent, TransientFault as Transient};
use crate::secret::Secret;

/// Longest sentence of a provider that is kept, in characters.
const LONGEST_SENTENCE: usize = 500;
/// The wait after too much was asked for at once, where the provider names none.
const BUSY: Duration = Duration::from_secs(5);

/// A fault of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Transient(Transient),
    Permanent(Permanent),
}

impl From<Transient> for Fault {
    fn from(fault: Transient) -> Self {
        Self::Transient(fault)
    }
}

impl From<Permanent> for Fault {
    fn from(fault: Permanent) -> Self {
        Self::Permanent(fault)
    }
}

/// One attempt that failed, and what was said about the next.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) origin: Box<Origin>,
    /// The provider's `retry-after`.
    pub(crate) retry_after: Option<Duration>,
    /// The provider's `x-should-retry`.
    pub(crate) should_retry: Option<bool>,
    /// Whether it was the key or the credentials that were not accepted.
    pub(crate) refused_key: bool,
}

impl Failure {
    pub(crate) fn new(fault: impl Into<Fault>, origin: Origin) -> Self {
        Self {
            fault: fault.into(),
            origin: Box::new(origin),
            retry_after: None,
            should_retry: None,
            refused_key: false,
        }
    }

    /// A failure that no provider described.
    pub(crate) fn plain(fault: impl Into<Fault>, detail: impl Into<String>) -> Self {
        Self::new(fault, Origin::default().detail(detail))
    }

    /// The same with the key taken out of the provider's words: an error inside of an answer may quote it.
    pub(crate) fn without(mut self, secret: Option<&Secret>) -> Self {
        if let Some(secret) = secret {
            let Origin {
                code, request_id, said, ..
            } = &mut *self.origin;
            for words in [code, request_id, said].into_iter().flatten() {
                *words = secret.redact(words);
            }
        }
        self
    }

    /// Whether the same request may be sent again at once or soon.
    pub(crate) fn may_retry(&self) -> bool {
        match (self.should_retry, self.fault) {
            (Some(said), Fault::Transient(_)) => said,
            (None, Fault::Transient(_)) => true,
            // What is refused for good is refused again, whatever a gateway says.
            (_, Fault::Permanent(_)) => false,
        }
    }

    /// The error that is left when nothing is tried any more, of `model`, at the time `now`.
    pub(crate) fn into_error(self, model: &str, now: Time) -> ModelError {
        let mut origin = self.origin;
        model.clone_into(&mut origin.model);
        match self.fault {
            Fault::Transient(fault) => {
                let busy = matches!(fault, Transient::RateLimited | Transient::Overloaded);
                let told = self.retry_after.or(busy.then_some(BUSY)).unwrap_or_default();
                ModelError::Transient {
                    fault,
                    retry_at: now + told,
                    origin,
                }
            }
            Fault::Permanent(fault) => ModelError::Permanent { fault, origin },
        }
    }
}

impl From<ModelError> for Failure {
    /// Of something asked on the way (a key, credentials), which had its own retries.
    fn from(error: ModelError) -> Self {
        let (fault, origin) = match error {
            ModelError::Transient { fault, origin, .. } => (Fault::Transient(fault), origin),
            ModelError::Permanent { fault, origin } => (Fault::Permanent(fault), origin),
        };
        Self {
            should_retry: Some(false),
            ..Self::new(fault, *origin)
        }
    }
}

/// What a refusal means. `status` is none for an error inside an answer that began well.
pub(crate) fn refusal(status: Option<u16>, headers: &HeaderMap, body: &[u8], now: Time) -> Failure {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = Said::read(headers, &body);
    let fault = said.fault(status.or(said.status));
    let refused_key = said.is_about_the_key(status);
    let code = said.words.join("/");
    let origin = Origin {
        status,
        code: (!code.is_empty()).then_some(code),
        request_id: request_id(headers, &body),
        said: said.sentence,
        ..Origin::default()
    };
    Failure {
        retry_after: retry_after(headers, now),
        should_retry: text(headers, "x-should-retry").and_then(|text| text.parse().ok()),
        refused_key,
        ..Failure::new(fault, origin)
    }
}

/// A provider's words.
#[derive(Debug, Default)]
struct Said {
    /// Names: types, codes, the parameter. Never sentences.
    words: Vec<String>,
    sentence: Option<String>,
    /// The status inside the body, as gateways write it.
    status: Option<u16>,
}

impl Said {
    fn read(headers: &HeaderMap, body: &Value) -> Self {
        let inner = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let mut words: Vec<String> = text(headers, "x-amzn-errortype")
            .map(|text| text.split(':').next().unwrap_or_default())
            .into_iter()
            .chain(
                body["__type"]
                    .as_str()
                    .map(|text| text.rsplit('#').next().unwrap_or(text)),
            )
            .chain(
                ["type", "code", "param"]
                    .into_iter()
                    .filter_map(|name| inner[name].as_str()),
            )
            .chain(inner["details"]["error_code"].as_str())
            .filter(|word| is_name(word))
            .map(str::to_owned)
            .collect();
        words.dedup();
        let sentence = [
            &inner["message"],
            inner,
            &body["message"],
            &body["Message"],
            &body["detail"],
        ]
        .into_iter()
        .find_map(Value::as_str)
        .map(|text| text.chars().take(LONGEST_SENTENCE).collect());
        let status = inner["code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..600).contains(code));
        Self {
            words,
            sentence,
            status,
        }
    }

    fn has_word(&self, words: &[&str]) -> bool {
        self.words
            .iter()
            .any(|said| words.iter().any(|word| said.eq_ignore_ascii_case(word)))
    }

    fn says(&self, parts: &[&str]) -> bool {
        self.sentence
            .as_deref()
            .map(str::to_lowercase)
            .is_some_and(|said| parts.iter().any(|part| said.contains(part)))
    }

    fn is_about_the_key(&self, status: Option<u16>) -> bool {
        let aws = [
            "ExpiredTokenException",
            "UnrecognizedClientException",
            "InvalidSignatureException",
        ];
        status == Some(401) || self.has_word(&aws)
    }

    /// The more telling word decides, then the status.
    fn fault(&self, status: Option<u16>) -> Fault {
        if self.is_about_money() {
            return Permanent::Billing.into();
        }
        if self.is_too_long(status) {
            return Permanent::ContextOverflow.into();
        }
        // OpenAI calls nearly everything `invalid_request_error`: any telling status knows better.
        let vague = |fault: &Fault| *fault == Permanent::InvalidRequest.into() && status.is_some();
        self.by_word()
            .filter(|fault| !vague(fault))
            .or_else(|| status.map(by_status))
            .unwrap_or(Transient::Unavailable.into())
    }

    fn is_about_money(&self) -> bool {
        self.has_word(&["enforced_spend_limit_reached", "insufficient_quota", "billing_error"])
            || self.says(&["credit balance is too low"])
    }

    fn is_too_long(&self, status: Option<u16>) -> bool {
        const SENTENCES: &[&str] = &[
            "prompt is too long",
            "input is too long",
            "context length",
            "context limit",
            "context window",
            "maximum context",
            "available context size",
        ];
        self.has_word(&["context_length_exceeded", "exceed_context_size_error"])
            || (matches!(status, None | Some(400 | 413 | 422)) && self.says(SENTENCES))
    }

    fn by_word(&self) -> Option<Fault> {
        const WORDS: &[(&str, Fault)] = &[
            ("rate_limit_error", Fault::Transient(Transient::RateLimited)),
            ("rate_limit_exceeded", Fault::Transient(Transient::RateLimited)),
            ("throttlingException", Fault::Transient(Transient::RateLimited)),
            (
                "serviceQuotaExceededException",
                Fault::Transient(Transient::RateLimited),
            ),
            ("overloaded_error", Fault::Transient(Transient::Overloaded)),
            ("serviceUnavailableException", Fault::Transient(Transient::Overloaded)),
            ("modelNotReadyException", Fault::Transient(Transient::Overloaded)),
            ("timeout_error", Fault::Transient(Transient::Timeout)),
            ("modelTimeoutException", Fault::Transient(Transient::Timeout)),
            ("api_error", Fault::Transient(Transient::Unavailable)),
            ("server_error", Fault::Transient(Transient::Unavailable)),
            ("internalServerException", Fault::Transient(Transient::Unavailable)),
            ("modelErrorException", Fault::Transient(Transient::Unavailable)),
            ("modelStreamErrorException", Fault::Transient(Transient::Unavailable)),
            ("authentication_error", Fault::Permanent(Permanent::Authentication)),
            ("permission_error", Fault::Permanent(Permanent::Permission)),
            ("not_found_error", Fault::Permanent(Permanent::NotFound)),
            ("model_not_found", Fault::Permanent(Permanent::NotFound)),
            ("request_too_large", Fault::Permanent(Permanent::TooLarge)),
            ("invalid_request_error", Fault::Permanent(Permanent::InvalidRequest)),
            ("validationException", Fault::Permanent(Permanent::InvalidRequest)),
        ];
        WORDS
            .iter()
            .find(|(word, _)| self.has_word(&[word]))
            .map(|(_, fault)| *fault)
    }
}

fn by_status(status: u16) -> Fault {
    match status {
        429 => Transient::RateLimited.into(),
        503 | 529 => Transient::Overloaded.into(),
        504 => Transient::Timeout.into(),
        408 | 409 | 424 | 425 | 500 | 502 | 505..=599 => Transient::Unavailable.into(),
        401 => Permanent::Authentication.into(),
        402 => Permanent::Billing.into(),
        403 => Permanent::Permission.into(),
        // A redirection is not followed: it would carry the key elsewhere.
        300..=399 | 404 | 405 | 501 => Permanent::NotFound.into(),
        413 => Permanent::TooLarge.into(),
        _ => Permanent::InvalidRequest.into(),
    }
}

/// A name and no sentence, so that it can be logged.
fn is_name(word: &str) -> bool {
    (1..=80).contains(&word.len())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']'))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn request_id(headers: &HeaderMap, body: &Value) -> Option<String> {
    ["request-id", "x-request-id", "x-amzn-requestid"]
        .into_iter()
        .find_map(|name| text(headers, name))
        .or_else(|| body["request_id"].as_str())
        .filter(|id| is_name(id))
        .map(str::to_owned)
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date. A date that has passed is now.
pub(crate) fn retry_after(headers: &HeaderMap, now: Time) -> Option<Duration> {
    let seconds = |text: &str, unit: f64| {
        text.parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0)
            // A day: more is as good as never.
            .map(|number| Duration::from_secs_f64((number * unit).min(86_400.0)))
    };
    if let Some(time) = text(headers, "retry-after-ms").and_then(|text| seconds(text, 0.001)) {
        return Some(time);
    }
    let after = text(headers, "retry-after")?;
    seconds(after, 1.0).or_else(|| {
        let date = jiff::fmt::rfc2822::parse(after).ok()?;
        let date = Time::from_micros(date.timestamp().as_microsecond());
        Some(date.since(now).min(Duration::from_hours(24)))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const NOW: Time = Time::from_seconds(1_796_072_928);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn fault(status: u16, body: &str) -> Fault {
        refusal(Some(status), &HeaderMap::new(), body.as_bytes(), NOW).fault
    }

    #[test]
    fn retry_after_is_read_in_seconds_milliseconds_and_as_a_date() {
        for (pair, expected) in [
            (("retry-after", "7"), Some(7.0)),
            (("retry-after", "0.5"), Some(0.5)),
            (("retry-after-ms", "250"), Some(0.25)),
            (("retry-after", "Mon, 30 Nov 2026 21:09:08 GMT"), Some(20.0)),
            (("retry-after", "Mon, 30 Nov 2020 21:09:08 GMT"), Some(0.0)),
            (("retry-after", "1e30"), Some(86_400.0)),
            (("retry-after", "-1"), None),
            (("retry-after", "soon"), None),
            (("retry-after", "NaN"), None),
        ] {
            let found = retry_after(&headers(&[pair]), NOW);
            assert_eq!(found, expected.map(Duration::from_secs_f64), "{pair:?}");
        }
    }

    #[test]
    fn refusals_of_all_providers_are_understood() {
        let transient = |fault: Transient| Fault::Transient(fault);
        let permanent = |fault: Permanent| Fault::Permanent(fault);
        for (status, body, expected) in [
            (
                429,
                r#"{"error":{"type":"rate_limit_error"}}"#,
                transient(Transient::RateLimited),
            ),
            (
                429,
                r#"{"error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
                permanent(Permanent::Billing),
            ),
            (
                429,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                permanent(Permanent::Billing),
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to …"}}"#,
                permanent(Permanent::Billing),
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                permanent(Permanent::ContextOverflow),
            ),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}"#,
                permanent(Permanent::ContextOverflow),
            ),
            (
                400,
                r#"{"message":"Input is too long for requested model."}"#,
                permanent(Permanent::ContextOverflow),
            ),
            (400, r#"{"error":"bad"}"#, permanent(Permanent::InvalidRequest)),
            (529, "", transient(Transient::Overloaded)),
            (503, "<html>", transient(Transient::Overloaded)),
            (500, "{}", transient(Transient::Unavailable)),
            (502, "", transient(Transient::Unavailable)),
            (504, "", transient(Transient::Timeout)),
            (401, "", permanent(Permanent::Authentication)),
            (402, "", permanent(Permanent::Billing)),
            (403, "", permanent(Permanent::Permission)),
            (302, "", permanent(Permanent::NotFound)),
            (
                404,
                r#"{"error":{"type":"invalid_request_error","code":"model_not_found"}}"#,
                permanent(Permanent::NotFound),
            ),
            (413, "", permanent(Permanent::TooLarge)),
            (418, "", permanent(Permanent::InvalidRequest)),
        ] {
            assert_eq!(fault(status, body), expected, "{status} {body}");
        }
        // OpenAI's type for a wrong key is `invalid_request_error`.
        assert_eq!(
            fault(
                401,
                r#"{"error":{"type":"invalid_request_error","code":"invalid_api_key"}}"#
            ),
            permanent(Permanent::Authentication)
        );
        let throttled = headers(&[("x-amzn-errortype", "ThrottlingException:http://internal.amazon.com/")]);
        assert_eq!(
            refusal(Some(400), &throttled, b"{}", NOW).fault,
            transient(Transient::RateLimited)
        );
        // A gateway's error with status 200.
        let inside = refusal(
            None,
            &HeaderMap::new(),
            br#"{"error":{"code":429,"message":"slow down"}}"#,
            NOW,
        );
        assert_eq!(inside.fault, transient(Transient::RateLimited));
    }

    #[test]
    fn what_is_shown_of_a_refusal_has_names_only() {
        let body = r#"{"error":{"type":"invalid_request_error","message":"bad text: my cat is ill","param":"messages[0].content","code":"my cat is ill"},"request_id":"req_1"}"#;
        let error = refusal(Some(400), &HeaderMap::new(), body.as_bytes(), NOW).into_error("m-1", NOW);
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("cat"), "{shown}");
        for part in [
            "m-1",
            "status 400",
            "invalid_request_error/messages[0].content",
            "req_1",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(error.origin().providers_words(), Some("bad text: my cat is ill"));
    }
}
