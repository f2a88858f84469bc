//! Conclusions: the live ones, the guards against exact duplicates, the graves of what dreams removed, and the
//! tombstones of what was erased.
//!
//! | item | key |
//! |---|---|
//! | conclusion | `R#<representation id>` / `C#<conclusion id>` |
//! | guard: who holds a text | `R#<representation id>` / `G#<level>#<session uid or ->#<digest of the normalised text>` |
//! | grave: a removed conclusion, whole | `R#<representation id>` / `X#<conclusion id>` |
//! | tombstone: an erased text's keyed digest, no text | `R#<representation id>` / `T#<digest>` |
//!
//! Ids sort by the time they were made, so the collection is its own list in creation order. A guard may name a
//! conclusion that is gone; it then holds nothing. Conclusions made through the API take no guard.

use std::collections::{BTreeMap, HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use reverie_core::conclusion::{CardEntry, Conclusion, Embedding, Level, Origin};
use reverie_core::id::{ConclusionId, RepresentationId, RunId, WorkspaceUid, digest};
use reverie_core::run::{RemovalReason, Standing, Strength};
use reverie_core::text::normalise;
use reverie_core::time::Time;
use reverie_core::toolbox::tombstone;
use serde::{Deserialize, Serialize};

use super::expression::{Clause, Condition, Item, n, s};
use super::representations::partition;
use super::schema::key;
use super::{Key, Query, Result, Table, TableError, Write, from_item, to_item, to_value};

/// How many vectors are stored in one transaction.
const VECTORS_AT_ONCE: usize = 25;

/// A conclusion that a dream removed, as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grave {
    /// The conclusion.
    pub conclusion: Conclusion,
    /// Why it was removed.
    pub reason: RemovalReason,
    /// What stands in its place.
    pub replaced_by: Option<ConclusionId>,
    /// The run that removed it.
    pub run: RunId,
    /// When.
    pub removed_at: Time,
}

/// What is there of a conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remains {
    /// It is live.
    Live(Conclusion),
    /// A dream removed it.
    Buried(Grave),
}

impl Remains {
    /// The conclusion as it is or was.
    pub fn into_conclusion(self) -> Conclusion {
        match self {
            Self::Live(conclusion) | Self::Buried(Grave { conclusion, .. }) => conclusion,
        }
    }

    /// How it stands now.
    pub fn standing(&self) -> Standing {
        match self {
            Self::Live(conclusion) => Standing::Current {
                content: conclusion.content.clone(),
                level: conclusion.level,
            },
            Self::Buried(grave) => Standing::Removed {
                content: grave.conclusion.content.clone(),
                level: grave.conclusion.level,
                removed_in_run: grave.run.clone(),
            },
        }
    }
}

pub(crate) fn live(id: &ConclusionId) -> Key {
    Key::new(partition(&id.representation()), format!("C#{id}"))
}

fn grave(id: &ConclusionId) -> Key {
    Key::new(partition(&id.representation()), format!("X#{id}"))
}

pub(crate) fn tombstone_key(representation: &RepresentationId, workspace: &WorkspaceUid, text: &str) -> Key {
    Key::new(
        partition(representation),
        format!("T#{}", tombstone(workspace.as_str(), text)),
    )
}

/// The guard that a text takes: explicit conclusions are told apart by session, derived ones are not.
pub(crate) fn guard(representation: &RepresentationId, level: Level, session: Option<&str>, text: &str) -> Key {
    let session = if level == Level::Explicit {
        session.unwrap_or("-")
    } else {
        "-"
    };
    let text = digest(&["text", &normalise(text)]);
    Key::new(
        partition(representation),
        format!("{}{text}", guards_of(level, session)),
    )
}

/// What the keys of a session's guards of a level begin with.
pub(crate) fn guards_of(level: Level, session: &str) -> String {
    format!("G#{}#{session}#", level.as_str())
}

pub(crate) fn own_guard(conclusion: &Conclusion) -> Key {
    let session = conclusion.session.as_ref().map(|session| session.uid.as_str());
    guard(
        &conclusion.id.representation(),
        conclusion.level,
        session,
        &conclusion.content,
    )
}

/// Points the guard of `text_of` at the conclusion that holds its text now.
pub(crate) fn put_guard(text_of: &Conclusion, holder: &ConclusionId) -> Write {
    let key = own_guard(text_of);
    Write::put(Item::from([
        (key::PK.to_owned(), s(key.pk)),
        (key::SK.to_owned(), s(key.sk)),
        ("type".to_owned(), s("guard")),
        ("v".to_owned(), n(super::SCHEMA_VERSION)),
        ("holder".to_owned(), s(holder.as_str())),
    ]))
}

