//! What a request can end with other than success, rendered as `{"detail": …}`.

use std::error::Error as StdError;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use reverie_aws::table::TableError;
use reverie_aws::table::members::MAX_OBSERVERS;
use reverie_aws::table::sessions::SessionError;
use reverie_core::cause::chain;
use reverie_engine::EngineError;
use serde::Serialize;

use crate::validate::Problem;

/// Why a request was not served.
#[derive(Debug)]
pub(crate) enum Error {
    /// The client's doing, in a sentence.
    Refused(StatusCode, String),
    /// The request is malformed: every problem of it.
    Invalid(Vec<Problem>),
    /// The table is overloaded; the same request may succeed in a moment.
    Busy,
    /// Our doing.
    Failed(Box<dyn StdError + Send + Sync>),
}

impl Error {
    pub(crate) fn refused(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::Refused(status, detail.into())
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::refused(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn no_workspace(name: &str) -> Self {
        Self::not_found(format!("Workspace {name} not found"))
    }

    pub(crate) fn no_peer(name: &str, workspace: &str) -> Self {
        Self::not_found(format!("Peer {name} not found in workspace {workspace}"))
    }

    pub(crate) fn no_session(name: &str, workspace: &str) -> Self {
        Self::not_found(format!("Session {name} not found in workspace {workspace}"))
    }

    /// What is well formed and cannot be meant: a fragment, as a sentence.
    pub(crate) fn unprocessable(fragment: &str) -> Self {
        let mut rest = fragment.chars();
        let detail: String = rest
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .chain(rest)
            .collect();
        Self::refused(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    fn too_large(what: &str) -> Self {
        Self::refused(StatusCode::PAYLOAD_TOO_LARGE, format!("{what} is too large to store"))
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Conflict | TableError::Throttled => Self::Busy,
            TableError::TooLarge(what) => Self::too_large(what),
            TableError::Condition(_) | TableError::Call { .. } | TableError::Malformed { .. } => {
                Self::Failed(Box::new(error))
            }
        }
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::TooManyObservers { session, observers } => {
                let detail = format!(
                    "Cannot create session {session} with {observers} observers. \
                     Maximum allowed is {MAX_OBSERVERS} observers per session."
                );
                Self::refused(StatusCode::BAD_REQUEST, detail)
            }
            SessionError::Gone(session) => Self::not_found(format!("Session {session} not found")),
            SessionError::NotAMember { session, peer } => {
                Self::not_found(format!("Peer {peer} not found in session {session}"))
            }
            SessionError::Table(error) => error.into(),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Table(error) => error.into(),
            EngineError::Session(error) => error.into(),
            EngineError::NotFound { .. } => {
                let text = error.to_string();
                Self::not_found(text)
            }
            EngineError::DreamsDisabled(by) => {
                let detail = format!("Dreams are disabled by the {} configuration", by.as_str());
                Self::refused(StatusCode::BAD_REQUEST, detail)
            }
            EngineError::TooLarge(what) => Self::too_large(what),
            EngineError::SessionGone(session) => Self::not_found(format!("Session {session} not found")),
            EngineError::KeyReused => {
                let detail = "Idempotency-Key was used with another request body in the last 24 hours";
                Self::refused(StatusCode::UNPROCESSABLE_ENTITY, detail)
            }
            EngineError::AnswerGone => {
                let detail =
                    "The request with this Idempotency-Key was answered before, and what it made has been deleted";
                Self::refused(StatusCode::CONFLICT, detail)
            }
            EngineError::Later(_) => Self::Busy,
            EngineError::Port(_)
            | EngineError::Reasoner(_)
            | EngineError::AtFault { .. }
            | EngineError::Embed(_)
            | EngineError::Letter(_) => Self::Failed(Box::new(error)),
        }
    }
}

#[derive(Serialize)]
struct Body {
    detail: Detail,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Detail {
    Text(String),
    Problems(Vec<Problem>),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Self::Refused(status, detail) => (status, Detail::Text(detail)),
            Self::Invalid(problems) => (StatusCode::UNPROCESSABLE_ENTITY, Detail::Problems(problems)),
            Self::Busy => {
                tracing::warn!("a request gave up on an overloaded table");
                let text = "The service is busy, try again".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, Detail::Text(text))
            }
            Self::Failed(error) => {
                tracing::error!(error.chain = chain(error.as_ref()), "a request failed");
                let text = "An unexpected error occurred".to_owned();
                (StatusCode::INTERNAL_SERVER_ERROR, Detail::Text(text))
            }
        };
        let mut response = (status, Json(Body { detail })).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use reverie_core::cause::chain;
    use reverie_core::id::SessionName;
    use serde_json::{Value, json};

    use super::*;

    async fn rendered(error: impl Into<Error>) -> (u16, Option<String>, Value) {
        let response = error.into().into_response();
        let status = response.status().as_u16();
        let retry = response.headers().get(RETRY_AFTER);
        let retry = retry.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = to_bytes(response.into_body(), 10_000).await.unwrap_or_default();
        (status, retry, serde_json::from_slice(&body).unwrap_or_default())
    }

    #[tokio::test]
    async fn a_failure_says_nothing_inside() {
        let secret = TableError::Call {
            what: "read an item",
            source: "the secret".into(),
        };
        assert_eq!(
            rendered(secret).await,
            (500, None, json!({"detail": "An unexpected error occurred"}))
        );
    }

    #[tokio::test]
    async fn an_overloaded_table_asks_to_try_again() {
        for error in [TableError::Conflict, TableError::Throttled] {
            let (status, retry, _) = rendered(error).await;
            assert_eq!((status, retry.as_deref()), (503, Some("1")));
        }
    }

    #[tokio::test]
    async fn what_cannot_be_stored_is_too_large_and_too_many_observers_are_a_bad_request() {
        let (status, _, body) = rendered(TableError::TooLarge("metadata")).await;
        assert_eq!(
            (status, body),
            (413, json!({"detail": "metadata is too large to store"}))
        );
        let error = SessionError::TooManyObservers {
            session: SessionName::trusted("s"),
            observers: 11,
        };
        let detail = "Cannot create session s with 11 observers. Maximum allowed is 10 observers per session.";
        assert_eq!(rendered(error).await, (400, None, json!({ "detail": detail })));
    }

    #[test]
    fn a_chain_names_every_cause_once() {
        let error = TableError::Malformed {
            key: "W#x #".to_owned(),
            source: "bad number".into(),
        };
        assert_eq!(chain(&error), "the item W#x # cannot be read: bad number");
    }
}
