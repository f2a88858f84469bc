//! How an answer looks in each dialect, whole and in parts.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{Answer, Part, respond};

/// A dialect of a language model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dialect {
    Anthropic,
    Bedrock,
    OpenAi,
}

/// An answer, cut into the pieces in which it is sent.
pub(super) struct Rendered {
    kind: &'static str,
    pieces: Vec<Vec<u8>>,
}

impl Rendered {
    /// A whole answer; its pieces are its halves.
    pub(super) fn json(value: &Value) -> Self {
        let bytes = value.to_string().into_bytes();
        let (first, second) = bytes.split_at(bytes.len() / 2);
        Self {
            kind: "application/json",
            pieces: vec![first.to_vec(), second.to_vec()],
        }
    }

    pub(super) fn whole(self) -> Response {
        let all = self.pieces.len();
        self.short(all)
    }

    /// The first pieces, as if they were all.
    pub(super) fn short(self, pieces: usize) -> Response {
        self.and_then(pieces, stream::empty())
    }

    /// The first pieces, and then an end of the connection.
    pub(super) fn cut(self, pieces: usize) -> Response {
        let end = stream::once(async {
            // What stands before it is sent first.
            tokio::task::yield_now().await;
            Err(std::io::Error::other("cut off"))
        });
        self.and_then(pieces, end)
    }

    /// The first pieces, and then nothing.
    pub(super) fn stall(self, pieces: usize) -> Response {
        self.and_then(pieces, stream::pending())
    }

    fn and_then(
        self,
        pieces: usize,
        end: impl futures_util::Stream<Item = Result<Vec<u8>, std::io::Error>> + Send + 'static,
    ) -> Response {
        let first = self.pieces.into_iter().take(pieces).map(Ok);
        let body = Body::from_stream(stream::iter(first).chain(end));
        respond(200, &[("content-type", self.kind.to_owned())], body)
    }
}

impl Dialect {
    pub(super) fn render(self, answer: &Answer, is_stream: bool) -> Rendered {
        match (self, is_stream) {
            (Self::OpenAi, false) => Rendered::json(&completion(answer)),
            (Self::Anthropic | Self::Bedrock, false) => Rendered::json(&message(answer)),
            (Self::OpenAi, true) => {
                let mut pieces: Vec<_> = chunks(answer).iter().map(|chunk| event(None, chunk)).collect();
                pieces.push(b"data: [DONE]\n\n".to_vec());
                Rendered {
                    kind: "text/event-stream",
                    pieces,
                }
            }
            (Self::Anthropic, true) => Rendered {
                kind: "text/event-stream; charset=utf-8",
                pieces: events(answer).iter().map(|e| event(e["type"].as_str(), e)).collect(),
            },
            (Self::Bedrock, true) => Rendered {
                kind: "application/vnd.amazon.eventstream",
                pieces: events(answer).iter().map(amazon).collect(),
            },
        }
    }
}

fn event(name: Option<&str>, data: &Value) -> Vec<u8> {
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    format!("{name}data: {data}\n\n").into_bytes()
}

fn amazon(part: &Value) -> Vec<u8> {
    let payload = json!({"bytes": STANDARD.encode(part.to_string()), "p": "abcdef"}).to_string();
    let mut message = Message::new(payload.into_bytes());
    for (name, value) in [(":event-type", "chunk"), (":message-type", "event")] {
        message = message.add_header(Header::new(name, HeaderValue::String(value.into())));
    }
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

/// Two halves, so that nothing comes in one piece.
fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn usage([read, written, from_cache, to_cache]: [u64; 4]) -> Value {
    json!({"input_tokens": read, "output_tokens": written,
        "cache_read_input_tokens": from_cache, "cache_creation_input_tokens": to_cache})
}

fn message(answer: &Answer) -> Value {
    let content = answer.parts.iter().map(|part| match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": "signed"}),
        Part::Call(id, name, arguments) => {
            let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    });
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "the-dated-id",
        "content": content.collect::<Vec<_>>(), "stop_reason": answer.stop, "usage": usage(answer.usage)})
}

