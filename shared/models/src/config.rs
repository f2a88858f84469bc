//! Which models a deployment uses, read once at start from environment variables.

use std::fmt;

use reqwest::Url;
use reverie_core::config::Variable;

use crate::aws::Addresses;
use crate::embed::Dialect;
use crate::endpoint::Limits;
use crate::secret::SecretSource;

mod reader;
mod variables;

use reader::Reader;
pub use variables::VARIABLES;

/// Anthropic's own address.
pub(crate) const ANTHROPIC: &str = "https://api.anthropic.com";
/// OpenAI's own address.
pub(crate) const OPENAI: &str = "https://api.openai.com/v1";

/// Who runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// AWS, with the credentials of the AWS chain.
    Bedrock,
    /// Whoever speaks Anthropic's Messages.
    Anthropic,
    /// Whoever speaks OpenAI's chat completions.
    OpenAi,
}

impl Provider {
    const ALL: [Self; 3] = [Self::Bedrock, Self::Anthropic, Self::OpenAi];

    /// The word in variables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bedrock => "bedrock",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// A model of a provider. Shown as `provider:id`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName {
    /// Whose.
    pub provider: Provider,
    /// Its id, as the provider calls it.
    pub id: String,
}

impl ModelName {
    /// An id, with `provider:` before it where it is not `usual`'s. Ids may have colons of their own.
    fn parse(text: &str, usual: Provider) -> Self {
        let named = Provider::ALL.into_iter().find_map(|provider| {
            let id = text.strip_prefix(provider.as_str())?.strip_prefix(':')?;
            Some((provider, id))
        });
        let (provider, id) = named.unwrap_or((usual, text));
        Self {
            provider,
            id: id.trim().to_owned(),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.as_str(), self.id)
    }
}

/// What a language model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Conclusions from messages.
    Deriver,
    /// Dreams: deduction, induction, the card.
    Dream,
    /// Summaries of sessions.
    Summary,
    /// Questions about a peer.
    Chat,
}

impl Task {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Deriver, Self::Dream, Self::Summary, Self::Chat];

    const fn variable(self) -> &'static str {
        match self {
            Self::Deriver => "REVERIE_MODEL_DERIVER",
            Self::Dream => "REVERIE_MODEL_DREAM",
            Self::Summary => "REVERIE_MODEL_SUMMARY",
            Self::Chat => "REVERIE_MODEL_CHAT",
        }
    }
}

/// The language models of a deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct LanguageModels {
    tasks: [ModelName; 4],
    /// `REVERIE_MODEL_FALLBACK`.
    pub fallback: Option<ModelName>,
    /// `REVERIE_MODEL_TEMPERATURE`; none is sent when it is not set, since newer models refuse it.
    pub temperature: Option<f64>,
}

impl LanguageModels {
    /// The model for a task.
    pub fn of(&self, task: Task) -> &ModelName {
        &self.tasks[task as usize]
    }
}

/// The embedding model of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    pub(crate) model: String,
    pub(crate) dimensions: Option<u32>,
    pub(crate) dialect: Dialect,
    /// Of the provider `openai`.
    pub(crate) server: Server,
}

/// The address of a provider, and what opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) key: Option<SecretSource>,
    /// Whether the key goes into `authorization`.
    pub(crate) is_bearer: bool,
}

/// Everything about models.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The language models; none when the provider is `offline`.
    pub language: Option<LanguageModels>,
    /// The embedding model; none when the built-in one is used.
    pub embedding: Option<EmbeddingModel>,
    /// How long and how often.
    pub limits: Limits,
    pub(crate) anthropic: Server,
    pub(crate) openai: Server,
    /// `AWS_BEARER_TOKEN_BEDROCK`, in the place of a signature.
    pub(crate) bedrock_token: Option<SecretSource>,
    pub(crate) addresses: Addresses,
}

/// A variable that does not hold what it should, or is missing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelConfigError {
    /// It makes no sense.
    #[error("{name} is {value:?}, but must be {expected}")]
    Bad {
        /// Which.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it may hold.
        expected: &'static str,
    },
    /// It makes no sense, and what it holds is nobody's business.
    #[error("{name} must be {expected}")]
    BadSecret {
        /// Which.
        name: &'static str,
        /// What it may hold.
        expected: &'static str,
    },
    /// It is not set, and something else needs it.
    #[error("{name} is not set: {reason}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What needs it.
        reason: String,
    },
}

