//! What is likely to need work, found cheaply for whoever understands more: duplicates, updates, conflicts, statements
//! that look alike, patterns. A hint proposes; it decides nothing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::embed::ngram_vector;
use super::same::{Difference, Verdict, same_fact};
use super::{deduce, induce};
use crate::conclusion::{Conclusion, Embedding, Level};
use crate::id::ConclusionId;
use crate::reasoner::ThinkRequest;
use crate::run::{Phase, RemovalReason};
use crate::toolbox::Operation;

/// From this cosine on two statements count as near each other. Lower than where the rules begin: a hint is cheap.
const NEAR: f32 = 0.65;
/// How many of the newest statements are compared with all others: what keeps the cost in bounds.
const COMPARED: usize = 200;
/// How many neighbours of one statement are told.
const NEIGHBOURS: usize = 2;

/// Conclusions that belong together, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// What they seem to be to each other.
    pub kind: HintKind,
    /// Which: oldest event first, at least two.
    pub ids: Vec<ConclusionId>,
}

/// What conclusions seem to be to each other, the most certain kinds first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HintKind {
    /// The last says what has become of what the others say.
    Update,
    /// They say the same.
    Same,
    /// They cannot all be true.
    Conflict,
    /// They differ in a number, a name, or in what they affirm.
    Differ,
    /// They are about the same; how they relate takes understanding.
    Alike,
    /// They may show a pattern.
    Recurring,
    /// They say who the peer is.
    Identity,
}

/// The likely groups for the phase at hand, at most `limit`: what holds something new first, then by certainty.
pub fn hints(request: &ThinkRequest<'_>, limit: usize) -> Vec<Hint> {
    let mut found = match request.phase {
        Phase::Deduction => {
            let mut found = from_operations(&deduce::operations(request));
            found.retain(|hint| hint.kind != HintKind::Identity);
            let known = pairs(&found);
            found.extend(alike(request.conclusions, &known));
            found
        }
        Phase::Induction => from_operations(&induce::operations(request)),
        Phase::Card => {
            let mut found = from_operations(&deduce::operations(request));
            found.retain(|hint| hint.kind == HintKind::Identity);
            found
        }
        Phase::Undo => Vec::new(),
    };
    let by_id: HashMap<_, _> = request.conclusions.iter().map(|c| (&c.id, c)).collect();
    for hint in &mut found {
        hint.ids
            .sort_by_key(|id| (by_id.get(id).map(|c| c.event_at), id.clone()));
        hint.ids.dedup();
    }
    found.retain(|hint| hint.ids.len() > 1 || hint.kind == HintKind::Identity);
    let is_new = |id: &ConclusionId| {
        by_id
            .get(id)
            .is_some_and(|c| request.last_dream_at.is_none_or(|last| c.created_at > last))
    };
    found.sort_by_key(|hint| (Reverse(hint.ids.iter().any(is_new)), hint.kind));
    found.truncate(limit);
    found
}

/// What the rules would do is what is worth a look.
fn from_operations(operations: &[Operation]) -> Vec<Hint> {
    let mut hints = Vec::new();
    for operation in operations {
        match operation {
            Operation::Merge { keep, duplicates } => hints.push(Hint {
                kind: HintKind::Same,
                ids: duplicates.iter().chain([keep]).cloned().collect(),
            }),
            Operation::Remove {
                ids,
                reason: RemovalReason::Superseded,
                replaced_by: Some(by),
            } => hints.push(Hint {
                kind: HintKind::Update,
                ids: ids.iter().chain([by]).cloned().collect(),
            }),
            Operation::Create {
                level: Level::Contradiction,
                sources,
                ..
            } => hints.push(Hint {
                kind: HintKind::Conflict,
                ids: sources.clone(),
            }),
            Operation::Create {
                level: Level::Inductive,
                sources,
                ..
            } => hints.push(Hint {
                kind: HintKind::Recurring,
                ids: sources.clone(),
            }),
            Operation::Create { sources, replaces, .. } if !replaces.is_empty() => hints.push(Hint {
                kind: HintKind::Update,
                ids: sources
                    .iter()
                    .chain(replaces.iter().map(|(id, _)| id))
                    .cloned()
                    .collect(),
            }),
            Operation::Card { entries } => hints.extend(entries.iter().map(|entry| Hint {
                kind: HintKind::Identity,
                ids: entry.conclusions.clone(),
            })),
            Operation::Create { .. } | Operation::Remove { .. } => {}
        }
    }
    hints
}

