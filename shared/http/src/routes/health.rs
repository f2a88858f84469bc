//! `GET /health`: the process answers.

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/health", get(health))
}

async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}
