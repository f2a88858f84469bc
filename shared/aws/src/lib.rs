//! Reverie's adapters to AWS: the single DynamoDB table, the FIFO queues, the one-off schedules, and what a function
//! on Lambda starts with.

pub mod system;
pub mod table;

#[cfg(feature = "lambda")]
pub mod client;
#[cfg(feature = "lambda")]
pub mod delivery;
#[cfg(feature = "lambda")]
pub mod deployment;
#[cfg(feature = "log")]
pub mod log;
#[cfg(feature = "queues")]
pub mod queues;
#[cfg(feature = "queues")]
pub mod schedules;
