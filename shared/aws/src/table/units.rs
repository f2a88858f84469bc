//! Units: the pieces in which conclusions are written, each one transaction: an answer's statements for one
//! representation, or what a client states through the API.

use std::collections::{BTreeMap, HashMap};

use reverie_core::conclusion::{Conclusion, Level, SessionRef};
use reverie_core::dreaming::State;
use reverie_core::id::{ConclusionId, RepresentationId, Seq, SessionUid, WorkspaceUid};
use reverie_core::run::Strength;
use reverie_core::time::Time;

use super::conclusions::{self, Tombstone, guard, tombstone_key};
use super::expression::{Clause, Condition, n, s};
use super::idempotency::{Effect, Recording};
use super::representations::{self, Representation};
use super::schema::key;
use super::workspaces::{self, Workspace};
use super::{Result, Table, Write, erasure, from_item, messages, packs, sessions};

/// The most conclusions that one unit writes (`design.md` section 5).
const UNIT: usize = 30;
/// The most bytes of text that one unit writes: a transaction takes 4 MB, and texts are only most of it.
const UNIT_BYTES: usize = 3_000_000;

/// Splits what is to be written into units, in order.
pub fn units<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut units = Vec::new();
    let mut start = 0;
    while start < items.len() {
        let mut end = start;
        let mut size = 0;
        while end < items.len() && end - start < UNIT && (end == start || size + bytes(&items[end]) <= UNIT_BYTES) {
            size += bytes(&items[end]);
            end += 1;
        }
        units.push(&items[start..end]);
        start = end;
    }
    units
}

/// What is known of texts before they are written.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The live conclusion that holds a text already, by the text's place.
    pub holders: HashMap<usize, Conclusion>,
    /// When a text was erased, by its place.
    pub erased: HashMap<usize, Time>,
}

/// One unit to write.
#[derive(Debug)]
pub struct Unit<'a> {
    /// The workspace; where the unit comes from no session, it must still be there under its uid.
    pub workspace: &'a Workspace,
    /// The representation as it was read.
    pub representation: &'a Representation,
    /// The machine's next state.
    pub next: &'a State,
    /// New conclusions.
    pub created: &'a [Conclusion],
    /// When the texts of new conclusions were erased, as far as known; messages that came later lift that.
    pub erased: &'a HashMap<ConclusionId, Time>,
    /// Conclusions derived once more.
    pub reinforced: &'a [(ConclusionId, Strength, Strength)],
    /// The session that all of it rests on, if any: it must still be alive, and keeps the way to what is written, for
    /// its deletion.
    pub session: Option<&'a SessionRef>,
    /// Which part of a batch of its messages it is; it is marked.
    pub part: Option<Part<'a>>,
    /// The record of the request that it is a part of.
    pub recording: Option<(&'a Recording, Effect)>,
}

/// A unit's place among a session's batches.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The batch's first message.
    pub first: Seq,
    /// The unit's name within the batch.
    pub unit: &'a str,
}

/// How a unit went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is written.
    Now,
    /// It was written before.
    Before,
    /// Its session or workspace is gone: nothing is to be written any more.
    Gone,
    /// The same request came twice, and the other one was faster.
    Recorded,
    /// Something has changed since it was planned: plan it again.
    Stale,
}

impl Table {
    /// Who holds explicit texts of a session, and which of them were erased.
    pub async fn known(
        &self,
        representation: &RepresentationId,
        workspace: &WorkspaceUid,
        session: &SessionUid,
        texts: &[String],
    ) -> Result<Known> {
        let guards: Vec<_> = texts
            .iter()
            .map(|text| guard(representation, Level::Explicit, Some(session.as_str()), text))
            .collect();
        let stones: Vec<_> = texts
            .iter()
            .map(|text| tombstone_key(representation, workspace, text))
            .collect();
        let found = self.get_many(guards.iter().chain(&stones).cloned()).await?;
        let holders = self.holders(&found).await?;
        let mut known = Known::default();
        for place in 0..texts.len() {
            if let Some(holder) = holders.get(&guards[place]) {
                known.holders.insert(place, holder.clone());
            }
            if let Some(item) = found.get(&stones[place]) {
                known.erased.insert(place, from_item::<Tombstone>(item.clone())?.at);
            }
        }
        Ok(known)
    }

