//! What is said to a model and what it answers, the same for every provider.
//!
//! [`Message`] and what it holds are stored in the checkpoints of runs: a field or variant once written stays readable.

use reverie_core::run::Usage;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One call of a model. Which model answers, and how hot, is the client's, not the request's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The instructions, in order. Never message text of users.
    pub system: Vec<SystemBlock>,
    /// The conversation; the last message is the user's.
    pub messages: Vec<Message>,
    /// Whether the conversation so far is worth caching, since another turn will follow. No cost where the provider
    /// caches by itself.
    pub cache_messages: bool,
    /// The tools that may be called. Keep them in all turns, with [`ToolChoice::None`] in the last: leaving them out
    /// would read nothing from the cache, and some providers refuse a conversation that holds calls without them.
    pub tools: Vec<Tool>,
    /// Whether and which.
    pub tool_choice: ToolChoice,
    /// The shape that the answer's text must have; see [`Response::json`].
    pub output: Option<OutputSchema>,
    /// The most tokens that may be written, thinking included.
    pub max_output_tokens: u32,
    /// How much to think; `None` leaves it to the model, and is the only choice that every model takes.
    pub effort: Option<Effort>,
}

impl Request {
    /// A request of one user message.
    pub fn new(system: impl Into<String>, user: impl Into<String>, max_output_tokens: u32) -> Self {
        Self {
            system: vec![SystemBlock::new(system)],
            messages: vec![Message::user(user)],
            max_output_tokens,
            ..Self::default()
        }
    }
}

/// A part of the instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemBlock {
    /// The text.
    pub text: String,
    /// Whether everything up to the end of this block (tools come before it) is the same in many calls and is to be
    /// cached. Providers keep it for minutes; at most two blocks should say so.
    pub cache: bool,
}

impl SystemBlock {
    /// A block that is not cached.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            cache: false,
        }
    }

    /// A block that is the same in many calls.
    pub fn cached(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            cache: true,
        }
    }
}

/// How much a model should think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as possible.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Effort {
    /// The word that both dialects use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Us: questions, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One turn of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Whose.
    pub role: Role,
    /// What, in order.
    pub content: Vec<Content>,
}

impl Message {
    /// A user's message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: vec![Content::text(text)],
        }
    }

    /// The results of all tools that the message before called: providers want them in one message, and want them all.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self {
            role: Role::User,
            content: results.into_iter().map(Content::ToolResult).collect(),
        }
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// The model calls a tool.
    ToolUse(ToolUse),
    /// What a tool gave.
    ToolResult(ToolResult),
    /// Something that only the model that said it understands (its thinking, signed). It is sent back to that model
    /// as it came, and left out for any other.
    Opaque {
        /// The model's id.
        model: String,
        /// The block as it came.
        block: Value,
    },
}

impl Content {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The call's id, which its result names.
    pub id: String,
    /// The tool's name, as the model gave it: it may be none of ours.
    pub name: String,
    /// The arguments.
    pub input: ToolInput,
}

impl ToolUse {
    /// The arguments as `T`. The error is a sentence for the model, so that it can mend its call.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, String> {
        match &self.input {
            ToolInput::Object(map) => T::deserialize(Value::Object(map.clone()))
                .map_err(|error| format!("the arguments of {} are not as its schema says: {error}", self.name)),
            ToolInput::Malformed(_) => Err(format!(
                "the arguments of {} are not a JSON object; call it again with valid JSON",
                self.name
            )),
        }
    }

    /// The result of this call.
    pub fn result(&self, content: impl Into<String>) -> ToolResult {
        ToolResult {
            id: self.id.clone(),
            content: content.into(),
            is_error: false,
        }
    }

    /// The answer to a call that could not be carried out, and why.
    pub fn error(&self, content: impl Into<String>) -> ToolResult {
        ToolResult {
            is_error: true,
            ..self.result(content)
        }
    }
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolInput {
    /// As they should be.
    Object(Map<String, Value>),
    /// What the model wrote instead of a JSON object.
    Malformed(String),
}