impl ModelConfig {
    /// Reads the variables through `lookup`; a missing or blank one has its default, a bad one is an error, and so is
    /// a missing one that a chosen provider needs.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ModelConfigError> {
        let reader = Reader::new(lookup);
        let openai = Server {
            url: reader.url("OPENAI_BASE_URL")?.unwrap_or_else(|| OPENAI.to_owned()),
            key: reader.secret("OPENAI_API_KEY")?,
            is_bearer: true,
        };
        let default = Limits::default();
        let total = reader.seconds("REVERIE_MODEL_TIMEOUT_SECONDS", default.total)?;
        let config = Self {
            language: language(&reader)?,
            embedding: embedding(&reader, &openai)?,
            limits: Limits {
                total,
                gap: default.gap.min(total),
                retries: reader
                    .whole("REVERIE_MODEL_RETRIES", 0..=10)?
                    .unwrap_or(default.retries),
                wait: default.wait,
            },
            anthropic: anthropic(&reader)?,
            openai,
            bedrock_token: reader.secret("AWS_BEARER_TOKEN_BEDROCK")?,
            addresses: addresses(&reader)?,
        };
        config.check_keys()?;
        Ok(config)
    }

    /// Every model that is asked for something, once.
    pub(crate) fn names(&self) -> Vec<&ModelName> {
        let Some(language) = &self.language else {
            return Vec::new();
        };
        let mut names: Vec<&ModelName> = Vec::new();
        for name in language.tasks.iter().chain(&language.fallback) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether the credentials of the AWS chain are needed.
    pub fn needs_aws(&self) -> bool {
        let signs = self.bedrock_token.is_none() && self.uses(Provider::Bedrock)
            || self.uses(Provider::Anthropic) && self.anthropic.mantle_region().is_some();
        let embedding = self.embedding.as_ref().map(|embedding| &embedding.server.key);
        let keys = [&self.anthropic.key, &self.openai.key, &self.bedrock_token];
        let reads = keys.into_iter().chain(embedding).flatten().any(SecretSource::needs_aws);
        signs || reads
    }

    fn uses(&self, provider: Provider) -> bool {
        let embeds = self.embedding.as_ref().map(|embedding| embedding.dialect.provider());
        embeds == Some(provider) || self.names().iter().any(|name| name.provider == provider)
    }

    /// The providers' own addresses want a key; a gateway or a server of one's own may want none.
    fn check_keys(&self) -> Result<(), ModelConfigError> {
        let missing = |name, provider: Provider| {
            Err(ModelConfigError::Missing {
                name,
                reason: format!("a model of the provider {} needs it", provider.as_str()),
            })
        };
        let names = self.names();
        let is_used = |provider| names.iter().any(|name| name.provider == provider);
        if is_used(Provider::Anthropic) && self.anthropic.is_locked_out(ANTHROPIC) {
            return missing("ANTHROPIC_API_KEY", Provider::Anthropic);
        }
        let embeds_without_key = self
            .embedding
            .as_ref()
            .is_some_and(|embedding| embedding.dialect == Dialect::OpenAi && embedding.server.is_locked_out(OPENAI));
        if is_used(Provider::OpenAi) && self.openai.is_locked_out(OPENAI) || embeds_without_key {
            return missing("OPENAI_API_KEY", Provider::OpenAi);
        }
        Ok(())
    }
}

impl Server {
    fn is_locked_out(&self, own: &str) -> bool {
        self.key.is_none() && self.url == own
    }

    /// The region of Bedrock's native Messages address, which takes a signature where there is no key.
    pub(crate) fn mantle_region(&self) -> Option<String> {
        if self.key.is_some() {
            return None;
        }
        mantle_region(&self.url)
    }
}

/// The region, when the address is Bedrock's native one.
pub(crate) fn mantle_region(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let region = url
        .host_str()?
        .strip_prefix("bedrock-mantle.")?
        .strip_suffix(".api.aws")?;
    Some(region.to_owned())
}

