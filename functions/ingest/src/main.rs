//! Lambda: the ingest queue, and the reconciler's tick.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use reverie_aws::delivery::Failure;
use reverie_core::ports::QueueName;
use reverie_engine::lambda::{Function, Timers};

use crate::event::Event;

mod event;

/// What handling one message may take: the engine hands the rest on after 45 s, and the batch in hand ends first.
const RESERVE: Duration = Duration::from_mins(1);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let function = Function::start(Timers::Own).await?;
    let deliveries = function.deliveries(QueueName::Ingest).with_reserve(RESERVE);
    let handle = |event: LambdaEvent<Event>| {
        let (engine, deliveries) = (Arc::clone(&function.engine), deliveries.clone());
        async move {
            match event.payload {
                Event::Batch(batch) => {
                    let ingest = move |body: String| {
                        let engine = Arc::clone(&engine);
                        async move { engine.handle_ingest(&body).await.map_err(Failure::from) }
                    };
                    Ok(deliveries.handle(batch, event.context.deadline(), ingest).await)
                }
                Event::Tick { .. } | Event::Scheduled { .. } => engine
                    .reconcile()
                    .await
                    .map(|_| SqsBatchResponse::default())
                    .map_err(Error::from),
            }
        }
    };
    lambda_runtime::run(service_fn(handle)).await
}
