//! What an observer believes of a peer, as text: representation and context.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use reverie_aws::table::conclusions::Window;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{Conclusion, Level};
use reverie_core::filter::session_allowlist;
use reverie_core::id::{PeerName, RepresentationId, SessionName};

use super::peers::target;
use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::filter;
use crate::markdown::{Mix, missing_sources, render};
use crate::validate::{Node, Problems};
use crate::wire::{PeerContextBody, RepresentationBody, card_texts};

/// Conclusions shown unless asked otherwise.
const DEFAULT_CONCLUSIONS: usize = 25;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(
            "/v3/workspaces/{workspace_id}/peers/{peer_id}/representation",
            post(representation),
        )
        .route("/v3/workspaces/{workspace_id}/peers/{peer_id}/context", get(context))
}

/// How a representation is to be made.
#[derive(Debug)]
pub(super) struct Recall {
    query: Option<String>,
    max_distance: Option<f64>,
    mix: Mix,
}

impl Recall {
    /// Reads the options from a body or a query.
    pub(super) fn read(node: &Node, problems: &mut Problems, most_frequent: bool) -> Self {
        let query = node.at("search_query").given();
        let query = query.and_then(|node| node.text(problems, 0, usize::MAX));
        let top_k = node.at("search_top_k").given();
        let top_k = top_k.and_then(|node| node.count(problems, 100));
        let max_distance = node.at("search_max_distance").given();
        let frequent = node.at("include_most_frequent").given();
        let max = node.at("max_conclusions").given();
        // A blank query searches for nothing.
        let query = query.filter(|query| !query.trim().is_empty());
        Self {
            max_distance: max_distance.and_then(|node| node.share(problems)),
            mix: Mix {
                max: max
                    .and_then(|node| node.count(problems, 100))
                    .unwrap_or(DEFAULT_CONCLUSIONS),
                most_frequent: frequent.and_then(|node| node.flag(problems)).unwrap_or(most_frequent),
                searching: query.is_some(),
                top_k,
            },
            query,
        }
    }

    /// The representation's text. Inside some sessions only what was said there is recalled: what was concluded over
    /// several sessions cannot be shown to lie inside them.
    pub(super) async fn text(
        &self,
        app: &App,
        representation: &RepresentationId,
        sessions: Option<&BTreeSet<SessionName>>,
    ) -> Result<String, Error> {
        let within = |conclusion: &Conclusion| {
            sessions.is_none_or(|sessions| {
                conclusion.level == Level::Explicit
                    && conclusion
                        .session
                        .as_ref()
                        .is_some_and(|said| sessions.contains(&said.name))
            })
        };
        let everything = sessions.is_some() || self.mix.derived() > 0;
        let window = Window {
            newest_first: true,
            limit: if everything { usize::MAX } else { self.mix.max },
        };
        let mut recent = app.table.conclusions(representation, window).await?;
        recent.retain(within);
        let mut nearest = Vec::new();
        if let Some(query) = &self.query {
            // The sessions' share of the nearest is not known before they are all at hand.
            let top_k = if sessions.is_some() {
                usize::MAX
            } else {
                self.mix.nearest()
            };
            nearest = app
                .engine
                .query_conclusions(representation, query, top_k, distance(self.max_distance))
                .await?;
            nearest.retain(within);
        }
        let shown = self.mix.choose(&recent, &nearest);
        let sources = app.table.conclusions_by_id(&missing_sources(&shown)).await?;
        Ok(render(&shown, &sources))
    }
}

/// A distance as the engine has it.
pub(crate) fn distance(share: Option<f64>) -> Option<f32> {
    #[allow(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
    share.map(|share| share as f32)
}

async fn representation(State(app): State<App>, call: Call) -> Result<Json<RepresentationBody>, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let body = body.required(&mut problems);
    let recall = Recall::read(&body, &mut problems, false);
    let filters = filter::read(&body, &mut problems);
    let text = |key, problems: &mut Problems| {
        let node = body.at(key).given();
        node.and_then(|node| node.text(problems, 0, usize::MAX))
    };
    let target = text("target", &mut problems);
    let session = text("session_id", &mut problems);
    if let Some(scope) = body.at("scope").given() {
        scope.refuse(&mut problems, "scopes are not offered");
    }
    problems.finish(Some(()))?;
    let allowed = match filters {
        Some(filters) => Some(session_allowlist(filters, session.as_deref())?),
        None => None,
    };
    let workspace = app.workspace(&call).await?;
    // Nothing is believed of or by somebody unknown: an empty text, as the contract wants it.
    let observer = call.peer().ok();
    let observed = match target {
        Some(target) => PeerName::parse(&target).ok(),
        None => observer.clone(),
    };
    let session = session.map(|session| SessionName::parse(&session)).transpose();
    let text = match (observer, observed, session) {
        (Some(observer), Some(observed), Ok(session)) => {
            let representation = RepresentationId::of(&workspace.uid, &observer, &observed);
            // The one session is among those of the filter: it alone is recalled.
            let sessions = session.map(|session| BTreeSet::from([session])).or(allowed);
            recall.text(&app, &representation, sessions.as_ref()).await?
        }
        _ => String::new(),
    };
    Ok(Json(RepresentationBody { representation: text }))
}

async fn context(State(app): State<App>, call: Call) -> Result<Json<PeerContextBody>, Error> {
    let mut problems = Problems::default();
    let recall = Recall::read(&call.query(), &mut problems, true);
    problems.finish(Some(()))?;
    let (workspace, observer, observed) = pair(&app, &call).await?;
    let representation = RepresentationId::of(&workspace.uid, &observer, &observed);
    let text = recall.text(&app, &representation, None).await?;
    let card = app.table.card(&representation).await?;
    Ok(Json(PeerContextBody {
        peer_id: observer,
        target_id: observed,
        representation: text,
        peer_card: card.map(|card| card_texts(card.entries)),
    }))
}

/// The peer that the path names and the target that the query names, both known.
async fn pair(app: &App, call: &Call) -> Result<(Workspace, PeerName, PeerName), Error> {
    let workspace = app.workspace(call).await?;
    let observer = app.peer(&workspace, &call.peer()?).await?.name;
    let observed = target(call, &observer, &workspace)?;
    let observed = app.peer(&workspace, &observed).await?.name;
    Ok((workspace, observer, observed))
}
