//! Reverie's domain: types, settings, the dreaming machine, the toolbox, the offline reasoner and the ports.
//!
//! Nothing here knows AWS or HTTP, and nothing takes the time by itself: time and fresh ids are passed in.

pub mod cause;
pub mod conclusion;
pub mod config;
pub mod dreaming;
pub mod filter;
pub mod id;
pub mod message;
pub mod offline;
pub mod ports;
pub mod reasoner;
pub mod run;
pub mod settings;
pub mod summary;
pub mod text;
pub mod time;
pub mod toolbox;
pub mod undo;
