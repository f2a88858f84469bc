//! The `reverie` program's parts: Reverie's handlers in one process, on embedded storage and a durable local queue.

pub mod api;
pub mod check_model;
pub mod cli;
pub mod data_dir;
pub mod embedded;
pub mod handlers;
pub mod import;
pub mod models;
pub mod queue;
pub mod runtime;
pub mod worker;
