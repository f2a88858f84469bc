//! One request, taken apart: path, query and body as JSON values, whatever their form was.

use axum::RequestExt;
use axum::body::to_bytes;
use axum::extract::{FromRequest, Query, RawPathParams, Request};
use http::StatusCode;
use reverie_aws::table::idempotency::KeyedRequest;
use reverie_core::id::{NameError, PeerName, SessionName, WorkspaceName};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::validate::{Node, Problems};

/// The most bytes of a request's body: what Lambda takes.
const MAX_BODY: usize = 6 * 1024 * 1024;
/// The header that makes a POST safe to repeat.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The longest idempotency key, in characters.
const MAX_KEY: usize = 255;

/// A request. Extracting it never refuses anything but a body that is too large.
#[derive(Debug)]
pub(crate) struct Call {
    path: Value,
    query: Value,
    /// The values of the idempotency key's header; one that is no text is null.
    keys: Vec<Value>,
    body: Vec<u8>,
}

/// A body that was parsed, or why it could not be.
#[derive(Debug)]
pub(crate) enum Body {
    Json(Value),
    Empty,
    NotJson { at: usize, error: String },
}

impl<S: Send + Sync> FromRequest<S> for Call {
    type Rejection = Error;

    async fn from_request(mut request: Request, _: &S) -> Result<Self, Error> {
        // A path whose percent-encoding is not UTF-8 names nothing.
        let path = match request.extract_parts::<RawPathParams>().await {
            Ok(path) => path
                .iter()
                .map(|(key, value)| (key.to_owned(), Value::from(value)))
                .collect(),
            Err(_) => return Err(Error::not_found("Not Found")),
        };
        let query = Query::<Vec<(String, String)>>::try_from_uri(request.uri())
            .map(|Query(pairs)| pairs)
            .unwrap_or_default();
        let query: Map<String, Value> = query.into_iter().map(|(key, value)| (key, value.into())).collect();
        let keys = request.headers().get_all(IDEMPOTENCY_KEY).iter();
        let keys = keys.map(|key| key.to_str().map_or(Value::Null, Value::from)).collect();
        let body = to_bytes(request.into_body(), MAX_BODY).await.map_err(|_| {
            let detail = format!("Request body is larger than {MAX_BODY} bytes");
            Error::refused(StatusCode::PAYLOAD_TOO_LARGE, detail)
        })?;
        Ok(Self {
            path: Value::Object(path),
            query: Value::Object(query),
            keys,
            body: body.to_vec(),
        })
    }
}

impl Call {
    /// The query, for reading.
    pub(crate) fn query(&self) -> Node<'_> {
        Node::root("query", Some(&self.query))
    }

    /// The body, parsed.
    pub(crate) fn body(&self) -> Body {
        if self.body.iter().all(u8::is_ascii_whitespace) {
            return Body::Empty;
        }
        match serde_json::from_slice(&self.body) {
            Ok(value) => Body::Json(value),
            Err(error) => {
                let before = self
                    .body
                    .split(|byte| *byte == b'\n')
                    .take(error.line().saturating_sub(1));
                let lines: usize = before.map(|line| line.len() + 1).sum();
                let text = error.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                Body::NotJson {
                    at: lines + error.column().saturating_sub(1),
                    error: text.to_owned(),
                }
            }
        }
    }

    /// The request as its idempotency key has it, when there is one: for `route`, with all that the path names within
    /// the workspace. Bodies that read the same are the same.
    pub(crate) fn keyed(&self, problems: &mut Problems, route: &[&str], body: &Body) -> Option<KeyedRequest> {
        let (first, more) = self.keys.split_first()?;
        let place = Node::root("header", Some(first)).named(IDEMPOTENCY_KEY);
        let visible = first.as_str().filter(|key| {
            (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) && more.is_empty()
        });
        if visible.is_none() {
            place.refuse(
                problems,
                "Idempotency-Key must be given once, as 1 to 255 visible ASCII characters",
            );
        }
        let text = match body {
            Body::Json(value) => value.to_string(),
            Body::Empty | Body::NotJson { .. } => String::new(),
        };
        visible.map(|key| KeyedRequest::new(route, key, &text))
    }

    /// The text of a path's parameter.
    pub(crate) fn text(&self, parameter: &str) -> &str {
        self.path.get(parameter).and_then(Value::as_str).unwrap_or_default()
    }

    /// A name in the path of something that is created when it is not there: a bad one is a problem.
    pub(crate) fn new_name<T>(
        &self,
        problems: &mut Problems,
        parameter: &'static str,
        parse: fn(&str) -> Result<T, NameError>,
    ) -> Option<T> {
        Node::root("path", Some(&self.path)).at(parameter).name(problems, parse)
    }

    /// The workspace that the path names. A bad name names none.
    pub(crate) fn workspace(&self) -> Result<WorkspaceName, Error> {
        let text = self.text("workspace_id");
        WorkspaceName::parse(text).map_err(|_| Error::no_workspace(text))
    }

    /// The peer that the path names. A bad name names none.
    pub(crate) fn peer(&self) -> Result<PeerName, Error> {
        let text = self.text("peer_id");
        PeerName::parse(text).map_err(|_| Error::no_peer(text, self.text("workspace_id")))
    }

    /// The session that the path names. A bad name names none.
    pub(crate) fn session(&self) -> Result<SessionName, Error> {
        let text = self.text("session_id");
        SessionName::parse(text).map_err(|_| Error::no_session(text, self.text("workspace_id")))
    }
}

