//! The two FIFO queues on SQS (`design.md` section 4, "On AWS").

use std::borrow::Cow;
use std::error::Error;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use reverie_core::id::digest;
use reverie_core::ports::{Letter, PortError, QueueName, Queues};

/// The longest group and deduplication id that SQS takes, in characters.
const MAX_ID: usize = 128;

/// The queues' URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUrls {
    /// Of the ingest queue.
    pub ingest: String,
    /// Of the dream queue.
    pub dreams: String,
}

impl QueueUrls {
    /// The URL of a queue.
    pub fn of(&self, queue: QueueName) -> &str {
        match queue {
            QueueName::Ingest => &self.ingest,
            QueueName::Dreams => &self.dreams,
        }
    }
}

/// Sends to the FIFO queues. An accepted letter is stored redundantly before the call returns.
#[derive(Clone, Debug)]
pub struct SqsQueues {
    client: Client,
    urls: QueueUrls,
}

impl SqsQueues {
    /// The queues behind a client.
    pub fn new(client: Client, urls: QueueUrls) -> Self {
        Self { client, urls }
    }
}

#[async_trait]
impl Queues for SqsQueues {
    async fn send(&self, queue: QueueName, letter: Letter) -> Result<(), PortError> {
        self.client
            .send_message()
            .queue_url(self.urls.of(queue))
            .message_group_id(acceptable(&letter.group))
            .message_deduplication_id(acceptable(&letter.deduplication))
            .message_body(letter.body)
            .send()
            .await
            .map_err(failed("sending to a queue"))?;
        Ok(())
    }
}

/// A group or deduplication id as SQS takes it: what is too long or has other characters becomes its digest, so equal
/// ids stay equal and different ones different.
pub(crate) fn acceptable(id: &str) -> Cow<'_, str> {
    let fits = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(digest(&["queue", id]))
    }
}

/// A failed call as the port's error.
pub(crate) fn failed<E: Error + Send + Sync + 'static>(what: &'static str) -> impl FnOnce(E) -> PortError {
    move |source| PortError {
        what,
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_the_service_takes_stay_as_they_are() {
        for id in ["a", "rep#t17", "w.1!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~", &"x".repeat(128)] {
            assert_eq!(acceptable(id), id);
        }
    }

    #[test]
    fn other_ids_become_different_digests() {
        let refused = [
            String::new(),
            "two words".to_owned(),
            "grüße".to_owned(),
            "x".repeat(129),
            "x".repeat(130),
        ];
        let digests: std::collections::BTreeSet<_> = refused.iter().map(|id| acceptable(id).into_owned()).collect();
        assert_eq!(digests.len(), refused.len());
        assert!(digests.iter().all(|id| acceptable(id) == id.as_str()));
    }
}
