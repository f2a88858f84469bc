//! A small blocking client of Reverie's own HTTP API, for the programs that feed and show it.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longer than any answer of the server takes.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A call that did not give what it should.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No answer came.
    #[error("{url} gives no answer")]
    NoAnswer {
        /// Where.
        url: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The server refused.
    #[error("{call} was answered with {status}: {detail}")]
    Refused {
        /// The method and path.
        call: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// The answer is not of the agreed shape.
    #[error("{call} was answered with something else than agreed")]
    Shape {
        /// The method and path.
        call: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

impl ApiError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { .. } => true,
            Self::Refused { status, .. } => matches!(status, 429 | 500 | 502..=504),
            Self::Shape { .. } => false,
        }
    }

    /// Whether the server says that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

/// The client of one workspace.
#[derive(Clone, Debug)]
pub struct Api {
    agent: ureq::Agent,
    url: String,
    workspace: String,
    key: Option<String>,
}

impl Api {
    /// A client of `workspace` at `url`, which has no path; `key` is sent as a bearer token.
    pub fn new(url: &str, workspace: &str, key: Option<String>) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("reverie/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Self {
            agent,
            url: url.trim_end_matches('/').to_owned(),
            workspace: workspace.to_owned(),
            key,
        }
    }

    /// The workspace's name.
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// `GET` below the workspace.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        let path = format!("/v3/workspaces/{}{path}", self.workspace);
        self.call("GET", &path, None::<&Value>, None)
    }

    /// `POST` below the workspace.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        self.post_once(path, body, None)
    }

    /// `POST` below the workspace with an idempotency key, so that sending it twice does it once.
    pub fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T, ApiError> {
        let path = format!("/v3/workspaces/{}{path}", self.workspace);
        self.call("POST", &path, Some(body), key)
    }

    /// Creates the workspace unless it is there.
    pub fn ensure_workspace(&self) -> Result<(), ApiError> {
        let body = serde_json::json!({ "id": self.workspace });
        self.call::<Value>("POST", "/v3/workspaces", Some(&body), None)
            .map(drop)
    }

    fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
        idempotency: Option<&str>,
    ) -> Result<T, ApiError> {
        let call = || format!("{method} {path}");
        let url = format!("{}{path}", self.url);
        let no_answer = |source| ApiError::NoAnswer {
            url: self.url.clone(),
            source: Box::new(source),
        };
        let mut request = http::Request::builder().method(method).uri(&url);
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if let Some(key) = idempotency {
            request = request.header("idempotency-key", key);
        }
        let answer = match body {
            None => request.body(()).map(|request| self.agent.run(request)),
            Some(body) => {
                let text = serde_json::to_string(body).map_err(|source| ApiError::Shape { call: call(), source })?;
                request
                    .header("content-type", "application/json")
                    .body(text)
                    .map(|request| self.agent.run(request))
            }
        };
        let mut answer = answer
            .map_err(ureq::Error::Http)
            .and_then(|answer| answer)
            .map_err(no_answer)?;
        let text = answer
            .body_mut()
            .with_config()
            .limit(64 * 1024 * 1024)
            .read_to_string()
            .map_err(no_answer)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(ApiError::Refused {
                call: call(),
                status: status.as_u16(),
                detail: detail(&text),
            });
        }
        // An empty body (204) is null.
        let text = if text.is_empty() { "null" } else { &text };
        serde_json::from_str(text).map_err(|source| ApiError::Shape { call: call(), source })
    }
}

/// What an error's body says, on one line of reasonable length.
fn detail(body: &str) -> String {
    const MAX: usize = 300;
    let said = serde_json::from_str::<Value>(body)
        .ok()
        .and_then(|body| body.get("detail").cloned())
        .map_or_else(
            || body.to_owned(),
            |detail| detail.as_str().map_or_else(|| detail.to_string(), str::to_owned),
        );
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MAX {
        format!("{}…", line.chars().take(MAX).collect::<String>())
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errors_detail_is_found_in_both_shapes() {
        assert_eq!(detail(r#"{"detail":"Peer x not found"}"#), "Peer x not found");
        assert_eq!(detail(r#"{"detail":[{"msg":"too long"}]}"#), r#"[{"msg":"too long"}]"#);
        assert_eq!(detail("<html>\n bad gateway"), "<html> bad gateway");
        assert_eq!(detail(&"é".repeat(999)).chars().count(), 301);
    }
}
