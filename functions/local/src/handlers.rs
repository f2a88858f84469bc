//! The engine behind the runtime's handlers.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;

use crate::runtime::{Chores, Foundation, Handlers};
use crate::worker::{Failure, Handler};

/// Puts the handlers on their foundation. A seam until the engine lands.
pub fn compose(_foundation: &Foundation) -> Handlers {
    Handlers {
        ingest: Arc::new(Nothing),
        dreams: Arc::new(Nothing),
        chores: Arc::new(Nothing),
        router: Router::new(),
    }
}

struct Nothing;

#[async_trait]
impl Handler for Nothing {
    async fn handle(&self, _body: &str) -> Result<(), Failure> {
        Ok(())
    }
}

#[async_trait]
impl Chores for Nothing {
    async fn recover(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn reconcile(&self) -> Result<(), Failure> {
        Ok(())
    }
}
