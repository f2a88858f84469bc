//! Lambda: the dream queue, one message at a time.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use reverie_aws::delivery::Failure;
use reverie_core::ports::QueueName;
use reverie_engine::lambda::{Function, Timers};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let function = Function::start(Timers::Own).await?;
    let deliveries = function.deliveries(QueueName::Dreams).with_heartbeat();
    let handle = |event: LambdaEvent<SqsEvent>| {
        let (engine, deliveries) = (Arc::clone(&function.engine), deliveries.clone());
        async move {
            let dream = move |body: String| {
                let engine = Arc::clone(&engine);
                async move { engine.handle_dream(&body).await.map_err(Failure::from) }
            };
            Ok::<_, Error>(deliveries.handle(event.payload, event.context.deadline(), dream).await)
        }
    };
    lambda_runtime::run(service_fn(handle)).await
}
