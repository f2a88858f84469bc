//! A second model behind the first.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::time::Time;

use crate::conversation::{Request, Response};
use crate::error::ModelError;
use crate::model::{LanguageModel, ResponseStream};
use crate::pace::Pace;

/// How long the first model is left alone after it failed. As long as providers keep a conversation in their cache:
/// a run that changes models at every turn would read nothing from either's.
const REST: Duration = Duration::from_mins(5);

/// Asks a second model when the first fails with all of its retries, and goes on with the second for five minutes.
///
/// What is the request's own fault is not tried again elsewhere. When both fail, the error that passes soonest counts.
pub(crate) struct Fallback {
    first: Arc<dyn LanguageModel>,
    second: Arc<dyn LanguageModel>,
    pace: Arc<dyn Pace>,
    rests_until: Mutex<Option<Time>>,
}

impl Fallback {
    pub(crate) fn new(first: Arc<dyn LanguageModel>, second: Arc<dyn LanguageModel>, pace: Arc<dyn Pace>) -> Self {
        Self {
            first,
            second,
            pace,
            rests_until: Mutex::new(None),
        }
    }

    /// Both, in the order in which they are to be asked.
    fn order(&self) -> [&Arc<dyn LanguageModel>; 2] {
        let rests_until = *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        if rests_until.is_some_and(|until| self.pace.now() < until) {
            [&self.second, &self.first]
        } else {
            [&self.first, &self.second]
        }
    }

    /// A model failed. Whether the other is to be asked.
    fn gives_way(&self, failed: &Arc<dyn LanguageModel>, error: &ModelError) -> bool {
        if let ModelError::Permanent { fault, .. } = error
            && fault.is_of_request()
        {
            return false;
        }
        let is_first = Arc::ptr_eq(failed, &self.first);
        let until = is_first.then(|| self.pace.now() + REST);
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
        tracing::warn!(%error, model.is_first = is_first, "a model fails, the other is asked");
        true
    }
}

/// The error of two that passes sooner.
fn sooner(a: ModelError, b: ModelError) -> ModelError {
    match (a.retry_at(), b.retry_at()) {
        (Some(of_a), Some(of_b)) if of_b < of_a => b,
        (None, Some(_)) => b,
        _ => a,
    }
}

#[async_trait]
impl LanguageModel for Fallback {
    async fn complete(&self, request: &Request) -> Result<Response, ModelError> {
        let [one, other] = self.order();
        match one.complete(request).await {
            Err(error) if self.gives_way(one, &error) => {
                other.complete(request).await.map_err(|second| sooner(error, second))
            }
            answer => answer,
        }
    }

    async fn stream(&self, request: &Request) -> Result<ResponseStream, ModelError> {
        let [one, other] = self.order();
        match one.stream(request).await {
            Err(error) if self.gives_way(one, &error) => {
                other.stream(request).await.map_err(|second| sooner(error, second))
            }
            answer => answer,
        }
    }
}
