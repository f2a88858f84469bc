//! Peers: get or create, list, update, their sessions, their cards.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use http::StatusCode;
use reverie_aws::table::peers::Peer;
use reverie_aws::table::sessions::Session;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::CardEntry;
use reverie_core::filter::Schema;
use reverie_core::id::{PeerName, RepresentationId, WorkspaceName};

use super::workspaces::created;
use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::filter;
use crate::filter::rows::{PeerRow, SessionRow};
use crate::given::{Level, given};
use crate::page::{Body, paging};
use crate::validate::Problems;
use crate::wire::{CardBody, PeerBody, SessionBody};

/// The most bytes of a card's texts: what fits into an item with much to spare.
const MAX_CARD: usize = 100 * 1024;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v3/workspaces/{workspace_id}/peers", post(get_or_create))
        .route("/v3/workspaces/{workspace_id}/peers/list", post(list))
        .route("/v3/workspaces/{workspace_id}/peers/{peer_id}", put(update))
        .route("/v3/workspaces/{workspace_id}/peers/{peer_id}/sessions", post(sessions))
        .route(
            "/v3/workspaces/{workspace_id}/peers/{peer_id}/card",
            get(card).put(set_card),
        )
}

async fn get_or_create(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let body = call.body();
    let body = body.required(&mut problems);
    let name = body.either("id", "name").name(&mut problems, PeerName::parse);
    let given = given(&body, &mut problems, Level::Peer);
    let (workspace, name) = problems.finish(workspace.zip(name))?;
    given.check_size()?;
    let workspace = app.ensure_workspace(&workspace).await?;
    let (peer, new) = app
        .table
        .get_or_create_peer(&workspace.uid, &name, given, app.now())
        .await?;
    Ok((created(new), Json(PeerBody::of(peer, &workspace.name))).into_response())
}

async fn list(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let body = body.optional(&mut problems);
    let filters = filter::read(&body, &mut problems);
    let kind = body.at("kind").given();
    let kind = kind.and_then(|kind| kind.one_of(&mut problems, &["scope", "all"]));
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let filter = filter::parse(filters, &Schema::PEER)?;
    let workspace = app.workspace(&call).await?;
    let wanted = |peer: &Peer| filter.matches(&PeerRow(peer, &workspace.name));
    let choice = filter::choice(&filter, Some(&workspace.name), &wanted);
    let page = match kind {
        // There are no scopes yet.
        Some("scope") => paging.of(Vec::new()),
        _ => app.table.peers(&workspace.uid, paging, choice.as_ref()).await?,
    };
    let page = page.map(|peer| PeerBody::of(peer, &workspace.name));
    Ok(Body::of(page, paging).into_response())
}

async fn update(State(app): State<App>, call: Call) -> Result<Json<PeerBody>, Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let name = call.new_name(&mut problems, "peer_id", PeerName::parse);
    let body = call.body();
    let given = given(&body.required(&mut problems), &mut problems, Level::Peer);
    let (workspace, name) = problems.finish(workspace.zip(name))?;
    given.check_size()?;
    let workspace = app.ensure_workspace(&workspace).await?;
    let peer = app.table.update_peer(&workspace.uid, &name, given, app.now()).await?;
    Ok(Json(PeerBody::of(peer, &workspace.name)))
}

async fn sessions(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let filters = filter::read(&body.optional(&mut problems), &mut problems);
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let filter = filter::parse(filters, &Schema::SESSION)?;
    let workspace = app.workspace(&call).await?;
    let peer = app.peer(&workspace, &call.peer()?).await?;
    let wanted = |session: &Session| filter.matches(&SessionRow(session, &workspace.name));
    let choice = filter::choice(&filter, Some(&workspace.name), &wanted);
    let page = app
        .table
        .sessions_of_peer(&workspace.uid, &peer.name, paging, choice.as_ref())
        .await?;
    Ok(Body::of(SessionBody::page(page, &workspace.name), paging).into_response())
}

/// The peer that `target` in the query names, else `peer` itself. A bad name names nobody.
pub(crate) fn target(call: &Call, peer: &PeerName, workspace: &Workspace) -> Result<PeerName, Error> {
    let mut problems = Problems::default();
    let Some(node) = call.query().at("target").given() else {
        return Ok(peer.clone());
    };
    let text = node.text(&mut problems, 0, usize::MAX).unwrap_or_default();
    PeerName::parse(&text).map_err(|_| Error::no_peer(&text, workspace.name.as_str()))
}

async fn card(State(app): State<App>, call: Call) -> Result<Json<CardBody>, Error> {
    let workspace = app.workspace(&call).await?;
    let observer = app.peer(&workspace, &call.peer()?).await?.name;
    let observed = target(&call, &observer, &workspace)?;
    let representation = RepresentationId::of(&workspace.uid, &observer, &observed);
    let card = app.table.card(&representation).await?;
    Ok(Json(CardBody::of(card.map(|card| card.entries))))
}

async fn set_card(State(app): State<App>, call: Call) -> Result<Json<CardBody>, Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let observer = call.new_name(&mut problems, "peer_id", PeerName::parse);
    let observed = call.query().at("target").given().map_or_else(
        || observer.clone(),
        |target| target.name(&mut problems, PeerName::parse),
    );
    let body = call.body();
    let body = body.required(&mut problems);
    let mut entries = Vec::new();
    for text in body.at("peer_card").list(&mut problems, 0, usize::MAX) {
        if let Some(text) = text.text(&mut problems, 0, usize::MAX) {
            let conclusions = Vec::new();
            entries.push(CardEntry { text, conclusions });
        }
    }
    let ((workspace, observer), observed) = problems.finish(workspace.zip(observer).zip(observed))?;
    if entries.iter().map(|entry| entry.text.len() + 16).sum::<usize>() > MAX_CARD {
        let detail = format!("The peer card is larger than {MAX_CARD} bytes");
        return Err(Error::refused(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    let workspace = app.ensure_workspace(&workspace).await?;
    let now = app.now();
    app.table.ensure_peers(&workspace.uid, [&observer], now).await?;
    let representation = app
        .table
        .ensure_representation(&workspace, &observer, &observed, now)
        .await?;
    if !app.table.set_card(&workspace, &representation.id, &entries).await? {
        return Err(Error::no_workspace(workspace.name.as_str()));
    }
    Ok(Json(CardBody::of(Some(entries))))
}
