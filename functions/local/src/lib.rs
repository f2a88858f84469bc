//! The `reverie` program's parts: Reverie's handlers in one process, on embedded storage and a durable local queue.

pub mod api;
pub mod embedded;
pub mod import;
pub mod queue;
pub mod system;
pub mod worker;
