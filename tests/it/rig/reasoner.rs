//! A reasoner that does what a test tells it, and counts how often it is asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use reverie_core::reasoner::{
    DeriveRequest, Derived, Reasoner, ReasonerError, Statement, Summary, SummaryRequest, ThinkRequest, Thought,
};
use reverie_core::run::Usage;

type Think = Box<dyn FnMut(&ThinkRequest<'_>) -> Result<Thought, ReasonerError> + Send>;
type Summarise = Box<dyn FnMut(&SummaryRequest<'_>) -> Result<Summary, ReasonerError> + Send>;
type Derive = Box<dyn FnMut(&DeriveRequest<'_>) -> Result<Derived, ReasonerError> + Send>;

/// Derives each message as one statement, summarises as the offline rules do, and thinks as scripted.
pub(crate) struct Scripted {
    think: Mutex<Think>,
    derive: Mutex<Derive>,
    summarise: Mutex<Summarise>,
    thought: AtomicUsize,
    derived: AtomicUsize,
}

/// Every message of an observed peer is a statement: its text.
pub(crate) fn verbatim(request: &DeriveRequest<'_>) -> Derived {
    let statements = request
        .messages
        .iter()
        .filter(|message| request.observed.contains(&message.peer))
        .map(|message| Statement {
            about: message.peer.clone(),
            content: message.content.clone(),
            messages: vec![message.seq],
            event_at: message.created_at,
        })
        .collect();
    Derived {
        statements,
        usage: Usage::default(),
    }
}

impl Scripted {
    /// Thinks as told.
    pub(crate) fn thinking(
        think: impl FnMut(&ThinkRequest<'_>) -> Result<Thought, ReasonerError> + Send + 'static,
    ) -> Self {
        Self {
            think: Mutex::new(Box::new(think)),
            derive: Mutex::new(Box::new(|request| Ok(verbatim(request)))),
            summarise: Mutex::new(Box::new(|request| {
                Ok(Summary {
                    content: reverie_core::offline::extract(request),
                    usage: Usage::default(),
                })
            })),
            thought: AtomicUsize::new(0),
            derived: AtomicUsize::new(0),
        }
    }

    /// Thinks nothing.
    pub(crate) fn idle() -> Self {
        Self::thinking(|_| {
            Ok(Thought {
                done: true,
                ..Thought::default()
            })
        })
    }

    /// Derives as told.
    #[must_use]
    pub(crate) fn deriving(
        self,
        derive: impl FnMut(&DeriveRequest<'_>) -> Result<Derived, ReasonerError> + Send + 'static,
    ) -> Self {
        *self.derive.lock().unwrap() = Box::new(derive);
        self
    }

    /// Summarises as told.
    #[must_use]
    pub(crate) fn summarising(
        self,
        summarise: impl FnMut(&SummaryRequest<'_>) -> Result<Summary, ReasonerError> + Send + 'static,
    ) -> Self {
        *self.summarise.lock().unwrap() = Box::new(summarise);
        self
    }

    /// How often it was asked to think.
    pub(crate) fn thoughts(&self) -> usize {
        self.thought.load(Ordering::Relaxed)
    }

    /// How often it was asked to derive.
    pub(crate) fn derivations(&self) -> usize {
        self.derived.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Reasoner for Scripted {
    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        self.derived.fetch_add(1, Ordering::Relaxed);
        (self.derive.lock().unwrap())(&request)
    }

    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        (self.summarise.lock().unwrap())(&request)
    }

    async fn think(&self, request: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        self.thought.fetch_add(1, Ordering::Relaxed);
        (self.think.lock().unwrap())(&request)
    }
}