    /// Writes a unit. What it creates lifts the tombstones of its texts.
    pub async fn apply_unit(&self, unit: &Unit<'_>, now: Time) -> Result<Applied> {
        let live = i64::try_from(unit.created.len()).unwrap_or(i64::MAX);
        let made = unit.created.iter().map(|conclusion| &conclusion.id);
        let late: Vec<_> = made.filter(|id| packs::is_late(id, now)).collect();
        // Packs that are being made of what was read before must not be published.
        let edited = (!late.is_empty()).then_some(Clause::Add("edition", 1));
        let head = representations::save_also(unit.representation, unit.next, live, now, edited.as_slice())?;
        let mut writes = vec![head];
        if let Some(session) = unit.session {
            // No workspace is deleted while it has a session that is alive, so the session says enough; its head would be
            // an item on which all of a workspace's ingest meets.
            writes.push(sessions::check_alive(&session.uid));
            writes.push(erasure::put_path(session, &unit.representation.id)?);
            if let Some(part) = unit.part {
                writes.push(messages::mark(&session.uid, part.first, part.unit, now));
            }
        } else {
            let same = Condition::Equals("uid", s(unit.workspace.uid.as_str()));
            writes.push(Write::check(workspaces::head(&unit.workspace.name), same));
        }
        for conclusion in unit.created {
            writes.push(conclusions::create(conclusion)?);
            if conclusions::is_guarded(conclusion) {
                writes.push(conclusions::put_guard(conclusion, &conclusion.id));
            }
        }
        let mut stones: BTreeMap<String, Write> = BTreeMap::new();
        for conclusion in unit.created {
            let stone = tombstone_key(&unit.representation.id, &unit.workspace.uid, &conclusion.content);
            let sk = stone.sk.clone();
            let lift = Write::delete(stone);
            // An erasure since the texts were looked up must not be overrun by messages that came before it. What a
            // client states anew always stands.
            let lift = match (unit.part, unit.erased.get(&conclusion.id)) {
                (None, _) => lift,
                (Some(_), Some(at)) => lift.when(Condition::Equals("at", n(at.micros()))),
                (Some(_), None) => lift.when(Condition::Absent(key::PK)),
            };
            stones.insert(sk, lift);
        }
        writes.extend(stones.into_values());
        for (id, before, after) in unit.reinforced {
            writes.push(conclusions::strengthen(id, before, after)?);
        }
        writes.extend(self.end_packs(&unit.representation.id, &late).await?);
        let record = writes.len();
        if let Some((recording, effect)) = &unit.recording {
            writes.push(recording.put(effect.clone())?);
        }
        match self.transact(&writes).await {
            Ok(()) => Ok(Applied::Now),
            Err(super::TableError::Condition(places)) => Ok(if places.contains(&1) {
                Applied::Gone
            } else if unit.part.is_some() && places.contains(&3) {
                Applied::Before
            } else if places.contains(&record) {
                Applied::Recorded
            } else {
                Applied::Stale
            }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_order_and_bounds() {
        let items: Vec<usize> = (0..70).collect();
        let sizes: Vec<_> = units(&items, |_| 10).iter().map(|unit| unit.len()).collect();
        assert_eq!(sizes, [30, 30, 10]);
        let sizes: Vec<_> = units(&items[..5], |_| 1_400_000)
            .iter()
            .map(|unit| unit.len())
            .collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert_eq!(units(&items, |_| 400_000).concat(), items);
        assert_eq!(units(&items[..1], |_| usize::MAX).len(), 1);
    }
}
