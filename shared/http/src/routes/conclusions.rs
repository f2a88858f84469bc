//! Conclusions: create, list, query, get, delete.

use std::collections::{BTreeMap, HashMap};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::SessionRef;
use reverie_core::filter::{Column, Filter, Schema};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, SessionName};
use reverie_core::text::estimate_tokens;
use reverie_engine::NewConclusion;

use super::representation::distance;
use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::filter;
use crate::filter::rows::{ConclusionRow, Pair, SHARED};
use crate::page::{Body, paging};
use crate::validate::{Node, Problems};
use crate::wire::ConclusionBody;

mod listing;

/// The most conclusions of one POST.
const MAX_CONCLUSIONS: usize = 100;
/// The most characters of a conclusion.
const MAX_CONTENT: usize = 65_535;
/// The most tokens of a conclusion.
const MAX_TOKENS: u32 = 8_192;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v3/workspaces/{workspace_id}/conclusions", post(create))
        .route("/v3/workspaces/{workspace_id}/conclusions/list", post(list))
        .route("/v3/workspaces/{workspace_id}/conclusions/query", post(query))
        .route(
            "/v3/workspaces/{workspace_id}/conclusions/{conclusion_id}",
            get(one).delete(remove),
        )
}

/// A conclusion as it is sent: names not yet known to exist.
#[derive(Debug)]
struct Stated {
    content: String,
    observer: String,
    observed: String,
    session: Option<String>,
}

fn stated(node: &Node, problems: &mut Problems) -> Option<Stated> {
    let place = node.at("content");
    let content = place.text(problems, 1, MAX_CONTENT);
    if content
        .as_deref()
        .is_some_and(|text| estimate_tokens(text) > MAX_TOKENS)
    {
        place.refuse(problems, &format!("content has more than {MAX_TOKENS} tokens"));
    }
    let observer = node.at("observer_id").text(problems, 0, usize::MAX);
    let observed = node.at("observed_id").text(problems, 0, usize::MAX);
    let session = node.at("session_id").given();
    let session = session.and_then(|node| node.text(problems, 0, usize::MAX));
    Some(Stated {
        content: content?,
        observer: observer?,
        observed: observed?,
        session,
    })
}

async fn create(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let read = body.required(&mut problems);
    let list = read.either("conclusions", "observations");
    let nodes = list.list(&mut problems, 1, MAX_CONCLUSIONS);
    // All of them are read before the first that is wrong ends it: the answer names every problem.
    let stated: Vec<Option<_>> = nodes
        .into_iter()
        .map(|node| {
            node.fields(&mut problems)
                .then(|| stated(&node, &mut problems))
                .flatten()
        })
        .collect();
    let stated = stated.into_iter().collect::<Option<Vec<_>>>();
    let request = call.keyed(&mut problems, &["conclusions"], &body);
    let stated = problems.finish(stated)?;
    let workspace = app.workspace(&call).await?;
    let known = Known::of(&app, &workspace, &stated).await?;
    let new = stated
        .into_iter()
        .map(|stated| {
            Ok(NewConclusion {
                observer: known.peer(&stated.observer, &workspace)?,
                observed: known.peer(&stated.observed, &workspace)?,
                content: stated.content,
                session: match stated.session {
                    Some(name) => Some(known.session(&name, &workspace)?),
                    None => None,
                },
            })
        })
        .collect::<Result<_, Error>>()?;
    let found = app.engine.create_conclusions(&workspace, new, request.as_ref()).await?;
    let bodies: Vec<_> = found
        .into_iter()
        .map(|found| ConclusionBody::of(found.conclusion, &found.observer, &found.observed))
        .collect();
    Ok((StatusCode::CREATED, Json(bodies)).into_response())
}

/// The peers and sessions that stated conclusions name, as far as they exist.
struct Known {
    peers: HashMap<PeerName, reverie_aws::table::peers::Peer>,
    sessions: BTreeMap<SessionName, SessionRef>,
}

impl Known {
    async fn of(app: &App, workspace: &Workspace, stated: &[Stated]) -> Result<Self, Error> {
        let names = stated.iter().flat_map(|stated| [&stated.observer, &stated.observed]);
        let names: Vec<_> = names.filter_map(|name| PeerName::parse(name).ok()).collect();
        let peers = app.table.find_peers(&workspace.uid, &names).await?;
        let mut sessions = BTreeMap::new();
        for name in stated.iter().filter_map(|stated| stated.session.as_deref()) {
            let Ok(name) = SessionName::parse(name) else { continue };
            if !sessions.contains_key(&name) {
                let uid = app.session(workspace, &name).await?.uid;
                sessions.insert(name.clone(), SessionRef { uid, name });
            }
        }
        Ok(Self { peers, sessions })
    }

