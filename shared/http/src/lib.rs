//! Reverie over HTTP: one router that speaks the Honcho dialect under `/v3`.

use axum::Router;

mod app;
mod call;
mod error;
mod filter;
mod given;
mod markdown;
mod page;
mod routes;
mod run;
mod validate;
mod wire;

pub use app::App;

/// The router: every route, and the contract's answers to unknown ones.
pub fn router(state: App) -> Router {
    routes::all().with_state(state)
}
