//! Dreams: schedule one, list them, read what one changed, cancel, undo, and ask why none comes.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use reverie_aws::table::lists::Paging;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::SessionRef;
use reverie_core::dreaming::{Timings, View, WhyNot};
use reverie_core::id::{NameError, PeerName, RunId, SessionName};
use reverie_core::run::DreamType;
use reverie_core::settings::Levels;
use reverie_engine::{DreamStatus, Keyed, NewDream, NotCancellable, NotUndoable, Scheduled};
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::page::{Body, paging};
use crate::run::{DetailBody, RunBody, StatusBody};
use crate::validate::{Node, Problems};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v3/workspaces/{workspace_id}/schedule_dream", post(schedule))
        .route("/v3/workspaces/{workspace_id}/dreams", get(list))
        .route("/v3/workspaces/{workspace_id}/dreams/list", post(list_filtered))
        .route("/v3/workspaces/{workspace_id}/dreams/status", get(status))
        .route("/v3/workspaces/{workspace_id}/dreams/{run_id}", get(one))
        .route("/v3/workspaces/{workspace_id}/dreams/{run_id}/cancel", post(cancel))
        .route("/v3/workspaces/{workspace_id}/dreams/{run_id}/undo", post(undo))
}

/// Text at a place, if any is given.
fn text(node: &Node, key: &'static str, problems: &mut Problems) -> Option<String> {
    let node = node.at(key).given();
    node.and_then(|node| node.text(problems, 0, usize::MAX))
}

/// A known peer of the workspace by what may be its name.
async fn known_peer(app: &App, workspace: &Workspace, text: &str) -> Result<PeerName, Error> {
    match PeerName::parse(text) {
        Ok(name) => Ok(app.peer(workspace, &name).await?.name),
        Err(_) => Err(Error::no_peer(text, workspace.name.as_str())),
    }
}

/// Observer and observed by what may be their names; the observer itself where no other is named.
async fn known_pair(
    app: &App,
    workspace: &Workspace,
    observer: &str,
    observed: Option<String>,
) -> Result<(PeerName, PeerName), Error> {
    let observer = known_peer(app, workspace, observer).await?;
    let observed = match observed.filter(|observed| *observed != observer.as_str()) {
        Some(other) => known_peer(app, workspace, &other).await?,
        None => observer.clone(),
    };
    Ok((observer, observed))
}

async fn schedule(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let read = call.body();
    let body = read.required(&mut problems);
    let observer = body.at("observer").text(&mut problems, 0, usize::MAX);
    let observed = text(&body, "observed", &mut problems);
    let session = text(&body, "session_id", &mut problems);
    let place = body.at("dream_type");
    let word = place.clone().given();
    let word = word.map_or(Some("omni"), |node| {
        node.one_of(&mut problems, &["omni", "card_refresh"])
    });
    let dry = body.at("dry_run").given();
    let dry = dry.and_then(|node| node.flag(&mut problems)).unwrap_or(false);
    let rebuild = body.at("rebuild").given();
    let rebuild = rebuild.and_then(|node| node.flag(&mut problems)).unwrap_or(false);
    let dream_type = match (word, dry) {
        (Some("card_refresh"), false) => DreamType::CardRefresh,
        (Some("card_refresh"), true) => {
            place.refuse(&mut problems, "a dry run is of the type omni");
            DreamType::DryRun
        }
        (_, true) => DreamType::DryRun,
        (_, false) => DreamType::Omni,
    };
    let request = call.keyed(&mut problems, &["schedule_dream"], &read);
    let observer = problems.finish(observer)?;
    let workspace = app.workspace(&call).await?;
    let recording = match request {
        Some(request) => match app.engine.keyed_dream(&workspace, &request).await? {
            Keyed::Before(scheduled) => return Ok(scheduled_as(dream_type, &scheduled)),
            Keyed::New(recording) => Some(recording),
        },
        None => None,
    };
    let (observer, observed) = known_pair(&app, &workspace, &observer, observed).await?;
    let session = match session {
        Some(text) => {
            let name = SessionName::parse(&text).map_err(|_| Error::no_session(&text, workspace.name.as_str()))?;
            let uid = app.session(&workspace, &name).await?.uid;
            Some(SessionRef { uid, name })
        }
        None => None,
    };
    let new = NewDream {
        observer: &observer,
        observed: &observed,
        dream_type,
        session,
        rebuild,
        recording,
    };
    let scheduled = app.engine.schedule_dream(&workspace, new).await?;
    Ok(scheduled_as(dream_type, &scheduled))
}

fn scheduled_as(dream_type: DreamType, scheduled: &Scheduled) -> Response {
    if dream_type == DreamType::DryRun {
        accepted(&scheduled.run)
    } else {
        StatusCode::NO_CONTENT.into_response()
    }
}

fn accepted(run: &RunId) -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "id": run }))).into_response()
}

async fn list(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let query = call.query();
    let paging = paging(&query, &mut problems);
    problems.finish(Some(()))?;
    listed(&app, &call, &query, paging).await
}

