//! Sessions: get or create, list, update, delete; their members and the members' settings.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use http::StatusCode;
use reverie_aws::table::lists::Page;
use reverie_aws::table::members::MemberConfig;
use reverie_aws::table::sessions::{GivenSession, Session};
use reverie_aws::table::workspaces::{Given, Workspace};
use reverie_core::filter::Schema;
use reverie_core::id::{PeerName, SessionName, WorkspaceName};

use super::workspaces::{accepted, created};
use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::filter;
use crate::filter::rows::SessionRow;
use crate::given::{Level, check_summaries, given, member};
use crate::page::{Body, paging};
use crate::validate::{Node, Problems};
use crate::wire::{MemberConfigBody, PeerBody, SessionBody};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v3/workspaces/{workspace_id}/sessions", post(get_or_create))
        .route("/v3/workspaces/{workspace_id}/sessions/list", post(list))
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}",
            put(update).delete(remove),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/peers",
            get(members).post(add_members).put(set_members).delete(remove_members),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/peers/{peer_id}/config",
            get(member_config).put(set_member_config),
        )
}

/// Refuses settings that do not fit together with the workspace's.
async fn check_with_workspace(
    app: &App,
    workspace: &WorkspaceName,
    body: &Node<'_>,
    given: &Given,
) -> Result<(), Error> {
    if given
        .configuration
        .as_ref()
        .is_none_or(|given| !given.contains_key("summary"))
    {
        return Ok(());
    }
    let workspace = app.table.workspace(workspace).await?;
    let above = workspace.map(|workspace| workspace.configuration).unwrap_or_default();
    check_summaries(body, given, Some(&above), app.config.defaults)
}

async fn get_or_create(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let body = call.body();
    let body = body.required(&mut problems);
    let name = body.either("id", "name").name(&mut problems, SessionName::parse);
    let given = given(&body, &mut problems, Level::sections(&app.config));
    let members = body.either("peers", "peer_names").given();
    let members = members.map(|node| configs(&node, &mut problems)).unwrap_or_default();
    if let Some(scopes) = body.at("scopes").given()
        && !scopes.list(&mut problems, 0, 100).is_empty()
    {
        scopes.refuse(&mut problems, "scopes are not offered");
    }
    let (workspace, name) = problems.finish(workspace.zip(name))?;
    given.check_size()?;
    check_with_workspace(&app, &workspace, &body, &given).await?;
    let workspace = app.ensure_workspace(&workspace).await?;
    let given = GivenSession { given, members };
    let (session, new) = app
        .table
        .get_or_create_session(&workspace, &name, given, &*app.ids, app.now())
        .await?;
    Ok((created(new), Json(SessionBody::of(session, &workspace.name))).into_response())
}

async fn list(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let filters = filter::read(&body.optional(&mut problems), &mut problems);
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let filter = filter::parse(filters, &Schema::SESSION)?;
    let workspace = app.workspace(&call).await?;
    let wanted = |session: &Session| filter.matches(&SessionRow(session, &workspace.name));
    let choice = filter::choice(&filter, Some(&workspace.name), &wanted);
    let page = app.table.sessions(&workspace.uid, paging, choice.as_ref()).await?;
    Ok(Body::of(SessionBody::page(page, &workspace.name), paging).into_response())
}

async fn update(State(app): State<App>, call: Call) -> Result<Json<SessionBody>, Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let name = call.new_name(&mut problems, "session_id", SessionName::parse);
    let body = call.body();
    let body = body.required(&mut problems);
    let given = given(&body, &mut problems, Level::sections(&app.config));
    let (workspace, name) = problems.finish(workspace.zip(name))?;
    given.check_size()?;
    check_with_workspace(&app, &workspace, &body, &given).await?;
    let workspace = app.ensure_workspace(&workspace).await?;
    let session = app
        .table
        .update_session(&workspace, &name, given, &*app.ids, app.now())
        .await?;
    Ok(Json(SessionBody::of(session, &workspace.name)))
}

