//! What a workspace has waiting and running.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use reverie_aws::table::failures::Parked;
use reverie_core::id::{MessageId, NameError, PeerName, SessionName};
use reverie_engine::{QueueStatus, Units};
use serde::Serialize;

use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::page::{Body, paging};
use crate::validate::Problems;
use crate::wire::At;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v3/workspaces/{workspace_id}/queue/status", get(status))
        .route("/v3/workspaces/{workspace_id}/queue/failed", get(failed))
}

/// Counts as the contract has them. Finished work leaves the queue at once, so none is completed.
#[derive(Debug, Serialize)]
#[allow(clippy::struct_field_names, reason = "the contract's names")]
struct Counts {
    total_work_units: usize,
    completed_work_units: usize,
    in_progress_work_units: usize,
    pending_work_units: usize,
    /// Ours: the SDKs pass over what they do not know here.
    failed_work_units: usize,
}

impl From<Units> for Counts {
    fn from(units: Units) -> Self {
        Self {
            total_work_units: units.pending + units.in_progress,
            completed_work_units: 0,
            in_progress_work_units: units.in_progress,
            pending_work_units: units.pending,
            failed_work_units: units.failed,
        }
    }
}

#[derive(Debug, Serialize)]
struct SessionCounts {
    session_id: SessionName,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Debug, Serialize)]
struct StatusBody {
    #[serde(flatten)]
    all: Counts,
    sessions: Option<BTreeMap<String, SessionCounts>>,
}

impl StatusBody {
    /// By session unless one session was asked for, or there is none.
    fn of(status: QueueStatus, one_session: bool) -> Self {
        let sessions: BTreeMap<_, _> = status
            .sessions
            .into_iter()
            .map(|of| {
                let counts = SessionCounts {
                    session_id: of.session.clone(),
                    counts: of.units.into(),
                };
                (of.session.to_string(), counts)
            })
            .collect();
        Self {
            all: status.all.into(),
            sessions: (!one_session && !sessions.is_empty()).then_some(sessions),
        }
    }
}

/// A name in the query: `Ok(None)` when it is not given, `Err` when nothing can have it.
fn named<T>(call: &Call, key: &'static str, parse: fn(&str) -> Result<T, NameError>) -> Result<Option<T>, NameError> {
    let mut problems = Problems::default();
    let text = call.query().at(key).given();
    let text = text.and_then(|node| node.text(&mut problems, 0, usize::MAX));
    text.map(|text| parse(&text)).transpose()
}

async fn status(State(app): State<App>, call: Call) -> Result<Json<StatusBody>, Error> {
    let workspace = app.workspace(&call).await?;
    let observer = named(&call, "observer_id", PeerName::parse);
    let sender = named(&call, "sender_id", PeerName::parse);
    let session = named(&call, "session_id", SessionName::parse);
    let (Ok(observer), Ok(sender), Ok(session)) = (observer, sender, session) else {
        return Ok(Json(StatusBody::of(QueueStatus::default(), true)));
    };
    let status = app
        .engine
        .queue_status(&workspace, observer.as_ref(), sender.as_ref(), session.as_ref())
        .await?;
    Ok(Json(StatusBody::of(status, session.is_some())))
}

/// A message that could not be derived from.
#[derive(Debug, Serialize)]
struct FailedBody {
    message_id: MessageId,
    session_id: SessionName,
    error: &'static str,
    failed_at: At,
    attempts: u32,
    retrying: bool,
}

impl From<Parked> for FailedBody {
    fn from(parked: Parked) -> Self {
        Self {
            message_id: MessageId::of(&parked.uid, parked.seq),
            session_id: parked.session,
            error: parked.error.as_str(),
            failed_at: At(parked.at),
            attempts: parked.attempts,
            retrying: parked.queued,
        }
    }
}

async fn failed(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let workspace = app.workspace(&call).await?;
    let session = match named(&call, "session_id", SessionName::parse) {
        Ok(Some(name)) => Some(app.session(&workspace, &name).await?.uid),
        Ok(None) => None,
        Err(_) => return Ok(Body::of(paging.of(Vec::<FailedBody>::new()), paging).into_response()),
    };
    let failed = app.engine.failed_messages(&workspace, session.as_ref()).await?;
    Ok(Body::of(paging.of(failed).map(FailedBody::from), paging).into_response())
}

#[cfg(test)]
mod tests {
    use reverie_engine::SessionUnits;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_body_has_the_contracts_keys() {
        let units = Units {
            pending: 2,
            in_progress: 1,
            failed: 4,
        };
        let status = QueueStatus {
            all: units,
            sessions: vec![SessionUnits {
                session: SessionName::trusted("s"),
                units,
            }],
        };
        let counts = json!({"total_work_units": 3, "completed_work_units": 0, "in_progress_work_units": 1,
            "pending_work_units": 2, "failed_work_units": 4});
        let mut of_session = counts.clone();
        of_session["session_id"] = json!("s");
        let mut body = counts;
        body["sessions"] = json!({ "s": of_session });
        let rendered = serde_json::to_value(StatusBody::of(status.clone(), false)).unwrap_or_default();
        assert_eq!(rendered, body);
        body["sessions"] = json!(null);
        let rendered = serde_json::to_value(StatusBody::of(status, true)).unwrap_or_default();
        assert_eq!(rendered, body);
    }
}
