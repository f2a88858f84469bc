//! Whole phases against a scripted model, through the real toolbox.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

use std::sync::Arc;

use reverie_core::conclusion::{CardEntry, Conclusion};
use reverie_core::id::RunId;
use reverie_core::offline::StaticEmbedder;
use reverie_core::reasoner::{DeriveRequest, NoSources, Reasoner as _, ReasonerError, ThinkRequest, Thought};
use reverie_core::run::Phase;
use reverie_core::time::Time;
use reverie_core::toolbox::{Desk, Limits, Outcome, Place, outcome, plan};
use serde_json::{Value, json};

use super::ModelReasoner;
use super::fixture::{Scripted, calling, day, said, sam, saying, stating, wait};
use super::shown::Shelf;
use crate::conversation::{Content, Message, Request, Response, StopReason, ToolChoice, ToolResult};

mod deriving;
mod dreaming;
mod hostile;
mod requests;
mod summarising;

/// A phase over a memory, as the engine runs it.
struct Dream {
    phase: Phase,
    desk: Desk,
    card_allowed: bool,
    instructions: Option<&'static str>,
    card_instructions: Option<&'static str>,
    last_dream_at: Option<Time>,
    nothing_new: bool,
    model: Arc<Scripted>,
}

/// How a phase went.
struct Went {
    thoughts: Vec<Thought>,
    outcomes: Vec<Vec<Outcome>>,
    error: Option<ReasonerError>,
}

impl Dream {
    fn over(texts: &[&str], answers: impl IntoIterator<Item = Response>) -> Self {
        Self {
            phase: Phase::Deduction,
            desk: Desk::new(stating(texts)),
            card_allowed: true,
            instructions: None,
            card_instructions: None,
            last_dream_at: None,
            nothing_new: false,
            model: Arc::new(Scripted::new(answers)),
        }
    }

    fn of(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    fn reasoner(&self) -> ModelReasoner {
        ModelReasoner {
            deriver: Arc::clone(&self.model) as _,
            summariser: Arc::clone(&self.model) as _,
            dreamer: Arc::clone(&self.model) as _,
            embedder: Arc::new(StaticEmbedder::load().unwrap()),
            hints: super::HINTS,
        }
    }

    /// The short name of the conclusion with this text.
    fn id(&self, text: &str) -> String {
        let all: Vec<Conclusion> = self.desk.conclusions().values().cloned().collect();
        let found = all.iter().find(|c| c.content == text).unwrap();
        Shelf::new(&all).short(&found.id)
    }

    fn texts(&self) -> Vec<&str> {
        self.desk.conclusions().values().map(|c| c.content.as_str()).collect()
    }

    fn card(&self) -> Vec<&str> {
        let entries = self.desk.card.iter().flatten();
        entries.map(|entry: &CardEntry| entry.text.as_str()).collect()
    }

    /// One turn.
    fn think(&self, turn: u32, earlier: &[Value], outcomes: &[Outcome]) -> Result<Thought, ReasonerError> {
        let conclusions: Vec<Conclusion> = self.desk.conclusions().values().cloned().collect();
        wait(self.reasoner().think(ThinkRequest {
            phase: self.phase,
            turn,
            observer: &sam(),
            observed: &sam(),
            conclusions: &conclusions,
            card: self.desk.card.as_deref(),
            card_allowed: self.card_allowed,
            instructions: self.instructions,
            card_instructions: self.card_instructions,
            last_dream_at: self.last_dream_at,
            nothing_new: self.nothing_new,
            earlier,
            outcomes,
            messages: &NoSources,
        }))
    }

    fn run(&mut self) -> Went {
        let limits = Limits {
            shrink: 0.5,
            card_allowed: self.card_allowed,
        };
        let mut went = Went {
            thoughts: Vec::new(),
            outcomes: Vec::new(),
            error: None,
        };
        let mut earlier = Vec::new();
        let mut outcomes = Vec::new();
        for turn in 0..20 {
            let thought = match self.think(turn, &earlier, &outcomes) {
                Ok(thought) => thought,
                Err(error) => {
                    went.error = Some(error);
                    break;
                }
            };
            outcomes = Vec::new();
            for (call, operation) in (0..).zip(&thought.operations) {
                let place = Place {
                    run: RunId::trusted("run1"),
                    at: day(100),
                    turn,
                    call,
                };
                match plan(operation, &self.desk, &limits, &place) {
                    Ok(steps) => {
                        for step in &steps {
                            self.desk.apply_step(step);
                        }
                        outcomes.push(outcome(operation, &self.desk, &place));
                    }
                    Err(why) => outcomes.push(Outcome::Refused(why)),
                }
            }
            // As it is stored and read back.
            let stored = serde_json::to_string(&thought.memory).unwrap();
            earlier.push(serde_json::from_str(&stored).unwrap());
            went.outcomes.push(outcomes.clone());
            let done = thought.done;
            went.thoughts.push(thought);
            if done {
                break;
            }
        }
        went
    }
}

/// The text of a message.
fn text(message: &Message) -> String {
    let parts = message.content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    parts.collect()
}

/// The results that a message gives.
fn results(message: &Message) -> Vec<&ToolResult> {
    let parts = message.content.iter().filter_map(|content| match content {
        Content::ToolResult(result) => Some(result),
        _ => None,
    });
    parts.collect()
}

fn last(request: &Request) -> &Message {
    request.messages.last().unwrap()
}
