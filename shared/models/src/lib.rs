//! Clients of language models and of embedding models, behind one small trait and the embedding port.
//!
//! What is said to a model is a [`Request`]; what it says is a [`Response`]; both mean the same with every provider.

pub mod conversation;
pub mod error;
pub mod model;

pub use conversation::{
    Content, Effort, Message, OutputSchema, Request, Response, Role, StopReason, SystemBlock, Tool, ToolChoice,
    ToolInput, ToolResult, ToolUse,
};
pub use error::{ModelError, Origin, PermanentFault, TransientFault};
pub use model::{LanguageModel, ResponseStream, StreamEvent};
