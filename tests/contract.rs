//! Contracts: cases that are written once and hold for every adapter.

pub mod queue;
pub mod table;
