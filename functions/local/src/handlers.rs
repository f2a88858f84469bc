//! The engine behind the runtime's handlers.

use std::sync::Arc;

use async_trait::async_trait;
use reverie_engine::{Engine, EngineError, EngineParts};
use reverie_http::App;

use crate::runtime::{Chores, Foundation, Handlers};
use crate::worker::{Failure, Handler};

/// Puts the engine on its foundation.
pub fn compose(foundation: &Foundation) -> Handlers {
    let Foundation {
        table,
        queues,
        clock,
        ids,
        config,
        minds,
    } = foundation.clone();
    let engine = Arc::new(Engine::new(EngineParts {
        table: Arc::clone(&table),
        queues: Arc::new(queues.clone()),
        schedules: Arc::new(queues),
        reasoner: minds.reasoner,
        embedder: minds.embedder,
        clock: Arc::clone(&clock),
        ids: Arc::clone(&ids),
        config: config.clone(),
    }));
    Handlers {
        ingest: Arc::new(Ingest(Arc::clone(&engine))),
        dreams: Arc::new(Dreams(Arc::clone(&engine))),
        chores: Arc::new(EngineChores(Arc::clone(&engine))),
        router: reverie_http::router(App {
            table,
            engine,
            clock,
            ids,
            config: Arc::new(config),
        }),
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self {
            retry_after: error.retry_after(),
            source: Box::new(error),
        }
    }
}

struct Ingest(Arc<Engine>);

#[async_trait]
impl Handler for Ingest {
    async fn handle(&self, body: &str) -> Result<(), Failure> {
        Ok(self.0.handle_ingest(body).await?)
    }
}

struct Dreams(Arc<Engine>);

#[async_trait]
impl Handler for Dreams {
    async fn handle(&self, body: &str) -> Result<(), Failure> {
        Ok(self.0.handle_dream(body).await?)
    }
}

struct EngineChores(Arc<Engine>);

#[async_trait]
impl Chores for EngineChores {
    async fn recover(&self) -> Result<(), Failure> {
        let released = self.0.release_leases().await?;
        if released > 0 {
            tracing::info!(runs = released, "freed the leases of the last process");
        }
        Ok(())
    }

    async fn reconcile(&self) -> Result<(), Failure> {
        Ok(self.0.reconcile().await.map(drop)?)
    }
}
