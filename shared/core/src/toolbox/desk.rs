//! The desk: the representation in memory, kept in step with what was committed.

use std::collections::BTreeMap;

use super::{Desk, Step};
use crate::conclusion::{Conclusion, Level, SessionRef};
use crate::id::ConclusionId;
use crate::run::Change;
use crate::text::normalise;

impl Desk {
    /// A desk with these live conclusions, as of the claim: `total_at_claim` is their number.
    /// For a run that is resumed, set the counters from its record.
    pub fn new(conclusions: impl IntoIterator<Item = Conclusion>) -> Self {
        let mut desk = Self::default();
        for conclusion in conclusions {
            desk.insert(conclusion);
        }
        desk.total_at_claim = desk.conclusions.len() as u64;
        desk
    }

    /// The live conclusions, by id: oldest first.
    pub fn conclusions(&self) -> &BTreeMap<ConclusionId, Conclusion> {
        &self.conclusions
    }

    /// A live conclusion.
    pub fn get(&self, id: &ConclusionId) -> Option<&Conclusion> {
        self.conclusions.get(id)
    }

    /// The live conclusions with the same normalised text and level, and, when explicit, of the same session.
    pub fn equals<'a>(
        &'a self,
        level: Level,
        session: Option<&'a SessionRef>,
        content: &str,
    ) -> impl Iterator<Item = &'a Conclusion> {
        let uid = session.map(|s| &s.uid);
        self.texts
            .get(&(level, normalise(content)))
            .into_iter()
            .flatten()
            .filter_map(|id| self.conclusions.get(id))
            .filter(move |c| level != Level::Explicit || c.session.as_ref().map(|s| &s.uid) == uid)
    }

    /// Takes over a committed change. Applying it twice is the same as once.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Created { conclusion } => self.insert(conclusion.clone()),
            Change::Removed {
                conclusion,
                replaced_by,
                ..
            } => {
                if self.take(&conclusion.id) && replaced_by.is_none() {
                    self.removed_unreplaced += 1;
                }
            }
            Change::Reinforced { id, after, .. } => {
                if let Some(conclusion) = self.conclusions.get_mut(id) {
                    after.put_on(conclusion);
                }
            }
            Change::Card { after, .. } => self.card.clone_from(after),
        }
    }

    /// Takes over a committed step.
    pub fn apply_step(&mut self, step: &Step) {
        for change in &step.changes {
            self.apply(change);
        }
    }

    /// Takes over a conclusion as it is now; `None` when it is gone.
    pub fn put(&mut self, id: &ConclusionId, now: Option<Conclusion>) {
        self.take(id);
        if let Some(conclusion) = now {
            self.insert(conclusion);
        }
    }

    fn insert(&mut self, conclusion: Conclusion) {
        let text = (conclusion.level, normalise(&conclusion.content));
        self.texts.entry(text).or_default().insert(conclusion.id.clone());
        self.conclusions.insert(conclusion.id.clone(), conclusion);
    }

    /// Whether it was there.
    fn take(&mut self, id: &ConclusionId) -> bool {
        let Some(conclusion) = self.conclusions.remove(id) else {
            return false;
        };
        let text = (conclusion.level, normalise(&conclusion.content));
        if let Some(ids) = self.texts.get_mut(&text) {
            ids.remove(id);
            if ids.is_empty() {
                self.texts.remove(&text);
            }
        }
        true
    }
}
