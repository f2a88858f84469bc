//! Reverie, tested from outside: one binary, one module per behaviour.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::large_futures,
    reason = "tests await whole dreams, and nothing waits for them"
)]

mod agents;
mod bounds;
mod checklist;
mod costs;
mod crash;
mod documentation;
mod embedded;
mod erasure;
mod history;
mod http;
mod ingest;
mod large;
mod models;
mod queue_contract;
mod reconciler;
mod reports;
mod rig;
mod sdk;
mod slices;
mod stated;
mod weather;
