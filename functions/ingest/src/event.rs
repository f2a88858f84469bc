//! What the function is invoked with.

use aws_lambda_events::event::sqs::SqsEvent;
use serde::Deserialize;

/// An invocation. Anything else is refused, so that a wrong trigger is noticed.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Event {
    /// Messages of the ingest queue.
    Batch(SqsEvent),
    /// The reconciler's tick: `{"tick": true}`, as the template's rule sends it.
    Tick {
        #[serde(rename = "tick")]
        _tick: bool,
    },
    /// The reconciler's tick, from a rule without an input of its own.
    Scheduled {
        #[serde(rename = "detail-type")]
        _detail_type: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(event: serde_json::Value) -> Option<Event> {
        serde_json::from_value(event).ok()
    }

    #[test]
    fn batches_and_both_kinds_of_ticks_are_told_apart() {
        let batch = json!({"Records": [{"messageId": "m", "body": "{}", "attributes": {"MessageGroupId": "g"}}]});
        assert!(matches!(read(batch), Some(Event::Batch(batch)) if batch.records.len() == 1));
        assert_eq!(read(json!({"tick": true})), Some(Event::Tick { _tick: true }));
        let rule = json!({"version": "0", "source": "aws.events", "detail-type": "Scheduled Event", "detail": {}});
        assert!(matches!(read(rule), Some(Event::Scheduled { .. })));
    }

    #[test]
    fn another_event_is_refused() {
        assert_eq!(read(json!({})), None);
        assert_eq!(read(json!({"rawPath": "/v3"})), None);
    }
}