    fn peer(&self, name: &str, workspace: &Workspace) -> Result<PeerName, Error> {
        let known = PeerName::parse(name).ok().filter(|name| self.peers.contains_key(name));
        known.ok_or_else(|| Error::no_peer(name, workspace.name.as_str()))
    }

    fn session(&self, name: &str, workspace: &Workspace) -> Result<SessionRef, Error> {
        let known = SessionName::parse(name)
            .ok()
            .and_then(|name| self.sessions.get(&name).cloned());
        known.ok_or_else(|| Error::no_session(name, workspace.name.as_str()))
    }
}

async fn list(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let filters = filter::read(&body.optional(&mut problems), &mut problems);
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let filter = filter::parse(filters, &Schema::CONCLUSION)?;
    let workspace = app.workspace(&call).await?;
    let page = listing::page(&app, &workspace, &filter, paging).await?;
    Ok(Body::of(page, paging).into_response())
}

/// The only value that a column may have, if there is one.
fn single(filter: &Filter, column: Column) -> Option<String> {
    let values = filter.values_of(column)?;
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.to_owned()),
        _ => None,
    }
}

async fn query(State(app): State<App>, call: Call) -> Result<Json<Vec<ConclusionBody>>, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let body = body.required(&mut problems);
    let text = body.at("query").text(&mut problems, 0, usize::MAX);
    let top_k = body.at("top_k").given();
    let top_k = top_k.map_or(Some(10), |node| node.count(&mut problems, 100));
    let far = body.at("distance").given();
    let far = far.and_then(|node| node.share(&mut problems));
    let filters = filter::read(&body, &mut problems);
    let (text, top_k) = problems.finish(text.zip(top_k))?;
    let filter = filter::parse(filters, &Schema::CONCLUSION)?;
    let pair = single(&filter, Column::Observer).zip(single(&filter, Column::Observed));
    let (observer, observed) =
        pair.ok_or_else(|| Error::unprocessable("filters must name one observer and one observed peer"))?;
    let workspace = app.workspace(&call).await?;
    let (Ok(observer), Ok(observed)) = (PeerName::parse(&observer), PeerName::parse(&observed)) else {
        return Ok(Json(Vec::new()));
    };
    let pair = Pair {
        workspace: &workspace.name,
        observer: &observer,
        observed: &observed,
    };
    let representation = RepresentationId::of(&workspace.uid, &observer, &observed);
    // What else is wanted is looked at after the search, which then must go on to the end.
    let reach = if filter.tests_only(SHARED) { top_k } else { usize::MAX };
    let nearest = app
        .engine
        .query_conclusions(&representation, &text, reach, distance(far))
        .await?;
    let bodies = nearest
        .into_iter()
        .filter(|conclusion| filter.matches(&ConclusionRow(conclusion, pair)))
        .take(top_k)
        .map(|conclusion| ConclusionBody::of(conclusion, &observer, &observed))
        .collect();
    Ok(Json(bodies))
}

fn none(id: &str, workspace: &Workspace) -> Error {
    let detail = format!(
        "Document {id} not found or does not belong to workspace {}",
        workspace.name
    );
    Error::not_found(detail)
}

async fn one(State(app): State<App>, call: Call) -> Result<Json<ConclusionBody>, Error> {
    let workspace = app.workspace(&call).await?;
    let text = call.text("conclusion_id");
    let id = ConclusionId::parse(text).ok_or_else(|| none(text, &workspace))?;
    let found = app.engine.conclusion(&workspace, &id).await?;
    let found = found.ok_or_else(|| none(text, &workspace))?;
    Ok(Json(ConclusionBody::of(
        found.conclusion,
        &found.observer,
        &found.observed,
    )))
}

async fn remove(State(app): State<App>, call: Call) -> Result<StatusCode, Error> {
    let workspace = app.workspace(&call).await?;
    let text = call.text("conclusion_id");
    let id = ConclusionId::parse(text).ok_or_else(|| none(text, &workspace))?;
    if app.engine.delete_conclusion(&workspace, &id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(none(text, &workspace))
    }
}