/// Creates a conclusion that is not there.
pub(crate) fn create(conclusion: &Conclusion) -> Result<Write> {
    Ok(Write::put(to_item(&live(&conclusion.id), "conclusion", conclusion)?).if_absent())
}

/// Whether the conclusion takes a guard.
pub(crate) fn is_guarded(conclusion: &Conclusion) -> bool {
    conclusion.origin != Origin::Api
}

/// Changes a conclusion's strength, provided that it is what it was.
pub(crate) fn strengthen(id: &ConclusionId, before: &Strength, after: &Strength) -> Result<Write> {
    let clauses = vec![
        Clause::Set("times_derived", n(after.times_derived)),
        Clause::Set("sources", to_value(&after.sources)?),
        Clause::Set("support", to_value(&after.support)?),
        Clause::Set("event_at", n(after.event_at.micros())),
    ];
    let unchanged = vec![
        Condition::Equals("times_derived", n(before.times_derived)),
        Condition::Equals("sources", to_value(&before.sources)?),
        Condition::Equals("support", to_value(&before.support)?),
        Condition::Equals("event_at", n(before.event_at.micros())),
    ];
    Ok(Write::update(live(id), clauses).when(Condition::All(unchanged)))
}

/// Replaces a conclusion's vector, provided that it is there.
fn set_vector(id: &ConclusionId, embedding: &Embedding) -> Result<Write> {
    Ok(Write::update(live(id), vec![Clause::Set("embedding", to_value(embedding)?)]).if_there())
}

/// Removes a live conclusion and leaves no text behind.
pub(crate) fn discard(id: &ConclusionId) -> Write {
    Write::delete(live(id)).if_there()
}

/// Moves a live conclusion into its grave, which expires when its run's texts do.
pub(crate) fn bury(grave_: &Grave, expiry: Option<(String, AttributeValue)>) -> Result<[Write; 2]> {
    let id = &grave_.conclusion.id;
    let mut item = to_item(&grave(id), "grave", grave_)?;
    item.extend(expiry);
    Ok([discard(id), Write::put(item)])
}

/// Empties a conclusion's grave, which must still be there: another may have emptied it.
pub(crate) fn exhume(id: &ConclusionId) -> Write {
    Write::delete(grave(id)).if_there()
}

/// Leaves a live conclusion with the support and the session that are left to it, provided that its support is what it
/// was.
pub(crate) fn rest_on(before: &Conclusion, rest: &Conclusion) -> Result<Write> {
    let clauses = vec![
        Clause::Set("support", to_value(&rest.support)?),
        Clause::Set("session", to_value(&rest.session)?),
    ];
    let unchanged = Condition::Equals("support", to_value(&before.support)?);
    Ok(Write::update(live(&before.id), clauses).when(unchanged))
}

/// The same for one in its grave.
pub(crate) fn rewrite_grave(rest: &Conclusion) -> Result<Write> {
    let clauses = vec![Clause::Set("conclusion", to_value(rest)?)];
    Ok(Write::update(grave(&rest.id), clauses).if_there())
}

/// Where a listing of conclusions starts, and how much of it is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Newest first, or oldest first.
    pub newest_first: bool,
    /// How many at most, from the start.
    pub limit: usize,
}

impl Table {
    /// A live conclusion.
    pub async fn conclusion(&self, id: &ConclusionId) -> Result<Option<Conclusion>> {
        self.get_as(&live(id)).await
    }

    /// The live ones among `ids`.
    pub async fn conclusions_by_id(&self, ids: &[ConclusionId]) -> Result<HashMap<ConclusionId, Conclusion>> {
        let items = self.get_many(ids.iter().map(live)).await?;
        items
            .into_values()
            .map(|item| from_item::<Conclusion>(item).map(|found| (found.id.clone(), found)))
            .collect()
    }

    /// A representation's conclusions in creation order, from one end.
    pub async fn conclusions(&self, representation: &RepresentationId, window: Window) -> Result<Vec<Conclusion>> {
        self.conclusions_after(representation, None, window).await
    }

    /// The same, but for what comes before a conclusion, and that one.
    pub async fn conclusions_after(
        &self,
        representation: &RepresentationId,
        after: Option<&ConclusionId>,
        window: Window,
    ) -> Result<Vec<Conclusion>> {
        let query = Query::of(partition(representation))
            .prefix("C#")
            .reverse(window.newest_first)
            .after(after.map(live))
            .limit(window.limit);
        self.query(query).await?.into_iter().map(from_item).collect()
    }

