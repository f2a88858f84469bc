//! What SQS FIFO and EventBridge Scheduler would refuse is refused here too, so that it is noticed before AWS.

use std::time::Duration;

use reverie_core::ports::{Letter, Schedule};

use super::{MAX_VISIBILITY, QueueError};

/// The longest group and deduplication id, in characters.
const MAX_ID: usize = 128;
/// The longest name of a schedule, in characters.
const MAX_NAME: usize = 64;
/// The largest body, in bytes.
const MAX_BODY: usize = 1024 * 1024;

pub(super) fn letter(letter: &Letter) -> Result<(), QueueError> {
    id("a message group", &letter.group)?;
    id("a deduplication id", &letter.deduplication)?;
    body(&letter.body)
}

pub(super) fn schedule(schedule: &Schedule) -> Result<(), QueueError> {
    let what = "a schedule's name";
    if schedule.name.is_empty() || schedule.name.len() > MAX_NAME {
        return refused(what, "1 to 64 characters");
    }
    let ours = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !schedule.name.bytes().all(ours) {
        return refused(what, "letters, digits, '-', '_' and '.'");
    }
    id("a message group", &schedule.group)?;
    body(&schedule.body)
}

pub(super) fn visibility(visibility: Duration) -> Result<Duration, QueueError> {
    if visibility > MAX_VISIBILITY {
        return refused("a visibility timeout", "at most 12 hours");
    }
    Ok(visibility)
}

fn id(what: &'static str, text: &str) -> Result<(), QueueError> {
    if text.is_empty() || text.len() > MAX_ID {
        return refused(what, "1 to 128 characters");
    }
    if !text.bytes().all(|b| b.is_ascii_graphic()) {
        return refused(what, "letters, digits and punctuation of ASCII");
    }
    Ok(())
}

fn body(text: &str) -> Result<(), QueueError> {
    let what = "a message body";
    if text.is_empty() || text.len() > MAX_BODY {
        return refused(what, "1 byte to 1 MiB");
    }
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    if !text.chars().all(allowed) {
        return refused(what, "no control characters");
    }
    Ok(())
}

fn refused<T>(what: &'static str, why: &'static str) -> Result<T, QueueError> {
    Err(QueueError::Refused { what, why })
}