/// Every two that a hint names together.
fn pairs(hints: &[Hint]) -> HashSet<(ConclusionId, ConclusionId)> {
    let mut pairs = HashSet::new();
    for hint in hints {
        for a in &hint.ids {
            pairs.extend(hint.ids.iter().map(|b| (a.clone(), b.clone())));
        }
    }
    pairs
}

/// A statement with its vector, and the vector's length.
struct Placed<'a> {
    conclusion: &'a Conclusion,
    embedding: std::borrow::Cow<'a, Embedding>,
    length: f32,
}

/// Pairs of statements near each other that no rule has named, the nearest first.
fn alike(conclusions: &[Conclusion], known: &HashSet<(ConclusionId, ConclusionId)>) -> Vec<Hint> {
    let mut placed: Vec<Placed<'_>> = conclusions
        .iter()
        .filter(|c| matches!(c.level, Level::Explicit | Level::Deductive))
        .map(Placed::of)
        .collect();
    placed.sort_by_key(|p| (p.conclusion.created_at, &p.conclusion.id));
    let mut found: Vec<(f32, Hint)> = Vec::new();
    let first = placed.len().saturating_sub(COMPARED);
    for (at, newer) in placed.iter().enumerate().skip(first) {
        let mut near: Vec<(f32, &Conclusion)> = placed[..at]
            .iter()
            .filter_map(|older| Some((newer.near(older)?, older.conclusion)))
            .filter(|(_, older)| !known.contains(&(newer.conclusion.id.clone(), older.id.clone())))
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
        for (cosine, older) in near.into_iter().take(NEIGHBOURS) {
            let kind = match same_fact(&older.content, &newer.conclusion.content) {
                Verdict::Same => HintKind::Same,
                Verdict::Near(Difference::Words) | Verdict::Unlike => HintKind::Alike,
                Verdict::Near(_) => HintKind::Differ,
            };
            let ids = vec![older.id.clone(), newer.conclusion.id.clone()];
            found.push((cosine, Hint { kind, ids }));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, hint)| hint).collect()
}

impl<'a> Placed<'a> {
    fn of(conclusion: &'a Conclusion) -> Self {
        let embedding = conclusion.embedding.as_ref().map_or_else(
            || std::borrow::Cow::Owned(ngram_vector(&conclusion.content)),
            std::borrow::Cow::Borrowed,
        );
        let length = dot(&embedding.components, &embedding.components).sqrt();
        Self {
            conclusion,
            embedding,
            length,
        }
    }

    /// The cosine, where it says that two statements are near each other and neither follows from the other.
    fn near(&self, other: &Self) -> Option<f32> {
        let (ours, theirs) = (&self.embedding, &other.embedding);
        if ours.model != theirs.model || ours.components.len() != theirs.components.len() {
            return None;
        }
        let cosine = dot(&ours.components, &theirs.components) / (self.length * other.length).max(f32::EPSILON);
        let (a, b) = (self.conclusion, other.conclusion);
        (cosine >= NEAR && !a.sources.contains(&b.id) && !b.sources.contains(&a.id)).then_some(cosine)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a sum of 127² over a few thousand dimensions")]
fn dot(a: &[i8], b: &[i8]) -> f32 {
    let mut sum = 0_i32;
    for (a, b) in a.iter().zip(b) {
        sum += i32::from(*a) * i32::from(*b);
    }
    sum as f32
}