impl ToolInput {
    /// Reads what a model wrote; nothing at all is an empty object.
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        serde_json::from_str(text).map_or_else(|_| Self::Malformed(text.to_owned()), Self::Object)
    }

    /// The object to show the model when its call is sent back: providers refuse, and templates break on, anything
    /// but an object.
    pub fn as_object(&self) -> Map<String, Value> {
        match self {
            Self::Object(map) => map.clone(),
            Self::Malformed(text) => Map::from_iter([("malformed_arguments".to_owned(), Value::from(text.as_str()))]),
        }
    }
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// What the model is to read; not empty.
    pub content: String,
    /// Whether the call could not be carried out.
    #[serde(default)]
    pub is_error: bool,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name: `[a-zA-Z0-9_-]`, at most 64 characters.
    pub name: String,
    /// What it does, when to use it.
    pub description: String,
    /// The JSON schema of its arguments, an object's.
    pub schema: Value,
}

/// Whether tools may or must be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// At least one must be called.
    Any,
    /// This one must be called.
    Tool(String),
    /// None may be called.
    None,
}

/// The shape of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSchema {
    /// A name for it: `[a-zA-Z0-9_-]`, at most 64 characters.
    pub name: String,
    /// The JSON schema. For the strict forms that providers enforce: objects with `additionalProperties: false` and
    /// every property required.
    pub schema: Value,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The model that answered, by the id that it was configured with: prices are looked up by it.
    pub model: String,
    /// What it said, in order.
    pub content: Vec<Content>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
}

impl Response {
    /// All of its text.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tools that it calls, in order; every one of them must be answered.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|content| match content {
            Content::ToolUse(call) => Some(call),
            _ => None,
        })
    }

    /// The message to go on with: everything as it came, thinking included.
    pub fn message(&self) -> Message {
        Message {
            role: Role::Assistant,
            content: self.content.clone(),
        }
    }

    /// The text as the JSON that [`Request::output`] asked for. Servers that do not enforce a schema often put a code
    /// fence around it, which is taken off. The error may quote the text: it is for the model, not for a log.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(unfenced(&self.text()))
    }
}

/// The text without a code fence around all of it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    inner.map_or(text, |(_, inner)| inner.trim())
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it had to say.
    EndTurn,
    /// It waits for the results of tools.
    ToolUse,
    /// [`Request::max_output_tokens`]: the answer is cut off, and a call at its end may be malformed.
    MaxTokens,
    /// The model's context is full: the answer is cut off.
    ContextFull,
    /// It refuses, or a filter does.
    Refusal,
    /// Something else, by the provider's word.
    Other(String),
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(text: &str) -> Response {
        Response {
            model: "m".to_owned(),
            content: vec![Content::text(text)],
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        }
    }

    #[test]
    fn json_is_read_with_and_without_a_fence() {
        for text in [
            "{\"a\":1}",
            " \n{\"a\":1}\n",
            "```json\n{\"a\":1}\n```",
            "```\n{\"a\":1}```\n",
        ] {
            assert_eq!(response(text).json::<Value>().unwrap(), json!({"a": 1}), "{text:?}");
        }
        for text in ["", "```", "```json\n```", "here: {\"a\":1}"] {
            assert!(response(text).json::<Value>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_answered_so_that_the_model_can_mend_them() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Arguments {
            ids: Vec<String>,
        }
        let call = |text: &str| ToolUse {
            id: "c1".to_owned(),
            name: "remove".to_owned(),
            input: ToolInput::parse(text),
        };
        assert_eq!(
            call(r#"{"ids":["x"]}"#).arguments(),
            Ok(Arguments {
                ids: vec!["x".to_owned()]
            })
        );
        for (text, part) in [
            ("{\"ids\": [", "not a JSON object"),
            ("[1]", "not a JSON object"),
            ("\"x\"", "not a JSON object"),
            ("", "missing field `ids`"),
            ("{\"ids\":3}", "not as its schema says"),
        ] {
            let error = call(text).arguments::<Arguments>().unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn messages_are_stored_and_read_back_as_they_were() {
        let calls = [r#"{"ids":["x"]}"#, "{broken"].map(|text| {
            Content::ToolUse(ToolUse {
                id: "c1".to_owned(),
                name: "remove".to_owned(),
                input: ToolInput::parse(text),
            })
        });
        let mut content = vec![
            Content::text("Let me see."),
            Content::Opaque {
                model: "m".to_owned(),
                block: json!({"type": "thinking", "thinking": "", "signature": "s"}),
            },
            Content::ToolResult(ToolResult {
                id: "c0".to_owned(),
                content: "none".to_owned(),
                is_error: true,
            }),
        ];
        content.extend(calls);
        let message = Message {
            role: Role::Assistant,
            content,
        };
        let stored = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message, "{stored}");
    }
}
