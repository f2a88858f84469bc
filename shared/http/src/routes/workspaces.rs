//! Workspaces: get or create, list, update, delete.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{post, put};
use axum::{Json, Router};
use http::StatusCode;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::filter::Schema;
use reverie_core::id::WorkspaceName;
use reverie_engine::NotDeleted;
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::filter;
use crate::filter::rows::WorkspaceRow;
use crate::given::{Level, check_summaries, given};
use crate::page::{Body, paging};
use crate::validate::Problems;
use crate::wire::WorkspaceBody;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v3/workspaces", post(get_or_create))
        .route("/v3/workspaces/list", post(list))
        .route("/v3/workspaces/{workspace_id}", put(update).delete(remove))
}

/// 201 for what was created, 200 for what was there.
pub(crate) fn created(created: bool) -> StatusCode {
    if created { StatusCode::CREATED } else { StatusCode::OK }
}

/// 202 for a deletion: it is in force, and what is left of it is being done.
pub(crate) fn accepted(message: &'static str) -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "message": message }))).into_response()
}

async fn get_or_create(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let body = body.required(&mut problems);
    let name = body.either("id", "name").name(&mut problems, WorkspaceName::parse);
    let given = given(&body, &mut problems, Level::sections(&app.config));
    let name = problems.finish(name)?;
    check_summaries(&body, &given, None, app.config.defaults)?;
    let (workspace, new) = app
        .table
        .get_or_create_workspace(&name, given, &*app.ids, app.now())
        .await?;
    Ok((created(new), Json(WorkspaceBody::from(workspace))).into_response())
}

async fn list(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let filters = filter::read(&body.optional(&mut problems), &mut problems);
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let filter = filter::parse(filters, &Schema::WORKSPACE)?;
    let wanted = |workspace: &Workspace| filter.matches(&WorkspaceRow(workspace));
    let choice = filter::choice(&filter, None, &wanted);
    let page = app.table.workspaces(paging, choice.as_ref()).await?;
    let page = page.map(WorkspaceBody::from);
    Ok(Body::of(page, paging).into_response())
}

async fn update(State(app): State<App>, call: Call) -> Result<Json<WorkspaceBody>, Error> {
    let mut problems = Problems::default();
    let name = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let body = call.body();
    let body = body.required(&mut problems);
    let given = given(&body, &mut problems, Level::sections(&app.config));
    let name = problems.finish(name)?;
    check_summaries(&body, &given, None, app.config.defaults)?;
    let workspace = app.table.update_workspace(&name, given, &*app.ids, app.now()).await?;
    Ok(Json(workspace.into()))
}

async fn remove(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let name = call.workspace()?;
    match app.engine.delete_workspace(&name).await? {
        Ok(()) => Ok(accepted("Workspace deletion accepted")),
        Err(NotDeleted::Unknown) => Err(Error::no_workspace(name.as_str())),
        Err(NotDeleted::Active) => {
            let detail = format!("Workspace {name} has active sessions: delete them first");
            Err(Error::refused(StatusCode::CONFLICT, detail))
        }
    }
}
