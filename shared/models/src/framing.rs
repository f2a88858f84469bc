//! How the parts of a stream are told apart: server-sent events, and AWS's event stream.

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::Message;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use serde_json::{Value, json};

use crate::error::TransientFault;
use crate::fault::Failure;

/// Which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events whose answer says itself when it ends.
    Events,
    /// Server-sent events that go on after the answer (its usage), up to `[DONE]` or the end of the body.
    EventsUntilDone,
    /// `application/vnd.amazon.eventstream`, each message with a part inside.
    Amazon,
}

/// What a stream consists of.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// A part of the answer.
    Part(Value),
    /// A refusal, as a body.
    Error(Vec<u8>),
    /// The end, said outright.
    End,
}

/// Takes bytes as they come and gives frames.
pub(crate) struct Frames {
    framing: Framing,
    buffer: BytesMut,
    decoder: MessageFrameDecoder,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            buffer: BytesMut::new(),
            decoder: MessageFrameDecoder::new(),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether nothing of use comes after the answer.
    pub(crate) fn ends_with_answer(&self) -> bool {
        self.framing != Framing::EventsUntilDone
    }

    /// The next frame that is there as a whole.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, Failure> {
        match self.framing {
            Framing::Events | Framing::EventsUntilDone => self.next_event(),
            Framing::Amazon => self.next_message(),
        }
    }

    fn next_event(&mut self) -> Result<Option<Frame>, Failure> {
        while let Some(length) = event_length(&self.buffer) {
            let event = self.buffer.split_to(length);
            let data = data(&event);
            if data == b"[DONE]" {
                return Ok(Some(Frame::End));
            }
            if !data.is_empty() {
                return frame(&data).map(Some);
            }
        }
        Ok(None)
    }

    fn next_message(&mut self) -> Result<Option<Frame>, Failure> {
        match self.decoder.decode_frame(&mut self.buffer) {
            Ok(DecodedFrame::Complete(message)) => message_frame(&message).map(Some),
            Ok(DecodedFrame::Incomplete) => Ok(None),
            Err(_) => Err(broken("a message of the stream is damaged")),
        }
    }
}

/// The length of the first event with the blank line that ends it.
fn event_length(buffer: &[u8]) -> Option<usize> {
    // Lines end with LF or CRLF; nobody sends a lone CR.
    let mut at = 0;
    while let Some(end) = buffer[at..].iter().position(|byte| *byte == b'\n') {
        let line = &buffer[at..at + end];
        at += end + 1;
        if line.is_empty() || line == b"\r" {
            return Some(at);
        }
    }
    None
}

/// The lines of data of an event, joined; comments, names and ids tell nothing.
fn data(event: &[u8]) -> Vec<u8> {
    let lines = event.split(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let data = line.strip_prefix(b"data:")?;
        Some(data.strip_prefix(b" ").unwrap_or(data))
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}

fn frame(bytes: &[u8]) -> Result<Frame, Failure> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| broken("a part of the stream is not JSON"))?;
    let is_error = value["type"] == "error" || value.get("error").is_some_and(|error| !error.is_null());
    Ok(if is_error {
        Frame::Error(bytes.to_vec())
    } else {
        Frame::Part(value)
    })
}

fn message_frame(message: &Message) -> Result<Frame, Failure> {
    let header = |name: &str| {
        let header = message.headers().iter().find(|header| header.name().as_str() == name)?;
        header.value().as_string().ok().map(|text| text.as_str().to_owned())
    };
    if header(":message-type").is_none_or(|kind| kind == "event") {
        let payload: Value =
            serde_json::from_slice(message.payload()).map_err(|_| broken("a message of the stream is not JSON"))?;
        let bytes = payload["bytes"].as_str().and_then(|text| STANDARD.decode(text).ok());
        return frame(&bytes.ok_or_else(|| broken("a message of the stream holds no part"))?);
    }
    let payload: Value = serde_json::from_slice(message.payload()).unwrap_or_default();
    let kind = header(":exception-type").or_else(|| header(":error-code"));
    let said = payload["message"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| header(":error-message"));
    Ok(Frame::Error(
        json!({"error": {"type": kind, "message": said}})
            .to_string()
            .into_bytes(),
    ))
}

fn broken(what: &str) -> Failure {
    Failure::plain(TransientFault::Broken, what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};

    use super::*;

    /// All frames of `bytes`, which come in pieces of `size`.
    fn frames(framing: Framing, bytes: &[u8], size: usize) -> Vec<Frame> {
        let mut frames = Frames::new(framing);
        let mut found = Vec::new();
        for piece in bytes.chunks(size) {
            frames.push(piece);
            while let Some(frame) = frames.next().unwrap() {
                found.push(frame);
            }
        }
        found
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = ": hello\r\n\r\nevent: a\r\ndata: {\"n\":1}\r\n\r\ndata: {\"text\":\ndata: \"é\"}\nid: 3\n\n\ndata:{\"error\":null,\"n\":2}\n\nevent: error\ndata: {\"type\":\"error\"}\n\ndata: [DONE]\n\ndata: {\"lost\":";
        let expected = [
            Frame::Part(json!({"n": 1})),
            Frame::Part(json!({"text": "é"})),
            Frame::Part(json!({"error": null, "n": 2})),
            Frame::Error(b"{\"type\":\"error\"}".to_vec()),
            Frame::End,
        ];
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(frames(Framing::Events, text.as_bytes(), size), expected, "{size}");
        }
    }

    fn message(headers: &[(&'static str, &'static str)], payload: &str) -> Vec<u8> {
        let mut message = Message::new(payload.as_bytes().to_vec());
        for (name, value) in headers {
            message = message.add_header(Header::new(*name, HeaderValue::String((*value).into())));
        }
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn amazons_messages_are_the_same_however_they_are_cut() {
        let part = format!("{{\"bytes\":\"{}\",\"p\":\"abc\"}}", STANDARD.encode("{\"n\":1}"));
        let mut bytes = message(&[(":message-type", "event"), (":event-type", "chunk")], &part);
        bytes.extend(message(
            &[
                (":message-type", "exception"),
                (":exception-type", "throttlingException"),
            ],
            "{\"message\":\"slow down\"}",
        ));
        for size in [1, 5, 16, 1000] {
            let found = frames(Framing::Amazon, &bytes, size);
            assert_eq!(found.len(), 2, "{size}");
            assert_eq!(found[0], Frame::Part(json!({"n": 1})));
            let Frame::Error(body) = &found[1] else {
                panic!("{found:?}")
            };
            assert!(String::from_utf8_lossy(body).contains("throttlingException"));
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let mut damaged = Frames::new(Framing::Amazon);
        damaged.push(&bytes);
        damaged.next().unwrap();
        assert!(damaged.next().is_err());
    }
}
