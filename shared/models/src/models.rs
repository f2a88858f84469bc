//! The clients of a deployment, put together from its configuration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reverie_core::reasoner::Embedder;

use crate::anthropic::Anthropic;
use crate::aws::{Aws, AwsAccess, Scope, SharedAws, service_url};
use crate::bedrock::Bedrock;
use crate::config::{
    EmbeddingModel, ModelConfig, ModelConfigError, ModelName, OPENAI, Provider, Server, Task, mantle_region,
};
use crate::embed::{Dialect, RemoteEmbedder};
use crate::endpoint::{Auth, Endpoint, Service};
use crate::fallback::Fallback;
use crate::model::LanguageModel;
use crate::openai::OpenAi;
use crate::pace::Pace;
use crate::secret::{Key, SecretSource};
use crate::wire::{Client, Manner};

/// The longest time for vectors, retries included: a request of the API waits for them, and has 15 s.
const EMBEDDING: Duration = Duration::from_secs(10);

/// The language models and the embedding model of a deployment. Each connects, and reads its key, when it is first
/// asked.
#[allow(missing_debug_implementations, reason = "the models are trait objects")]
pub struct Models {
    tasks: Option<[Arc<dyn LanguageModel>; 4]>,
    each: Vec<(ModelName, Arc<dyn LanguageModel>)>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Models {
    /// Puts them together. `aws` is needed when [`ModelConfig::needs_aws`] says so.
    pub fn new(config: &ModelConfig, aws: Option<AwsAccess>, pace: &Arc<dyn Pace>) -> Result<Self, ModelConfigError> {
        let service = Service::new(Arc::clone(pace), config.limits);
        let region = aws.as_ref().and_then(|aws| aws.region.clone());
        let parts = Parts {
            config,
            region,
            aws: aws.map(|access| Arc::new(Aws::new(access, config.addresses.clone(), service.clone()))),
            service,
        };
        let each = config
            .names()
            .into_iter()
            .map(|name| Ok((name.clone(), parts.language(name)?)))
            .collect::<Result<Vec<_>, ModelConfigError>>()?;
        let embedder = config
            .embedding
            .as_ref()
            .map(|model| parts.embedder(model))
            .transpose()?;
        Ok(Self {
            tasks: tasks(config, &each, pace),
            each,
            embedder,
        })
    }

    /// The model for a task, with its fallback behind it; none when there is no language model.
    pub fn language(&self, task: Task) -> Option<Arc<dyn LanguageModel>> {
        self.tasks.as_ref().map(|tasks| Arc::clone(&tasks[task as usize]))
    }

    /// Every language model by itself, without a fallback behind it.
    pub fn each(&self) -> impl Iterator<Item = (&ModelName, &Arc<dyn LanguageModel>)> {
        self.each.iter().map(|(name, model)| (name, model))
    }

    /// The embedding model; none when the built-in one is to be used.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.clone()
    }
}

/// Tasks with the same model share it, and with it the rest that it is given after it failed.
fn tasks(
    config: &ModelConfig,
    each: &[(ModelName, Arc<dyn LanguageModel>)],
    pace: &Arc<dyn Pace>,
) -> Option<[Arc<dyn LanguageModel>; 4]> {
    let language = config.language.as_ref()?;
    let alone: HashMap<&ModelName, &Arc<dyn LanguageModel>> = each.iter().map(|(name, model)| (name, model)).collect();
    let second = language.fallback.as_ref().and_then(|name| alone.get(name).copied());
    let mut guarded: HashMap<&ModelName, Arc<dyn LanguageModel>> = HashMap::new();
    let mut of = |task| {
        let name = language.of(task);
        let first = *alone.get(name)?;
        let model = match second {
            Some(second) if language.fallback.as_ref() != Some(name) => guarded
                .entry(name)
                .or_insert_with(|| Arc::new(Fallback::new(Arc::clone(first), Arc::clone(second), Arc::clone(pace))))
                .clone(),
            _ => Arc::clone(first),
        };
        Some(model)
    };
    Some([
        of(Task::Deriver)?,
        of(Task::Dream)?,
        of(Task::Summary)?,
        of(Task::Chat)?,
    ])
}

