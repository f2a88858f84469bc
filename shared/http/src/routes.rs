//! The routes, by resource.

use axum::Router;
use http::StatusCode;

use crate::app::App;
use crate::error::Error;

mod conclusions;
mod context;
mod dreams;
mod health;
mod messages;
mod peers;
mod queue;
mod representation;
mod sessions;
mod workspaces;

pub(crate) fn all() -> Router<App> {
    Router::new()
        .merge(health::routes())
        .merge(workspaces::routes())
        .merge(peers::routes())
        .merge(representation::routes())
        .merge(sessions::routes())
        .merge(context::routes())
        .merge(messages::routes())
        .merge(conclusions::routes())
        .merge(dreams::routes())
        .merge(queue::routes())
        .fallback(async || Error::not_found("Not Found"))
        .method_not_allowed_fallback(async || Error::refused(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"))
}