fn language<F: Fn(&str) -> Option<String>>(reader: &Reader<F>) -> Result<Option<LanguageModels>, ModelConfigError> {
    let name = "REVERIE_MODEL_PROVIDER";
    let temperature = reader.number("REVERIE_MODEL_TEMPERATURE", 0.0..=2.0)?;
    let Some(value) = reader.text(name) else {
        return Ok(None);
    };
    if value == "offline" {
        return Ok(None);
    }
    let usual = Provider::ALL
        .into_iter()
        .find(|provider| provider.as_str() == value)
        .ok_or(ModelConfigError::Bad {
            name,
            value,
            expected: "offline, bedrock, anthropic or openai",
        })?;
    let default = reader.text("REVERIE_MODEL");
    let of = |task: Task| {
        let id = reader.text(task.variable()).or_else(|| default.clone());
        let id = id.ok_or_else(|| ModelConfigError::Missing {
            name: "REVERIE_MODEL",
            reason: format!("with the provider {} it names the model to ask", usual.as_str()),
        })?;
        Ok(ModelName::parse(&id, usual))
    };
    Ok(Some(LanguageModels {
        tasks: [
            of(Task::Deriver)?,
            of(Task::Dream)?,
            of(Task::Summary)?,
            of(Task::Chat)?,
        ],
        fallback: reader
            .text("REVERIE_MODEL_FALLBACK")
            .map(|id| ModelName::parse(&id, usual)),
        temperature,
    }))
}

fn embedding<F: Fn(&str) -> Option<String>>(
    reader: &Reader<F>,
    openai: &Server,
) -> Result<Option<EmbeddingModel>, ModelConfigError> {
    let name = "REVERIE_EMBEDDING_PROVIDER";
    let dimensions = reader.whole("REVERIE_EMBEDDING_DIMENSIONS", 1..=4096)?;
    let server = Server {
        url: reader
            .url("REVERIE_EMBEDDING_BASE_URL")?
            .unwrap_or_else(|| openai.url.clone()),
        key: reader
            .secret("REVERIE_EMBEDDING_API_KEY")?
            .or_else(|| openai.key.clone()),
        is_bearer: true,
    };
    let provider = reader.text(name).unwrap_or_else(|| "builtin".to_owned());
    if provider == "builtin" {
        return Ok(None);
    }
    if provider != "openai" && provider != "bedrock" {
        return Err(ModelConfigError::Bad {
            name,
            value: provider,
            expected: "builtin, bedrock or openai",
        });
    }
    let variable = "REVERIE_EMBEDDING_MODEL";
    let model = reader.text(variable).ok_or_else(|| ModelConfigError::Missing {
        name: variable,
        reason: format!("with the provider {provider} it names the embedding model"),
    })?;
    let dialect = if provider == "openai" {
        Dialect::OpenAi
    } else {
        Dialect::of_bedrock(&model).map_err(|expected| ModelConfigError::Bad {
            name: variable,
            value: model.clone(),
            expected,
        })?
    };
    Ok(Some(EmbeddingModel {
        model,
        dimensions,
        dialect,
        server,
    }))
}

fn anthropic<F: Fn(&str) -> Option<String>>(reader: &Reader<F>) -> Result<Server, ModelConfigError> {
    let key = reader.secret("ANTHROPIC_API_KEY")?;
    let token = reader.secret("ANTHROPIC_AUTH_TOKEN")?;
    let url = reader
        .url("ANTHROPIC_BASE_URL")?
        .unwrap_or_else(|| ANTHROPIC.to_owned());
    Ok(Server {
        // The client adds it, as Anthropic's own do; many write it all the same.
        url: url.strip_suffix("/v1").unwrap_or(&url).to_owned(),
        is_bearer: key.is_none(),
        key: key.or(token),
    })
}

fn addresses<F: Fn(&str) -> Option<String>>(reader: &Reader<F>) -> Result<Addresses, ModelConfigError> {
    let all = reader.url("AWS_ENDPOINT_URL")?;
    let of = |name| Ok(reader.url(name)?.or_else(|| all.clone()));
    Ok(Addresses {
        bedrock: of("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")?,
        secrets_manager: of("AWS_ENDPOINT_URL_SECRETS_MANAGER")?,
        ssm: of("AWS_ENDPOINT_URL_SSM")?,
    })
}

impl Dialect {
    const fn provider(self) -> Provider {
        match self {
            Self::OpenAi => Provider::OpenAi,
            Self::Titan | Self::Cohere => Provider::Bedrock,
        }
    }
}

#[cfg(test)]
mod tests;
