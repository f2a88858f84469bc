//! Lambda: HTTP to the router.

use std::sync::Arc;

use lambda_http::Error;
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_engine::lambda::{Function, Timers};
use reverie_http::{App, router};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let Function {
        engine, table, config, ..
    } = Function::start(Timers::Ingest).await?;
    let app = App {
        table,
        engine,
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        config: Arc::new(config),
    };
    lambda_http::run(router(app)).await
}
