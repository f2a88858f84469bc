//! Reverie over HTTP: one router that speaks the Honcho dialect under `/v3`.

use axum::Router;
use axum::body::HttpBody as _;
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;

use crate::error::Error;

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

/// The most bytes of an answer: Lambda lets 6 MB through, with the envelope around them.
const ANSWER_BYTES: u64 = 5_500_000;

/// The router: every route, and the contract's answers to unknown ones.
pub fn router(state: App) -> Router {
    routes::all().layer(map_response(bounded)).with_state(state)
}

/// Refuses an answer that Lambda would refuse with a 5xx, which SDKs would ask for again and again. What was created is
/// bounded before it is written.
async fn bounded(response: Response) -> Response {
    let bytes = response.body().size_hint().lower();
    if bytes <= ANSWER_BYTES || response.status() != StatusCode::OK {
        return response;
    }
    let detail = format!("The answer has {bytes} bytes, more than {ANSWER_BYTES}: ask for a smaller page");
    Error::refused(StatusCode::PAYLOAD_TOO_LARGE, detail).into_response()
}
