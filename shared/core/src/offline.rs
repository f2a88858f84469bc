//! The offline reasoner: deterministic rules where no model is configured (`design.md` section 8).
//!
//! No key, no network, no clock, no randomness: the same request gives the same answer on every machine, and a second
//! dream over its own result proposes nothing.
//!
//! What it can do, and what not:
//! - **Deriving.** English first-person sentences are cut into clauses and put into the third person ("I'm a nurse" →
//!   "maya is a nurse."), relative dates get the day they mean. Questions, greetings, reactions, hypotheses, hearsay,
//!   talk about the other, code and log lines are left out; precision comes before recall. It resolves no pronouns across
//!   sentences, so "I love it" and "I'm going to make it happen" are dropped, and it guesses no gender: later mentions are "they".
//! - **Other languages.** There is no grammar for them: a sentence that clearly states something is kept word for word
//!   as "maya: 我住在北京。", judged by its first-person words, its beginning and its end. Such statements are merged when
//!   they are equal but for width, spacing, punctuation and a few particles, and can form patterns; they fill no slots
//!   and no card.
//! - **Merging.** Two statements say the same when every word but fillers agrees, in order ([`same_fact`]); in a dream an
//!   adverbial may stand at either end. Paraphrases stay apart: telling them from updates takes understanding.
//! - **Updating.** Only a table of single-valued facts (home, employer, job, relationship, age, deadlines …) and opposite
//!   attitudes are superseded, by event time. What cannot be decided becomes a contradiction that names both sides;
//!   nothing is deleted on doubt.
//! - **Denials.** "Does not drink coffee" and "drinks coffee every morning", "has never been to Japan" and "went to Japan
//!   in 2018" are contradictions; only "not anymore" and "no longer" end what was said before.
//! - **The card** has the slots, family, pets, instruments, languages, origin, aims and the commonest habits.
//! - **Summaries** quote: the sentences that say most, each with who said it. Nothing is put in other words.
//! - **Patterns** count: the same activity, liking or topic on several occasions. Causes and character beyond a small
//!   table are not inferred.

use async_trait::async_trait;

use crate::reasoner::{
    DeriveRequest, Derived, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest, Thought,
};
use crate::run::{Phase, Usage};
use crate::toolbox::Operation;

mod activity;
mod attitude;
mod card;
mod conflict;
mod date;
mod deduce;
mod derive;
mod embed;
mod fact;
mod hints;
mod imply;
mod induce;
mod lexicon;
mod merge;
mod person;
mod profile;
mod same;
mod screen;
mod sentence;
mod summarise;
mod talk;
mod token;
mod tongue;
mod topic;
mod verb;

pub use embed::{StaticEmbedder, WordTableError, ngram_vector};
pub use hints::{Hint, HintKind, hints};
pub use same::{Difference, Verdict, same_fact};
pub use summarise::extract;

/// Turns after which a phase ends whatever is left: operations that the toolbox refuses would come back for ever.
const MAX_TURNS: u32 = 6;

/// Reasons by rules alone; see the module's text for what that means.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

#[async_trait]
impl Reasoner for Offline {
    async fn derive(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        Ok(derive::derive(&request))
    }

    async fn summarise(&self, request: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        Ok(Summary {
            content: extract(&request),
            usage: Usage::default(),
        })
    }

    /// One turn: everything that the rules find at once. A phase goes on while something changes (a new deduction may
    /// imply another), and ends with the first turn that has nothing to do or to which the toolbox had objections.
    async fn think(&self, request: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        let operations = match request.phase {
            Phase::Deduction => deduce::operations(&request),
            Phase::Induction => induce::operations(&request),
            // The card as deduction would write it, and nothing else.
            Phase::Card => {
                let mut operations = deduce::operations(&request);
                operations.retain(|operation| matches!(operation, Operation::Card { .. }));
                operations
            }
            Phase::Undo => Vec::new(),
        };
        let done = operations.is_empty()
            || request.phase != Phase::Deduction
            || request.turn + 1 >= MAX_TURNS
            || request.was_refused();
        Ok(Thought {
            operations,
            done,
            ..Thought::default()
        })
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]
mod tests;
