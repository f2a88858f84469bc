//! Lambda: HTTP to the router.

use std::sync::Arc;

use lambda_http::Error;
use reverie_aws::client::Clients;
use reverie_aws::deployment::Deployment;
use reverie_aws::log;
use reverie_aws::queues::SqsQueues;
use reverie_aws::schedules::NoSchedules;
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_aws::table::Table;
use reverie_core::config::Config;
use reverie_core::offline::{NgramEmbedder, Offline};
use reverie_engine::{Engine, EngineParts};
use reverie_http::{App, router};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let environment = |name: &str| std::env::var(name).ok();
    log::start(environment("RUST_LOG").as_deref());
    let config = Config::read(environment)?;
    let deployment = Deployment::read(environment)?;

    let clients = Clients::from_environment().await;
    let table = Arc::new(Table::new(clients.dynamodb(), deployment.table));
    let engine = Engine::new(EngineParts {
        table: Arc::clone(&table),
        queues: Arc::new(SqsQueues::new(clients.sqs(), deployment.queues)),
        schedules: Arc::new(NoSchedules),
        reasoner: Arc::new(Offline),
        embedder: Arc::new(NgramEmbedder),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        config: config.clone(),
    });
    let app = App {
        table,
        engine: Arc::new(engine),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        config: Arc::new(config),
    };
    lambda_http::run(router(app)).await
}
