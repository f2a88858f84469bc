//! Lambda: the dream queue, one message at a time.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use reverie_aws::client::Clients;
use reverie_aws::delivery::{Deliveries, Failure};
use reverie_aws::deployment::Deployment;
use reverie_aws::log;
use reverie_aws::queues::SqsQueues;
use reverie_aws::schedules::{EventBridgeSchedules, ScheduleNames};
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_aws::table::Table;
use reverie_core::config::Config;
use reverie_core::offline::{NgramEmbedder, Offline};
use reverie_engine::{Engine, EngineParts};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let environment = |name: &str| std::env::var(name).ok();
    log::start(environment("RUST_LOG").as_deref());
    let config = Config::read(environment)?;
    let deployment = Deployment::read(environment)?;
    let schedules = ScheduleNames::read(environment)?;

    let clients = Clients::from_environment().await;
    let deliveries = Deliveries::new(clients.sqs(), &deployment.queues.dreams).with_heartbeat();
    let engine = Arc::new(Engine::new(EngineParts {
        table: Arc::new(Table::new(clients.dynamodb(), deployment.table)),
        queues: Arc::new(SqsQueues::new(clients.sqs(), deployment.queues)),
        schedules: Arc::new(EventBridgeSchedules::new(
            clients.scheduler(),
            Arc::new(SystemClock),
            schedules,
        )),
        reasoner: Arc::new(Offline),
        embedder: Arc::new(NgramEmbedder),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        config,
    }));
    let handle = |event: LambdaEvent<SqsEvent>| {
        let (engine, deliveries) = (Arc::clone(&engine), deliveries.clone());
        async move {
            let dream = move |body: String| {
                let engine = Arc::clone(&engine);
                async move {
                    engine
                        .handle_dream(&body)
                        .await
                        .map_err(|e| Failure::new(e.retry_after(), e))
                }
            };
            Ok::<_, Error>(deliveries.handle(event.payload, event.context.deadline(), dream).await)
        }
    };
    lambda_runtime::run(service_fn(handle)).await
}
