//! Anthropic's Messages: the body of a request and its answer, and the address that speaks it.
//!
//! Bedrock takes the same body under another address, see [`crate::bedrock`].

use reverie_core::run::Usage;
use serde_json::{Map, Value, json};

use crate::conversation::{Content, Message, Request, Response, Role, StopReason, ToolChoice, ToolInput, ToolUse};
use crate::endpoint::{Call, Misread};
use crate::framing::Framing;
use crate::wire::{Collector, Manner, Wire, schema_instruction};

/// The version of the dialect. The oldest that does all we need: gateways know it, and it still takes a temperature.
const VERSION: &str = "2023-06-01";

/// A model behind `/v1/messages`.
pub(crate) struct Anthropic {
    pub(crate) model: String,
    pub(crate) temperature: Option<f64>,
}

impl Wire for Anthropic {
    fn call(&self, request: &Request, manner: Manner, stream: bool) -> Call {
        let mut body = body(&self.model, self.temperature, request, manner);
        body.insert("model".to_owned(), json!(self.model));
        if stream {
            body.insert("stream".to_owned(), json!(true));
        }
        let mut call = Call::json("/v1/messages", Value::Object(body));
        call.headers.push(("anthropic-version", VERSION.to_owned()));
        call
    }

    fn read(&self, answer: &Value) -> Result<Response, Misread> {
        read(&self.model, answer)
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn collector(&self) -> Box<dyn Collector> {
        Box::<Parts>::default()
    }
}

/// The body of a request but for what names the model.
pub(crate) fn body(model: &str, temperature: Option<f64>, request: &Request, manner: Manner) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("max_tokens", json!(request.max_output_tokens));
    put("messages", messages(model, request));
    let system = system(request, manner);
    if !system.is_empty() {
        put("system", Value::Array(system));
    }
    if !request.tools.is_empty() {
        let tools = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}));
        put("tools", tools.collect());
        put("tool_choice", tool_choice(&request.tool_choice));
    }
    let mut output = Map::new();
    if let Some(effort) = request.effort {
        output.insert("effort".to_owned(), json!(effort.as_str()));
    }
    if let Some(shape) = request.output.as_ref().filter(|_| !manner.schema_as_text) {
        output.insert(
            "format".to_owned(),
            json!({"type": "json_schema", "schema": shape.schema}),
        );
    }
    if !output.is_empty() {
        put("output_config", Value::Object(output));
    }
    if let Some(temperature) = temperature {
        put("temperature", json!(temperature));
    }
    body
}

/// At most two blocks are marked for the cache: a request may have four marks, and the messages take two.
fn system(request: &Request, manner: Manner) -> Vec<Value> {
    let blocks: Vec<_> = request
        .system
        .iter()
        .filter(|block| !block.text.trim().is_empty())
        .collect();
    let marked = blocks.iter().filter(|block| block.cache).count();
    let mut seen = 0;
    let mut system: Vec<Value> = blocks
        .into_iter()
        .map(|block| {
            let mut value = json!({"type": "text", "text": block.text});
            seen += usize::from(block.cache);
            if block.cache && seen + 2 > marked {
                mark(&mut value);
            }
            value
        })
        .collect();
    if let Some(output) = request.output.as_ref().filter(|_| manner.schema_as_text) {
        system.push(json!({"type": "text", "text": schema_instruction(output)}));
    }
    system
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn messages(model: &str, request: &Request) -> Value {
    let mut messages: Vec<Value> = request
        .messages
        .iter()
        .filter_map(|message| {
            let content = content(model, message);
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            (!content.is_empty()).then(|| json!({"role": role, "content": content}))
        })
        .collect();
    if request.cache_messages {
        // The end of this turn, and that of the last, which was written to the cache then: with many calls of tools in
        // between, the provider would not look back far enough to find it by itself.
        let ends = messages
            .iter_mut()
            .rev()
            .filter(|message| message["role"] == "user")
            .take(2);
        for message in ends {
            if let Some(block) = message["content"].as_array_mut().and_then(|content| content.last_mut()) {
                mark(block);
            }
        }
    }
    Value::Array(messages)
}

fn content(model: &str, message: &Message) -> Vec<Value> {
    let blocks = message.content.iter().filter_map(|content| match content {
        Content::Text { text } => (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})),
        Content::ToolUse(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input.as_object()}))
        }
        Content::ToolResult(result) => {
            let mut value = json!({"type": "tool_result", "tool_use_id": result.id, "content": result.content});
            if result.is_error {
                value["is_error"] = json!(true);
            }
            Some(value)
        }
        Content::Opaque { model: whose, block } => (whose == model).then(|| block.clone()),
    });
    let mut blocks: Vec<Value> = blocks.collect();
    // The dialect wants the results of tools before everything else.
    blocks.sort_by_key(|block| block["type"] != "tool_result" && message.role == Role::User);
    blocks
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Any => json!({"type": "any"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
        ToolChoice::None => json!({"type": "none"}),
    }
}

