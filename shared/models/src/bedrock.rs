//! Anthropic's models on Bedrock: InvokeModel takes the Messages body, so that there is one dialect to keep right.
//!
//! Other models of Bedrock are reached over its OpenAI-compatible address, as provider `openai`.

use serde_json::{Value, json};

use crate::anthropic::{self, Parts};
use crate::conversation::{Request, Response};
use crate::endpoint::{Call, Misread};
use crate::framing::Framing;
use crate::wire::{Collector, Manner, Wire};

/// The version of the dialect; every Anthropic model of Bedrock takes it.
const VERSION: &str = "bedrock-2023-05-31";

/// An Anthropic model behind `bedrock-runtime`.
pub(crate) struct Bedrock {
    /// A model's id, an inference profile's, or the ARN of either.
    pub(crate) model: String,
    pub(crate) temperature: Option<f64>,
}

impl Wire for Bedrock {
    fn call(&self, request: &Request, manner: Manner, stream: bool) -> Call {
        let mut body = anthropic::body(&self.model, self.temperature, request, manner);
        body.insert("anthropic_version".to_owned(), json!(VERSION));
        let operation = if stream {
            "invoke-with-response-stream"
        } else {
            "invoke"
        };
        Call::json(path(&self.model, operation), Value::Object(body))
    }

    fn read(&self, answer: &Value) -> Result<Response, Misread> {
        anthropic::read(&self.model, answer)
    }

    fn framing(&self) -> Framing {
        Framing::Amazon
    }

    fn collector(&self) -> Box<dyn Collector> {
        Box::<Parts>::default()
    }
}

/// The path of an operation on a model, whose id may have colons and slashes.
pub(crate) fn path(model: &str, operation: &str) -> String {
    use std::fmt::Write as _;
    let mut path = "/model/".to_owned();
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path.push('/');
    path.push_str(operation);
    path
}