fn events(answer: &Answer) -> Vec<Value> {
    let [read, _, from_cache, to_cache] = answer.usage;
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "content": [], "stop_reason": null, "usage": usage([read, 1, from_cache, to_cache])}}),
        json!({"type": "ping"}),
    ];
    for (index, part) in answer.parts.iter().enumerate() {
        let (block, kind, name, text) = match part {
            Part::Text(text) => (json!({"type": "text", "text": ""}), "text_delta", "text", text),
            Part::Thinking(text) => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                (block, "thinking_delta", "thinking", text)
            }
            Part::Call(id, tool, arguments) => {
                let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                (block, "input_json_delta", "partial_json", arguments)
            }
        };
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        for half in halves(text) {
            let mut piece = json!({"type": kind});
            piece[name] = json!(half);
            events.push(delta(piece));
        }
        if matches!(part, Part::Thinking(_)) {
            events.push(delta(json!({"type": "signature_delta", "signature": "signed"})));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": answer.stop, "stop_sequence": null},
        "usage": {"output_tokens": answer.usage[1]}}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn finish(answer: &Answer) -> &'static str {
    match answer.stop {
        "end_turn" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        "refusal" => "content_filter",
        other => other,
    }
}

fn openai_usage([read, written, from_cache, to_cache]: [u64; 4]) -> Value {
    json!({"prompt_tokens": read + from_cache + to_cache, "completion_tokens": written,
        "prompt_tokens_details": {"cached_tokens": from_cache}})
}

fn completion(answer: &Answer) -> Value {
    let mut text = String::new();
    let mut calls = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Text(more) => text.push_str(more),
            Part::Thinking(_) => {}
            Part::Call(id, name, arguments) => {
                calls.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}));
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "the-dated-id",
        "choices": [{"index": 0, "message": message, "finish_reason": finish(answer)}],
        "usage": openai_usage(answer.usage)})
}

fn chunks(answer: &Answer) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut calls = 0;
    for part in &answer.parts {
        match part {
            Part::Text(text) => {
                let pieces = halves(text).map(|half| chunk(json!({"content": half}), Value::Null));
                chunks.extend(pieces);
            }
            Part::Thinking(_) => {}
            Part::Call(id, name, arguments) => {
                let call = |call: Value| chunk(json!({"tool_calls": [call]}), Value::Null);
                chunks.push(call(json!({"index": calls, "id": id, "type": "function",
                    "function": {"name": name, "arguments": ""}})));
                let pieces =
                    halves(arguments).map(|half| call(json!({"index": calls, "function": {"arguments": half}})));
                chunks.extend(pieces);
                calls += 1;
            }
        }
    }
    chunks.push(chunk(json!({}), json!(finish(answer))));
    chunks.push(json!({"id": "chatcmpl-1", "choices": [], "usage": openai_usage(answer.usage)}));
    chunks
}

/// Vectors for the texts of a request, in the dialect in which it asks: the length of the text, and its first bytes.
pub(super) fn vectors(body: &Value) -> Value {
    let vector = |text: &Value, dimensions: &Value| {
        let text = text.as_str().unwrap_or_default();
        let length = dimensions.as_u64().unwrap_or(4);
        let components = (0..length).map(|at| match usize::try_from(at) {
            Ok(0) | Err(_) => i64::try_from(text.len()).unwrap_or(0),
            Ok(at) => text.as_bytes().get(at - 1).copied().map_or(0, i64::from),
        });
        json!(components.map(|number| json!(number)).collect::<Vec<_>>())
    };
    if body["input"].is_array() {
        let texts = body["input"].as_array().into_iter().flatten().enumerate();
        let mut data: Vec<_> = texts
            .map(|(index, text)| json!({"index": index, "embedding": vector(text, &body["dimensions"])}))
            .collect();
        // The order is the index's.
        data.reverse();
        return json!({"data": data, "usage": {"prompt_tokens": 3}});
    }
    if body["inputText"].is_string() {
        return json!({"embedding": vector(&body["inputText"], &body["dimensions"]), "inputTextTokenCount": 3});
    }
    let texts = body["texts"].as_array().into_iter().flatten();
    json!({"embeddings": {"float": texts.map(|text| vector(text, &body["output_dimension"])).collect::<Vec<_>>()}})
}
