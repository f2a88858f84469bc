//! OpenAI's chat completions, as OpenAI speaks them and as vLLM, Ollama, llama.cpp and others do, who leave things out.

use reverie_core::run::Usage;
use serde_json::{Map, Value, json};

use crate::conversation::{Content, Message, Request, Response, Role, StopReason, ToolChoice, ToolInput, ToolUse};
use crate::endpoint::{Call, Misread};
use crate::framing::Framing;
use crate::wire::{Collector, Manner, Wire, schema_instruction};

/// A model behind `/chat/completions`.
pub(crate) struct OpenAi {
    pub(crate) model: String,
    pub(crate) temperature: Option<f64>,
    /// Whether the limit is called `max_completion_tokens`, as OpenAI does now; others know only `max_tokens`.
    pub(crate) is_openai: bool,
}

impl Wire for OpenAi {
    fn call(&self, request: &Request, manner: Manner, stream: bool) -> Call {
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        put("model", json!(self.model));
        put("messages", Value::Array(messages(request, manner)));
        let limit = if self.is_openai == manner.other_max_tokens {
            "max_tokens"
        } else {
            "max_completion_tokens"
        };
        put(limit, json!(request.max_output_tokens));
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.schema,
                }})
            });
            put("tools", tools.collect());
            put("tool_choice", tool_choice(&request.tool_choice));
        }
        if let Some(output) = request.output.as_ref().filter(|_| !manner.schema_as_text) {
            let schema = json!({"name": output.name, "schema": output.schema, "strict": true});
            put("response_format", json!({"type": "json_schema", "json_schema": schema}));
        }
        if let Some(effort) = request.effort {
            put("reasoning_effort", json!(effort.as_str()));
        }
        if let Some(temperature) = self.temperature {
            put("temperature", json!(temperature));
        }
        if stream {
            put("stream", json!(true));
            put("stream_options", json!({"include_usage": true}));
        }
        Call::json("/chat/completions", Value::Object(body))
    }

    fn read(&self, answer: &Value) -> Result<Response, Misread> {
        let choice = &answer["choices"][0];
        let message = choice["message"]
            .as_object()
            .ok_or(Misread("the answer has no message"))?;
        let mut content = Vec::new();
        let text = |name: &str| {
            message
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        if let Some(text) = text("content") {
            content.push(Content::text(text));
        }
        let refusal = text("refusal");
        if let Some(refusal) = refusal {
            content.push(Content::text(refusal));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for (at, call) in calls.into_iter().flatten().enumerate() {
            content.push(Content::ToolUse(read_call(at, call)?));
        }
        let has_calls = content.iter().any(|content| matches!(content, Content::ToolUse(_)));
        let reason = choice["finish_reason"].as_str().unwrap_or_default();
        Ok(Response {
            model: self.model.clone(),
            stop: if refusal.is_some() {
                StopReason::Refusal
            } else {
                stop(reason, has_calls)
            },
            content,
            usage: usage(&answer["usage"]),
        })
    }

    fn framing(&self) -> Framing {
        Framing::EventsUntilDone
    }

    fn collector(&self) -> Box<dyn Collector> {
        Box::<Parts>::default()
    }
}

fn messages(request: &Request, manner: Manner) -> Vec<Value> {
    let mut system: Vec<String> = request.system.iter().map(|block| block.text.clone()).collect();
    if let Some(output) = request.output.as_ref().filter(|_| manner.schema_as_text) {
        system.push(schema_instruction(output));
    }
    system.retain(|text| !text.is_empty());
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    for message in &request.messages {
        match message.role {
            Role::User => put_user(&mut messages, message),
            Role::Assistant => put_assistant(&mut messages, message),
        }
    }
    messages
}

/// Results of tools are messages of their own, and come before what else the user says.
fn put_user(messages: &mut Vec<Value>, message: &Message) {
    for content in &message.content {
        if let Content::ToolResult(result) = content {
            // The dialect has no mark for it.
            let content = if result.is_error {
                format!("Error: {}", result.content)
            } else {
                result.content.clone()
            };
            messages.push(json!({"role": "tool", "tool_call_id": result.id, "content": content}));
        }
    }
    let text = text_of(message);
    if !text.is_empty() {
        messages.push(json!({"role": "user", "content": text}));
    }
}

fn put_assistant(messages: &mut Vec<Value>, message: &Message) {
    let text = text_of(message);
    let calls: Vec<Value> = message
        .content
        .iter()
        .filter_map(|content| match content {
            Content::ToolUse(call) => {
                let arguments = Value::Object(call.input.as_object()).to_string();
                Some(json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": arguments}}))
            }
            _ => None,
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        return;
    }
    let mut value = json!({"role": "assistant", "content": text});
    if text.is_empty() {
        value["content"] = Value::Null;
    }
    if !calls.is_empty() {
        value["tool_calls"] = Value::Array(calls);
    }
    messages.push(value);
}

/// The texts of a message; what another provider's model thought means nothing here.
fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|content| match content {
        Content::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Any => json!("required"),
        ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
        ToolChoice::None => json!("none"),
    }
}

/// Some servers give no id, and some give the arguments as an object.
fn read_call(at: usize, call: &Value) -> Result<ToolUse, Misread> {
    let function = &call["function"];
    let name = function["name"]
        .as_str()
        .ok_or(Misread("a call of a tool has no name"))?;
    let input = match &function["arguments"] {
        Value::String(text) => ToolInput::parse(text),
        Value::Object(map) => ToolInput::Object(map.clone()),
        Value::Null => ToolInput::Object(Map::new()),
        other => ToolInput::Malformed(other.to_string()),
    };
    let id = call["id"].as_str().filter(|id| !id.is_empty());
    Ok(ToolUse {
        id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
        name: name.to_owned(),
        input,
    })
}

/// Some servers say `stop` though tools are called, or nothing at all.
fn stop(reason: &str, has_calls: bool) -> StopReason {
    match reason {
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ if has_calls => StopReason::ToolUse,
        "stop" | "" => StopReason::EndTurn,
        other => StopReason::Other(other.to_owned()),
    }
}

/// The dialect counts what was read from the cache among what was read; [`Usage`] keeps them apart.
fn usage(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = count(&usage["prompt_tokens_details"]["cached_tokens"]);
    Usage {
        input_tokens: count(&usage["prompt_tokens"]).saturating_sub(cached),
        output_tokens: count(&usage["completion_tokens"]),
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: 0,
    }
}

/// The parts of a streamed answer.
#[derive(Default)]
struct Parts {
    text: String,
    refusal: String,
    calls: Vec<PartOfCall>,
    finish: Option<String>,
    usage: Value,
}

#[derive(Default)]
struct PartOfCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Collector for Parts {
    fn take(&mut self, part: Value) -> Result<String, Misread> {
        if part["usage"].is_object() {
            self.usage = part["usage"].clone();
        }
        let choice = &part["choices"][0];
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        let delta = &choice["delta"];
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.add_call(call);
        }
        let mut added = String::new();
        for (name, to) in [("content", &mut self.text), ("refusal", &mut self.refusal)] {
            if let Some(more) = delta[name].as_str() {
                to.push_str(more);
                added.push_str(more);
            }
        }
        Ok(added)
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn answer(&mut self) -> Value {
        let calls = self
            .calls
            .iter()
            .map(|call| json!({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}));
        json!({
            "choices": [{
                "message": {"content": self.text, "refusal": self.refusal, "tool_calls": calls.collect::<Vec<_>>()},
                "finish_reason": self.finish,
            }],
            "usage": self.usage,
        })
    }
}

impl Parts {
    /// Calls are told apart by their index; a server that gives none sends each whole, with an id of its own.
    fn add_call(&mut self, part: &Value) {
        let id = part["id"].as_str().unwrap_or_default();
        let index = part["index"].as_u64();
        let known = self.calls.iter().position(|call| match index {
            Some(index) => call.index == index,
            None => id.is_empty() || call.id == id,
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(PartOfCall {
                index: index.unwrap_or(self.calls.len() as u64),
                ..PartOfCall::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let function = &part["function"];
        // The name comes whole, and some servers repeat it with every piece.
        if let Some(name) = function["name"].as_str().filter(|_| call.name.is_empty()) {
            name.clone_into(&mut call.name);
        }
        match &function["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            Value::Object(_) => call.arguments = function["arguments"].to_string(),
            _ => {}
        }
    }
}
