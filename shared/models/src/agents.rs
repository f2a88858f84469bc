//! The reasoner that a language model is: it derives conclusions from messages, and takes the turns of dreams.
//!
//! Everything that a user wrote is data here: it is shown in the user's message, quoted, and never in the instructions.
//! Whatever a model asks for goes through the toolbox, which alone decides what may be done.

use std::sync::Arc;

use async_trait::async_trait;
use reverie_core::reasoner::{
    DeriveRequest, Derived, Embedder, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest, Thought,
};

use crate::config::Task;
use crate::conversation::Response;
use crate::model::LanguageModel;
use crate::models::Models;

mod calls;
mod deriver;
#[cfg(test)]
mod fixture;
mod opening;
mod reads;
mod shown;
mod summariser;
#[cfg(test)]
mod tests;
mod tools;
mod turn;

/// Reasons by asking language models.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the models are trait objects")]
pub struct ModelReasoner {
    /// Derives conclusions from messages.
    pub deriver: Arc<dyn LanguageModel>,
    /// Summarises sessions.
    pub summariser: Arc<dyn LanguageModel>,
    /// Dreams.
    pub dreamer: Arc<dyn LanguageModel>,
    /// Makes the vectors that a dream searches by: the embedder of the conclusions.
    pub embedder: Arc<dyn Embedder>,
    /// How many groups of likely duplicates, updates and patterns a dream is shown at most; 0 for none.
    pub hints: usize,
}

impl Response {
    /// Why nothing can be made of the answer, which cost what it cost.
    fn useless(&self, reason: &str) -> ReasonerError {
        ReasonerError::Permanent {
            reason: reason.to_owned(),
            usage: self.usage,
        }
    }
}

/// As many groups as fit into the room that they have.
const HINTS: usize = 40;

impl ModelReasoner {
    /// With the models that a deployment has for each task; none where it has no language model. `embedder` makes the
    /// vectors of its conclusions.
    pub fn new(models: &Models, embedder: Arc<dyn Embedder>) -> Option<Self> {
        Some(Self {
            deriver: models.language(Task::Deriver)?,
            summariser: models.language(Task::Summary)?,
            dreamer: models.language(Task::Dream)?,
            embedder,
            hints: HINTS,
        })
    }
}

#[async_trait]
impl Reasoner for ModelReasoner {
    fn wants_batches(&self) -> bool {
        true
    }

    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        deriver::derive(&*self.deriver, &request).await
    }

    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        summariser::summarise(&*self.summariser, &request).await
    }

    async fn think(&self, request: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        turn::take(&*self.dreamer, &*self.embedder, self.hints, &request).await
    }
}
