//! Who thinks and who embeds in a deployment: what its configuration names, or the built-in ones.

use std::fmt;
use std::sync::Arc;

use reverie_core::id::IdSource;
use reverie_core::offline::{NgramEmbedder, Offline};
use reverie_core::ports::Clock;
use reverie_core::reasoner::{Embedder, Reasoner};

use crate::agents::ModelReasoner;
use crate::aws::AwsAccess;
use crate::config::{ModelConfig, ModelConfigError, Task};
use crate::models::Models;
use crate::pace::{Pace, SystemPace};

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
    pub fn offline() -> Self {
        Self {
            reasoner: Arc::new(Offline),
            embedder: Arc::new(NgramEmbedder),
        }
    }

    /// What the configuration names. Calls nobody; `aws` is needed when [`ModelConfig::needs_aws`] says so.
    pub fn new(
        config: &ModelConfig,
        aws: Option<AwsAccess>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, ModelConfigError> {
        let pace: Arc<dyn Pace> = Arc::new(SystemPace::new(clock, ids));
        let models = Models::new(config, aws, &pace)?;
        let offline = Self::offline();
        let embedder = models.embedder().unwrap_or(offline.embedder);
        let reasoner: Arc<dyn Reasoner> = match ModelReasoner::new(&models, Arc::clone(&embedder)) {
            Some(reasoner) => Arc::new(reasoner),
            None => offline.reasoner,
        };
        match &config.language {
            Some(language) => tracing::info!(
                model.deriver = %language.of(Task::Deriver),
                model.summary = %language.of(Task::Summary),
                model.dream = %language.of(Task::Dream),
                embedder = embedder.model(),
                "language models reason"
            ),
            None => tracing::info!(embedder = embedder.model(), "the offline reasoner reasons"),
        }
        Ok(Self { reasoner, embedder })
    }
}
