//! Reverie on an emulator of AWS: its adapters on the services' wire, and the real functions of the real template.
//!
//! The emulator (ministack) and what deploys (SAM CLI) are installed into the target folder, pinned. Where the emulator
//! does otherwise than AWS, the place in the code says so.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cases;
mod deployment;
mod emulator;
mod end_to_end;
mod queue_contract;
mod table_contract;
mod template;
