//! What SQS FIFO and EventBridge Scheduler would refuse, wherever it is sent: every adapter checks it before anything
//! else, so that a wrong letter is noticed on a laptop and not in AWS.

use super::{Letter, Schedule};

/// The longest group and deduplication id, in characters.
const MAX_ID: usize = 128;
/// The longest name of a schedule, in characters.
const MAX_NAME: usize = 64;
/// The largest body, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// The services would refuse this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {allowed}")]
pub struct Refused {
    /// Which part.
    pub what: &'static str,
    /// What it may be.
    pub allowed: &'static str,
}

impl Letter {
    /// Whether SQS would take it.
    pub fn check(&self) -> Result<(), Refused> {
        id("a message group", &self.group)?;
        id("a deduplication id", &self.deduplication)?;
        body(&self.body)
    }
}

impl Schedule {
    /// Whether EventBridge Scheduler would take it, and SQS what it sends.
    pub fn check(&self) -> Result<(), Refused> {
        let ours = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let fits = (1..=MAX_NAME).contains(&self.name.len()) && self.name.bytes().all(ours);
        allow(fits, "a schedule's name", "1 to 64 letters, digits, '-', '_' and '.'")?;
        id("a message group", &self.group)?;
        body(&self.body)
    }
}

fn id(what: &'static str, text: &str) -> Result<(), Refused> {
    let fits = (1..=MAX_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    allow(fits, what, "1 to 128 letters, digits and punctuation of ASCII")
}

fn body(text: &str) -> Result<(), Refused> {
    let taken = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    let fits = (1..=MAX_BODY).contains(&text.len()) && text.chars().all(taken);
    allow(fits, "a message body", "1 byte to 1 MiB without control characters")
}

fn allow(fits: bool, what: &'static str, allowed: &'static str) -> Result<(), Refused> {
    if fits { Ok(()) } else { Err(Refused { what, allowed }) }
}