/// Reads a whole answer.
pub(crate) fn read(model: &str, answer: &Value) -> Result<Response, Misread> {
    let blocks = answer["content"]
        .as_array()
        .ok_or(Misread("the answer has no content"))?;
    let content = blocks
        .iter()
        .map(|block| read_block(model, block))
        .collect::<Result<_, _>>()?;
    Ok(Response {
        model: model.to_owned(),
        content,
        stop: stop(answer["stop_reason"].as_str().unwrap_or_default()),
        usage: usage(&answer["usage"]),
    })
}

fn read_block(model: &str, block: &Value) -> Result<Content, Misread> {
    match block["type"]
        .as_str()
        .ok_or(Misread("a block of the answer has no type"))?
    {
        "text" => block["text"]
            .as_str()
            .map(Content::text)
            .ok_or(Misread("a text of the answer is none")),
        "tool_use" => {
            let (Some(id), Some(name)) = (block["id"].as_str(), block["name"].as_str()) else {
                return Err(Misread("a call of a tool has no id or no name"));
            };
            let input = match &block["input"] {
                Value::Object(map) => ToolInput::Object(map.clone()),
                // Pieced together from a stream, and not JSON.
                Value::String(text) => ToolInput::parse(text),
                other => ToolInput::Malformed(other.to_string()),
            };
            Ok(Content::ToolUse(ToolUse {
                id: id.to_owned(),
                name: name.to_owned(),
                input,
            }))
        }
        _ => Ok(Content::Opaque {
            model: model.to_owned(),
            block: block.clone(),
        }),
    }
}

fn stop(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextFull,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

fn usage(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
    Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_input_tokens: count("cache_read_input_tokens"),
        cache_creation_input_tokens: count("cache_creation_input_tokens"),
    }
}

/// The parts of a streamed answer.
#[derive(Default)]
pub(crate) struct Parts {
    /// The message as it began, kept up to date.
    message: Map<String, Value>,
    blocks: Vec<Value>,
    is_whole: bool,
}

impl Collector for Parts {
    fn take(&mut self, part: Value) -> Result<String, Misread> {
        match part["type"].as_str().unwrap_or_default() {
            "message_start" => {
                if let Value::Object(message) = &part["message"] {
                    self.message.clone_from(message);
                }
            }
            "content_block_start" => self.blocks.push(part["content_block"].clone()),
            "content_block_delta" => return self.add(&part["delta"]),
            "message_delta" => self.change(&part),
            "message_stop" => self.is_whole = true,
            // `content_block_stop`, `ping`, and what is not invented yet.
            _ => {}
        }
        Ok(String::new())
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn answer(&mut self) -> Value {
        let mut message = std::mem::take(&mut self.message);
        message.insert("content".to_owned(), Value::Array(std::mem::take(&mut self.blocks)));
        Value::Object(message)
    }
}

impl Parts {
    /// Blocks come one after the other, so a piece belongs to the last of them.
    fn add(&mut self, delta: &Value) -> Result<String, Misread> {
        let block = self
            .blocks
            .last_mut()
            .ok_or(Misread("a part of the answer belongs to nothing"))?;
        for name in ["text", "thinking", "signature"] {
            if let Some(more) = delta[name].as_str() {
                append(&mut block[name], more);
                return Ok(if name == "text" { more.to_owned() } else { String::new() });
            }
        }
        if let Some(more) = delta["partial_json"].as_str() {
            append(&mut block["input"], more);
        }
        Ok(String::new())
    }

    fn change(&mut self, part: &Value) {
        if let Some(reason) = part["delta"].get("stop_reason") {
            self.message.insert("stop_reason".to_owned(), reason.clone());
        }
        // The counts are running totals, and those that did not change may be missing.
        if let Value::Object(changed) = &part["usage"] {
            let usage = self.message.entry("usage").or_insert_with(|| json!({}));
            for (name, count) in changed.iter().filter(|(_, count)| count.is_u64()) {
                usage[name] = count.clone();
            }
        }
    }
}

/// Adds to a text; whatever else was there gives way (an input begins as an empty object).
fn append(value: &mut Value, more: &str) {
    match value {
        Value::String(text) => text.push_str(more),
        other => *other = Value::from(more),
    }
}