async fn list_filtered(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let body = body.optional(&mut problems);
    let filters = body.at("filters").given();
    if let Some(filters) = &filters {
        filters.object(&mut problems);
    }
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    listed(&app, &call, filters.as_ref().unwrap_or(&body), paging).await
}

/// The dreams of whom a place in the request names, newest first.
async fn listed(app: &App, call: &Call, wanted: &Node<'_>, paging: Paging) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let mut named = |short, long| {
        let name = text(wanted, short, &mut problems).or_else(|| text(wanted, long, &mut problems));
        name.map(|name| PeerName::parse(&name)).transpose()
    };
    let (observer, observed): (Result<_, NameError>, Result<_, NameError>) =
        (named("observer", "observer_id"), named("observed", "observed_id"));
    problems.finish(Some(()))?;
    let workspace = app.workspace(call).await?;
    let page = match (observer, observed) {
        (Ok(observer), Ok(observed)) => {
            app.engine
                .dreams(&workspace, observer.as_ref(), observed.as_ref(), paging)
                .await?
        }
        // Whom no peer can be has no dreams.
        _ => paging.of(Vec::new()),
    };
    Ok(Body::of(page.map(RunBody::from), paging).into_response())
}

/// The run that the path names, and the workspace.
async fn named_run(app: &App, call: &Call) -> Result<(Workspace, RunId), Error> {
    let workspace = app.workspace(call).await?;
    let text = call.text("run_id");
    let id = RunId::parse(text).ok_or_else(|| no_run(text, &workspace))?;
    Ok((workspace, id))
}

fn no_run(id: &str, workspace: &Workspace) -> Error {
    Error::not_found(format!("Dream {id} not found in workspace {}", workspace.name))
}

async fn one(State(app): State<App>, call: Call) -> Result<Json<DetailBody>, Error> {
    let (workspace, id) = named_run(&app, &call).await?;
    let detail = app.engine.dream(&workspace, &id).await?;
    let detail = detail.ok_or_else(|| no_run(id.as_str(), &workspace))?;
    Ok(Json(detail.into()))
}

async fn cancel(State(app): State<App>, call: Call) -> Result<Json<RunBody>, Error> {
    let (workspace, id) = named_run(&app, &call).await?;
    match app.engine.cancel_dream(&workspace, &id).await {
        Ok(run) => Ok(Json(run.into())),
        Err(NotCancellable::Unknown) => Err(no_run(id.as_str(), &workspace)),
        Err(NotCancellable::Ended(status)) => Err(conflict(format!("Dream {id} is already {}", status.as_str()))),
        Err(NotCancellable::Engine(error)) => Err(error.into()),
    }
}

async fn undo(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let (workspace, id) = named_run(&app, &call).await?;
    match app.engine.undo_dream(&workspace, &id).await {
        Ok(run) => Ok(accepted(&run)),
        Err(NotUndoable::Unknown) => Err(no_run(id.as_str(), &workspace)),
        Err(NotUndoable::NotEnded(status)) => {
            let detail = format!(
                "Dream {id} is still {}, and can be undone when it has ended",
                status.as_str()
            );
            Err(conflict(detail))
        }
        Err(NotUndoable::Pruned) => Err(conflict(format!("What dream {id} changed is past retention"))),
        Err(NotUndoable::NotRecorded) => Err(conflict(format!("What dream {id} changed was not recorded"))),
        Err(NotUndoable::DryRun) => Err(conflict(format!("Dream {id} was a dry run and changed nothing"))),
        Err(NotUndoable::Busy(other)) => Err(conflict(format!(
            "Undo {other} of the same representation must end first"
        ))),
        Err(NotUndoable::Engine(error)) => Err(error.into()),
    }
}

fn conflict(detail: String) -> Error {
    Error::refused(StatusCode::CONFLICT, detail)
}

async fn status(State(app): State<App>, call: Call) -> Result<Json<StatusBody>, Error> {
    let mut problems = Problems::default();
    let query = call.query();
    let observer = query.at("observer").text(&mut problems, 0, usize::MAX);
    let observed = text(&query, "observed", &mut problems);
    let observer = problems.finish(observer)?;
    let workspace = app.workspace(&call).await?;
    let (observer, observed) = known_pair(&app, &workspace, &observer, observed).await?;
    let status = match app.engine.why_not(&workspace, &observer, &observed).await? {
        Some(status) => status,
        None => nothing_known(&app, &workspace, &observed).await?,
    };
    Ok(Json(StatusBody::of(status, observer, observed)))
}

/// The answer where nothing was ever concluded or asked for.
async fn nothing_known(app: &App, workspace: &Workspace, observed: &PeerName) -> Result<DreamStatus, Error> {
    let levels = Levels {
        session: None,
        workspace: &workspace.configuration,
    };
    let activity = app.table.activity(&workspace.uid, observed).await?;
    let mut view = View::of(levels.dreaming(app.config.defaults));
    view.last_activity = activity.map(|activity| activity.at);
    Ok(DreamStatus {
        why_not: WhyNot::unknown_representation(&Timings::of(&app.config), &view, app.now()),
        running_at: None,
        last_run: None,
    })
}
