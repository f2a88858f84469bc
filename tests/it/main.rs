//! Reverie, tested from outside: one binary, one module per behaviour.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod calls;
mod crash;
mod embedded;
mod queue_contract;
mod rig;
mod weather;
