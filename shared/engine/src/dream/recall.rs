//! What a reasoner is given beside the representation: what it said in earlier turns and what became of it, what is new,
//! and the messages that conclusions rest on.

use std::fmt;

use async_trait::async_trait;
use reverie_aws::table::Table;
use reverie_aws::table::representations::Representation;
use reverie_aws::table::runs::Run;
use reverie_core::conclusion::Conclusion;
use reverie_core::message::Message;
use reverie_core::reasoner::{ReasonerError, Sources, Thought};
use reverie_core::run::{DreamType, Status};
use reverie_core::time::Time;
use reverie_core::toolbox::{Operation, Outcome, Place, outcome};
use serde_json::Value;

use super::run::{Executor, Stop};
use crate::{Engine, Result};

/// How far back a run is looked for that has seen what there is.
const RUNS_LOOKED_AT: usize = 20;

/// The turns of the phase at hand.
#[derive(Debug, Default)]
pub(super) struct Recall {
    /// What each left to be remembered.
    pub(super) earlier: Vec<Value>,
    /// The operations of the last.
    last: Vec<Operation>,
}

impl Recall {
    /// Takes over a turn.
    pub(super) fn note(&mut self, thought: &Thought) {
        self.earlier.push(thought.memory.clone());
        self.last.clone_from(&thought.operations);
    }
}

/// What is new since earlier dreams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// When the last dream that counts ended.
    pub(super) last_dream_at: Option<Time>,
    /// Whether a dream that ran whole has seen everything.
    pub(super) nothing: bool,
}

impl Engine {
    /// What is new to a run. Only whole dreams may find nothing new: a card refresh was asked for.
    pub(super) async fn news(&self, representation: &Representation, run: &Run) -> Result<News> {
        let state = &representation.state;
        let mut news = News {
            last_dream_at: state.last_dream_at,
            nothing: false,
        };
        let whole = matches!(run.dream_type, DreamType::Omni | DreamType::DryRun);
        if !whole || state.last_dream_at.is_none() || state.explicit_total != state.baseline {
            return Ok(news);
        }
        let runs = self.table.runs(&representation.id, Some(RUNS_LOOKED_AT)).await?;
        let last = runs
            .iter()
            .filter(|other| other.id != run.id && other.status.is_final())
            .find(|other| matches!(other.dream_type, DreamType::Omni | DreamType::Undo));
        // Without a record of it, the state says that there was one.
        news.nothing = last.is_none_or(|last| {
            last.dream_type == DreamType::Omni
                && last.status == Status::Completed
                && last.errors.is_empty()
                && last.undone_by.is_none()
        });
        Ok(news)
    }
}

impl Executor<'_> {
    /// Reads what earlier turns of the phase left to be remembered, unless it is at hand.
    pub(super) async fn recall(&mut self) -> Result<(), Stop> {
        let progress = self.run.progress;
        if self.recall.earlier.len() == progress.phase_turn as usize {
            return Ok(());
        }
        let turns = progress.turn - progress.phase_turn..progress.turn;
        self.recall = Recall::default();
        for thought in self.engine.table.earlier_checkpoints(&self.run.id, turns).await? {
            self.recall.note(&thought);
        }
        Ok(())
    }

    /// What became of the last turn's operations.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        let mut place = Place {
            turn: self.run.progress.turn.saturating_sub(1),
            ..self.place()
        };
        let outcomes = (0..).zip(&self.recall.last).map(|(call, operation)| {
            let refused = self.run.refused.iter().find(|(at, _)| *at == call as usize);
            if let Some((_, rejection)) = refused {
                return Outcome::Refused(rejection.clone());
            }
            place.call = call;
            outcome(operation, &self.desk, &place)
        });
        outcomes.collect()
    }
}

/// The messages of a workspace's sessions.
pub(super) struct Said<'a>(pub(super) &'a Table);

impl fmt::Debug for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Said")
    }
}

#[async_trait]
impl Sources for Said<'_> {
    async fn messages_of(&self, conclusion: &Conclusion, limit: usize) -> Result<Vec<Message>, ReasonerError> {
        let unreadable = |error| {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the messages of a conclusion cannot be read"
            );
            ReasonerError::transient("the messages cannot be read")
        };
        let support = conclusion.support.iter().filter(|part| !part.is_stated());
        let states = self
            .0
            .session_states(support.clone().map(|part| &part.session))
            .await
            .map_err(unreadable)?;
        let mut messages = Vec::new();
        for part in support.filter(|part| states.get(&part.session).is_some_and(|state| state.alive)) {
            for seq in part.messages.iter().rev().take(limit) {
                messages.extend(self.0.message(&part.session, *seq).await.map_err(unreadable)?);
            }
        }
        messages.sort_by_key(|message: &Message| (message.created_at, message.seq));
        let surplus = messages.len().saturating_sub(limit);
        messages.drain(..surplus);
        Ok(messages)
    }
}
