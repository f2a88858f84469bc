//! What a function on Lambda begins with: its log, its settings, and the engine over the services that its environment
//! names.

use std::sync::Arc;

use reverie_aws::client::Clients;
use reverie_aws::delivery::{Deliveries, Failure};
use reverie_aws::deployment::{Deployment, MissingName};
use reverie_aws::log;
use reverie_aws::queues::{QueueUrls, SqsQueues};
use reverie_aws::schedules::{EventBridgeSchedules, NoSchedules, ScheduleNames};
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_aws::table::Table;
use reverie_core::config::{Config, ConfigError};
use reverie_core::ports::{QueueName, Schedules};
use reverie_models::{AwsAccess, Minds, MindsError, ModelConfig, ModelConfigError};

use crate::{Engine, EngineError, EngineParts};

/// Who makes a function's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// It does.
    Own,
    /// It sends ingest a message that names the representation.
    Ingest,
}

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its models.
    #[error(transparent)]
    Models(#[from] ModelConfigError),
    /// Its deployment.
    #[error(transparent)]
    Deployment(#[from] MissingName),
    /// Who reasons and embeds.
    #[error(transparent)]
    Minds(#[from] MindsError),
}

/// A function that has started.
#[allow(missing_debug_implementations, reason = "the engine's ports are trait objects")]
pub struct Function {
    /// Its engine.
    pub engine: Arc<Engine>,
    /// The table.
    pub table: Arc<Table>,
    /// Its settings.
    pub config: Config,
    queues: QueueUrls,
    clients: Clients,
}

impl Function {
    /// Starts the log, reads the environment, and puts the engine together. Calls no service.
    pub async fn start(timers: Timers) -> Result<Self, StartError> {
        let environment = |name: &str| std::env::var(name).ok();
        log::start(environment("RUST_LOG").as_deref().unwrap_or("info"), std::io::stdout);
        let config = Config::read(environment)?;
        let Deployment { table, queues } = Deployment::read(environment)?;
        let models = ModelConfig::read(environment)?;
        let clients = Clients::from_environment().await;
        let aws = clients.credentials().map(|credentials| AwsAccess {
            credentials,
            region: clients.region(),
        });
        let minds = Minds::new(&models, aws, Arc::new(SystemClock), Arc::new(SystemIds))?;
        let schedules: Arc<dyn Schedules> = match timers {
            Timers::Ingest => Arc::new(NoSchedules),
            Timers::Own => Arc::new(EventBridgeSchedules::new(
                clients.scheduler(),
                Arc::new(SystemClock),
                ScheduleNames::read(environment)?,
            )),
        };
        let table = Arc::new(Table::new(clients.dynamodb(), table));
        let engine = Engine::new(EngineParts {
            table: Arc::clone(&table),
            queues: Arc::new(SqsQueues::new(clients.sqs(), queues.clone())),
            schedules,
            reasoner: minds.reasoner,
            embedder: minds.embedder,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            config: config.clone(),
        });
        Ok(Self {
            engine: Arc::new(engine),
            table,
            config,
            queues,
            clients,
        })
    }

    /// The deliveries of a queue.
    pub fn deliveries(&self, queue: QueueName) -> Deliveries {
        let url = match queue {
            QueueName::Ingest => &self.queues.ingest,
            QueueName::Dreams => &self.queues.dreams,
        };
        Deliveries::new(self.clients.sqs(), url)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(error.retry_after(), error)
    }
}