struct Parts<'a> {
    config: &'a ModelConfig,
    region: Option<String>,
    aws: Option<SharedAws>,
    service: Service,
}

impl Parts<'_> {
    fn language(&self, name: &ModelName) -> Result<Arc<dyn LanguageModel>, ModelConfigError> {
        let model = name.id.clone();
        let temperature = self.config.language.as_ref().and_then(|language| language.temperature);
        let manner = Manner::default();
        Ok(match name.provider {
            Provider::Anthropic => {
                let server = &self.config.anthropic;
                let wire = Anthropic { model, temperature };
                let manner = Manner {
                    // Bedrock's native address refuses `output_config.format`.
                    schema_as_text: mantle_region(&server.url).is_some(),
                    ..manner
                };
                Arc::new(Client::new(&name.id, wire, self.anthropic(server)?, manner))
            }
            Provider::Bedrock => {
                let wire = Bedrock { model, temperature };
                Arc::new(Client::new(&name.id, wire, self.bedrock()?, manner))
            }
            Provider::OpenAi => {
                let server = &self.config.openai;
                let wire = OpenAi {
                    model,
                    temperature,
                    is_openai: server.url == OPENAI,
                };
                Arc::new(Client::new(&name.id, wire, self.server(server)?, manner))
            }
        })
    }

    fn embedder(&self, model: &EmbeddingModel) -> Result<Arc<dyn Embedder>, ModelConfigError> {
        let endpoint = match model.dialect {
            Dialect::OpenAi => self.server(&model.server)?,
            Dialect::Titan | Dialect::Cohere => self.bedrock()?,
        }
        .within(EMBEDDING);
        Ok(Arc::new(RemoteEmbedder::new(
            &model.model,
            model.dimensions,
            model.dialect,
            endpoint,
        )))
    }

    fn anthropic(&self, server: &Server) -> Result<Endpoint, ModelConfigError> {
        let Some(region) = server.mantle_region() else {
            return self.server(server);
        };
        let auth = Auth::Signed {
            aws: self.aws()?,
            scope: Scope {
                service: "bedrock-mantle",
                region,
            },
        };
        Ok(Endpoint::new(&server.url, auth, self.service.clone()))
    }

    fn bedrock(&self) -> Result<Endpoint, ModelConfigError> {
        let missing = || ModelConfigError::Missing {
            name: "AWS_REGION",
            reason: "Bedrock's address has it".to_owned(),
        };
        let address = self.config.addresses.bedrock.clone();
        let auth = match &self.config.bedrock_token {
            Some(token) => Auth::Bearer(self.key(token)?),
            None => Auth::Signed {
                aws: self.aws()?,
                scope: Scope {
                    service: "bedrock",
                    region: self.region.clone().ok_or_else(missing)?,
                },
            },
        };
        let base = match (address, &self.region) {
            (Some(address), _) => address,
            (None, Some(region)) => service_url("bedrock-runtime", region),
            (None, None) => return Err(missing()),
        };
        Ok(Endpoint::new(base, auth, self.service.clone()))
    }

    fn server(&self, server: &Server) -> Result<Endpoint, ModelConfigError> {
        let auth = match &server.key {
            None => Auth::None,
            Some(key) if server.is_bearer => Auth::Bearer(self.key(key)?),
            Some(key) => Auth::ApiKey(self.key(key)?),
        };
        Ok(Endpoint::new(&server.url, auth, self.service.clone()))
    }

    fn key(&self, source: &SecretSource) -> Result<Key, ModelConfigError> {
        Ok(match source {
            SecretSource::Value(secret) => Key::Value(secret.clone()),
            SecretSource::Aws(named) => Key::of_aws(named.clone(), self.aws()?),
        })
    }

    fn aws(&self) -> Result<SharedAws, ModelConfigError> {
        self.aws.clone().ok_or_else(|| ModelConfigError::Missing {
            name: "AWS_ACCESS_KEY_ID",
            reason: "a model or a key is AWS's, and the AWS chain finds no credentials".to_owned(),
        })
    }
}
