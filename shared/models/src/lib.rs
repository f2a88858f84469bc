//! Clients of language models and of embedding models, behind one small trait and the embedding port.
//!
//! What is said to a model is a [`Request`]; what it says is a [`Response`]; both mean the same with every provider.
//! [`ModelReasoner`] derives and dreams with them: see [`agents`].
//! [`ModelConfig`] says which models a deployment uses, [`Models`] are their clients.

pub mod agents;
pub mod config;
pub mod conversation;
pub mod error;
pub mod model;
pub mod pace;

mod anthropic;
mod aws;
mod bedrock;
mod embed;
mod endpoint;
mod fallback;
mod fault;
mod framing;
mod minds;
mod models;
mod openai;
mod reading;
mod secret;
mod wire;

pub use agents::ModelReasoner;
pub use aws::AwsAccess;
pub use config::{ModelConfig, ModelConfigError, ModelName, Provider, Task};
pub use conversation::{
    Content, Effort, Message, OutputSchema, Request, Response, Role, StopReason, SystemBlock, Tool, ToolChoice,
    ToolInput, ToolResult, ToolUse,
};
pub use endpoint::Limits;
pub use error::{ModelError, Origin, PermanentFault, TransientFault};
pub use minds::{Minds, MindsError};
pub use model::{LanguageModel, ResponseStream, StreamEvent};
pub use models::Models;
pub use pace::{Pace, SystemPace};