impl Body {
    /// The body, which must be an object.
    pub(crate) fn required(&self, problems: &mut Problems) -> Node<'_> {
        self.any(problems).body(problems)
    }

    /// The body, which may be missing or null.
    pub(crate) fn optional(&self, problems: &mut Problems) -> Node<'_> {
        match self {
            Self::Empty | Self::Json(Value::Null) => Node::root("body", Some(&Value::Null)),
            _ => self.required(problems),
        }
    }

    /// The body, whatever it is.
    pub(crate) fn any(&self, problems: &mut Problems) -> Node<'_> {
        let value = match self {
            Self::Json(value) => Some(value),
            Self::Empty => None,
            Self::NotJson { at, error } => {
                problems.not_json(*at, error);
                None
            }
        };
        Node::root("body", value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(body: &str) -> Call {
        Call {
            path: json!({"workspace_id": "no good"}),
            query: json!({}),
            keys: Vec::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    fn detail(error: Option<Error>) -> Value {
        match error {
            Some(Error::Invalid(problems)) => serde_json::to_value(problems).unwrap_or_default(),
            Some(Error::Refused(status, detail)) => json!([status.as_u16(), detail]),
            _ => Value::Null,
        }
    }

    #[test]
    fn a_body_that_is_not_json_is_one_problem_with_its_place() {
        let body = call("{\n  \"id\": nope}").body();
        let mut problems = Problems::default();
        let node = body.required(&mut problems);
        let read = node.given();
        assert_eq!(
            detail(problems.finish(read.map(|_| ())).err()),
            json!([{"type": "json_invalid", "loc": ["body", 11], "msg": "JSON decode error", "input": {},
                "ctx": {"error": "expected ident"}}])
        );
    }

    #[test]
    fn lone_surrogates_and_deep_nesting_are_bad_json_and_no_failure() {
        for body in [r#"{"id": "\ud800"}"#.to_owned(), "[".repeat(100_000)] {
            assert!(matches!(call(&body).body(), Body::NotJson { .. }));
        }
    }

    #[test]
    fn a_list_body_may_be_missing_empty_or_null() {
        for body in ["", " \n", "null", "{}"] {
            let body = call(body).body();
            let mut problems = Problems::default();
            let filters = body.optional(&mut problems).at("filters").given();
            assert!(filters.is_none());
            assert!(problems.finish(Some(())).is_ok());
        }
    }

    #[test]
    fn a_bad_name_in_a_path_names_nothing_or_is_a_problem_where_it_would_be_created() {
        let call = call("");
        assert_eq!(
            detail(call.workspace().err()),
            json!([404, "Workspace no good not found"])
        );
        let mut problems = Problems::default();
        let name = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
        assert_eq!(
            detail(problems.finish(name).err()),
            json!([{"type": "string_pattern_mismatch", "loc": ["path", "workspace_id"], "input": "no good",
                "msg": "String should match pattern '^[a-zA-Z0-9_-]+$'", "ctx": {"pattern": "^[a-zA-Z0-9_-]+$"}}])
        );
    }
}
