//! The two FIFO queues on SQS (`design.md` section 4, "On AWS").

use std::error::Error;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use reverie_core::ports::{Letter, PortError, QueueName, Queues};

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
        const WHAT: &str = "sending to a queue";
        letter.check().map_err(failed(WHAT))?;
        self.client
            .send_message()
            .queue_url(self.urls.of(queue))
            .message_group_id(letter.group)
            .message_deduplication_id(letter.deduplication)
            .message_body(letter.body)
            .send()
            .await
            .map_err(failed(WHAT))?;
        Ok(())
    }
}

/// A failed call as the port's error.
pub(crate) fn failed<E: Error + Send + Sync + 'static>(what: &'static str) -> impl FnOnce(E) -> PortError {
    move |source| PortError {
        what,
        source: Box::new(source),
    }
}
