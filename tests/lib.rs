//! What Reverie's test targets share: the contracts that every adapter is held to, and the making of what a test runs.
//!
//! `it/` is everything that runs in one process; `emulator/` runs the real functions on an emulator of AWS.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

pub mod contract;
pub mod make;