async fn remove(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let workspace = app.workspace(&call).await?;
    let name = call.session()?;
    if !app.engine.delete_session(&workspace, &name).await? {
        return Err(Error::no_session(name.as_str(), workspace.name.as_str()));
    }
    Ok(accepted("Session deleted successfully"))
}

/// Reads a map of peers to their settings in the session.
fn configs(node: &Node, problems: &mut Problems) -> BTreeMap<PeerName, MemberConfig> {
    let mut members = BTreeMap::new();
    for key in node.object(problems).into_iter().flat_map(|map| map.keys()) {
        let entry = node.at(key.clone());
        let peer = entry.key(problems, PeerName::parse);
        let config = match entry.given() {
            Some(entry) if entry.fields(problems) => member(&entry, problems),
            _ => MemberConfig::default(),
        };
        members.extend(peer.map(|peer| (peer, config)));
    }
    members
}

/// The session that the path names, which is created if there is none, and the members that the body gives.
async fn with_members(app: &App, call: &Call) -> Result<(Workspace, Session, BTreeMap<PeerName, MemberConfig>), Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let name = call.new_name(&mut problems, "session_id", SessionName::parse);
    let body = call.body();
    let members = configs(&body.required(&mut problems), &mut problems);
    let (workspace, name) = problems.finish(workspace.zip(name))?;
    let workspace = app.ensure_workspace(&workspace).await?;
    let given = GivenSession::default();
    let (session, _) = app
        .table
        .get_or_create_session(&workspace, &name, given, &*app.ids, app.now())
        .await?;
    Ok((workspace, session, members))
}

async fn add_members(State(app): State<App>, call: Call) -> Result<Json<SessionBody>, Error> {
    let (workspace, session, members) = with_members(&app, &call).await?;
    app.table
        .add_members(&workspace.uid, &session, members, app.now())
        .await?;
    Ok(Json(SessionBody::of(session, &workspace.name)))
}

async fn set_members(State(app): State<App>, call: Call) -> Result<Json<SessionBody>, Error> {
    let (workspace, session, members) = with_members(&app, &call).await?;
    app.table
        .set_members(&workspace.uid, &session, members, app.now())
        .await?;
    Ok(Json(SessionBody::of(session, &workspace.name)))
}

async fn remove_members(State(app): State<App>, call: Call) -> Result<Json<SessionBody>, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let mut peers = BTreeSet::new();
    for node in body.any(&mut problems).list(&mut problems, 0, usize::MAX) {
        let text = node.text(&mut problems, 0, usize::MAX);
        // Who cannot be a peer is in no session, like any unknown peer.
        peers.extend(text.and_then(|text| PeerName::parse(&text).ok()));
    }
    problems.finish(Some(()))?;
    let workspace = app.workspace(&call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    app.table
        .remove_members(&workspace.uid, &session, peers, app.now())
        .await?;
    Ok(Json(SessionBody::of(session, &workspace.name)))
}

async fn members(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let workspace = app.workspace(&call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    let page = paging.of(app.table.active_members(&session.uid).await?);
    let names: Vec<_> = page.items.iter().map(|member| member.peer.clone()).collect();
    let mut peers = app.table.find_peers(&workspace.uid, &names).await?;
    let items = names.iter().filter_map(|name| peers.remove(name)).collect();
    let total = page.total;
    let page = Page { items, total };
    let page = page.map(|peer| PeerBody::of(peer, &workspace.name));
    Ok(Body::of(page, paging).into_response())
}

async fn member_config(State(app): State<App>, call: Call) -> Result<Json<MemberConfigBody>, Error> {
    let workspace = app.workspace(&call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    let config = app.table.member_config(&session, &call.peer()?).await?;
    Ok(Json(config.into()))
}

async fn set_member_config(State(app): State<App>, call: Call) -> Result<StatusCode, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let config = member(&body.required(&mut problems), &mut problems);
    problems.finish(Some(()))?;
    let workspace = app.workspace(&call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    app.table
        .set_member_config(&workspace.uid, &session, &call.peer()?, config, app.now())
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