    /// All of a representation's conclusions, oldest first.
    pub async fn all_conclusions(&self, representation: &RepresentationId) -> Result<Vec<Conclusion>> {
        self.query(Query::of(partition(representation)).prefix("C#"))
            .await?
            .into_iter()
            .map(from_item)
            .collect()
    }

    /// Stores new vectors of conclusions; those that are gone stay gone, and where the table is busy the old ones stay.
    pub async fn store_vectors(&self, vectors: &[(&ConclusionId, &Embedding)]) -> Result<()> {
        for some in vectors.chunks(VECTORS_AT_ONCE) {
            let mut writes = Vec::new();
            for (id, embedding) in some {
                writes.push(set_vector(id, embedding)?);
            }
            while !writes.is_empty() {
                match self.transact(&writes).await {
                    Ok(()) | Err(TableError::Conflict | TableError::Throttled) => break,
                    Err(TableError::Condition(gone)) => {
                        let mut place = 0..;
                        writes.retain(|_| place.next().is_some_and(|place| !gone.contains(&place)));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The tombstones of a representation: keyed digests of erased texts, and when they were erased.
    pub async fn tombstones(&self, representation: &RepresentationId) -> Result<BTreeMap<String, Time>> {
        let items = self.query(Query::of(partition(representation)).prefix("T#")).await?;
        items
            .into_iter()
            .map(|item| {
                let digest = Key::of(&item).sk.trim_start_matches("T#").to_owned();
                from_item::<Tombstone>(item).map(|stone| (digest, stone.at))
            })
            .collect()
    }

    /// Who holds each of the guards among items that were read: live conclusions only.
    pub(crate) async fn holders(&self, items: &HashMap<Key, Item>) -> Result<HashMap<Key, Conclusion>> {
        let held: HashMap<&Key, ConclusionId> = items
            .iter()
            .filter_map(|(key, item)| Some((key, ConclusionId::trusted(item.get("holder")?.as_s().ok()?))))
            .collect();
        let ids: Vec<_> = held.values().cloned().collect();
        let live = self.conclusions_by_id(&ids).await?;
        Ok(held
            .into_iter()
            .filter_map(|(key, id)| live.get(&id).cloned().map(|found| (key.clone(), found)))
            .collect())
    }

    /// Deletes of those conclusions' graves that a run dug.
    pub(crate) async fn graves_of(&self, run: &RunId, ids: &[ConclusionId]) -> Result<Vec<Write>> {
        let items = self.get_many(ids.iter().map(grave)).await?;
        let mut deletes = Vec::new();
        for (key, item) in items {
            if from_item::<Grave>(item)?.run == *run {
                deletes.push(Write::delete(key).when(Condition::Equals("run", s(run.as_str()))));
            }
        }
        Ok(deletes)
    }

    /// What is there of each conclusion: one that is erased, or never was, is absent.
    pub async fn remains(&self, ids: &[ConclusionId]) -> Result<HashMap<ConclusionId, Remains>> {
        let mut items = self.get_many(ids.iter().flat_map(|id| [live(id), grave(id)])).await?;
        let mut remains = HashMap::new();
        for id in ids {
            if let Some(item) = items.remove(&live(id)) {
                remains.insert(id.clone(), Remains::Live(from_item(item)?));
            } else if let Some(item) = items.remove(&grave(id)) {
                remains.insert(id.clone(), Remains::Buried(from_item(item)?));
            }
        }
        Ok(remains)
    }

    /// The conclusions as they are or were: live, or in their graves.
    pub async fn live_or_buried(&self, ids: &[ConclusionId]) -> Result<HashMap<ConclusionId, Conclusion>> {
        let remains = self.remains(ids).await?;
        Ok(remains
            .into_iter()
            .map(|(id, remains)| (id, remains.into_conclusion()))
            .collect())
    }
}

/// Card entries without those that rest on erased conclusions, and whether that changed anything.
pub(crate) fn without(entries: &[CardEntry], gone: &HashSet<ConclusionId>) -> (Vec<CardEntry>, bool) {
    let kept: Vec<_> = entries
        .iter()
        .filter(|entry| !entry.conclusions.iter().any(|id| gone.contains(id)))
        .cloned()
        .collect();
    let changed = kept.len() != entries.len();
    (kept, changed)
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Tombstone {
    pub(crate) at: Time,
}
