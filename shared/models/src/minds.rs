//! Who thinks and who embeds in a deployment: what its configuration names, or the built-in ones.

use std::fmt;
use std::sync::Arc;

use reverie_core::id::IdSource;
use reverie_core::offline::{Offline, StaticEmbedder, WordTableError};
use reverie_core::ports::Clock;
use reverie_core::reasoner::{Embedder, Reasoner};

use crate::agents::ModelReasoner;
use crate::aws::AwsAccess;
use crate::config::{ModelConfig, ModelConfigError, Task};
use crate::models::Models;
use crate::pace::{Pace, SystemPace};

/// Why nobody can reason or embed.
#[derive(Debug, thiserror::Error)]
pub enum MindsError {
    /// The models are not configured as they must be.
    #[error(transparent)]
    Models(#[from] ModelConfigError),
    /// The built-in embedding is not the one that its vectors are made with.
    #[error("the built-in embedding is not usable")]
    Embedding(#[from] WordTableError),
}

/// The reasoner and the embedder of a deployment.
///
/// The choice is made once, from the configuration: where a language model is named it is asked, whatever happens, and
/// nothing falls back to the offline reasoner behind anybody's back.
#[derive(Clone)]
pub struct Minds {
    /// Who derives, summarises and thinks in dreams.
    pub reasoner: Arc<dyn Reasoner>,
    /// Who makes vectors.
    pub embedder: Arc<dyn Embedder>,
}

impl fmt::Debug for Minds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Minds(vectors of {})", self.embedder.model())
    }
}

impl Minds {
    /// The built-in ones: no key, no network.
    pub fn offline() -> Result<Self, WordTableError> {
        Ok(Self {
            reasoner: Arc::new(Offline),
            embedder: Arc::new(StaticEmbedder::load()?),
        })
    }

    /// What the configuration names. Calls nobody; `aws` is needed when [`ModelConfig::needs_aws`] says so.
    pub fn new(
        config: &ModelConfig,
        aws: Option<AwsAccess>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, MindsError> {
        let pace: Arc<dyn Pace> = Arc::new(SystemPace::new(clock, ids));
        let models = Models::new(config, aws, &pace)?;
        let embedder = match models.embedder() {
            Some(embedder) => embedder,
            None => Self::offline()?.embedder,
        };
        let reasoner: Arc<dyn Reasoner> = match ModelReasoner::new(&models, Arc::clone(&embedder)) {
            Some(reasoner) => Arc::new(reasoner),
            None => Arc::new(Offline),
        };
        if let Some(language) = &config.language {
            tracing::info!(
                model.deriver = %language.of(Task::Deriver),
                model.summary = %language.of(Task::Summary),
                model.dream = %language.of(Task::Dream),
                embedder = embedder.model(),
                "language models reason"
            );
        } else {
            tracing::info!(embedder = embedder.model(), "the offline reasoner reasons");
        }
        Ok(Self { reasoner, embedder })
    }
}
