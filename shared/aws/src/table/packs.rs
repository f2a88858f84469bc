//! Packs: the vectors of some hundreds of conclusions in one item, so that a query over a large representation reads a
//! fraction of it. A cache: all of it can be built again from the conclusions.
//!
//! | item | key |
//! |---|---|
//! | directory: which ranges of ids the packs cover | `R#<representation id>` / `V#` |
//! | pack: ids and vectors of one model, no text | `R#<representation id>` / `V#<random>` |
//!
//! A pack covers a range of ids and never changes. What it says is only a hint: who finds a conclusion by it reads the
//! conclusion. What it does not say must not exist, so whoever makes a conclusion inside a covered range, which is rare
//! since ids sort by time and only settled ones are packed, ends that range in the same transaction; and packs are only
//! published under the edition of the representation that was read before its conclusions. Erasing a conclusion deletes
//! the packs that may hold it; those of conclusions that a dream removed expire.

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use reverie_core::conclusion::{Conclusion, Embedding};
use reverie_core::id::{ConclusionId, RepresentationId};
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::expression::{Condition, Item, n};
use super::representations::{self, Representation, partition};
use super::schema::key;
use super::{Key, Query, Result, Table, TableError, Write, from_item, random, to_item};

/// From how many conclusions on packs are worth having, and how many may stay outside them.
pub const LARGE: usize = 2_000;
/// The most bytes of ids and vectors in a pack (`design.md` section 3).
const PACK_BYTES: usize = 250_000;
/// The most packs that are written at once: a transaction takes 4 MB.
const PACKS_AT_ONCE: usize = 12;
/// How many old packs go in the transaction that publishes new ones.
const DELETES_AT_ONCE: usize = 80;
/// How many packs are read in one batch, of which the answer holds 16 MB.
const PACKS_PER_READ: usize = 50;
/// Bytes of an id inside a pack: what follows the representation's part.
const ID_BYTES: usize = 16;
/// How old an id must be to be packed: by then its conclusion is written.
const SETTLED: Duration = Duration::from_mins(10);
/// From what age of its id on a conclusion counts as written late. Half of [`SETTLED`], for clocks that differ.
const LATE: Duration = Duration::from_mins(5);
/// How long a pack lives, and with it the vector of a conclusion that a dream removed.
const LIFE: Duration = Duration::from_hours(7 * 24);

/// Which ranges of a representation's ids are covered by packs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    /// The model that made the vectors.
    model: String,
    /// The packs, by their last ids.
    packs: Vec<Range>,
    /// Raised by every write.
    revision: u64,
}

/// A pack and what it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Range {
    /// The pack's name.
    name: String,
    /// It covers ids after this one; `None` from the first on.
    after: Option<ConclusionId>,
    /// Up to this one.
    to: ConclusionId,
    /// Until when it may be read.
    expires: Time,
    /// Whether it no longer covers its range, because something was made inside it.
    ended: bool,
}

impl Range {
    fn holds(&self, id: &ConclusionId) -> bool {
        self.after.as_ref().is_none_or(|after| id > after) && *id <= self.to
    }
}

/// What is known of a representation's vectors.
#[derive(Debug, Default)]
pub struct Vectors {
    /// Of packed conclusions, which may be gone by now.
    pub packed: Vec<(ConclusionId, Vec<i8>)>,
    /// Conclusions that are in no pack.
    pub loose: Vec<Conclusion>,
    directory: Option<Directory>,
    /// Where the loose ones lie, in order.
    gaps: Vec<Gap>,
}

/// A range of ids that no pack covers.
#[derive(Clone, Debug)]
struct Gap {
    after: Option<ConclusionId>,
    to: Option<ConclusionId>,
}

impl Gap {
    fn query(&self, id: &RepresentationId) -> Query {
        let bound = |id: &Option<ConclusionId>, none: &str| id.as_ref().map_or(none.to_owned(), |id| format!("C#{id}"));
        // No id has a character after "~", and all have the same length.
        let low = self
            .after
            .as_ref()
            .map_or("C#".to_owned(), |after| format!("C#{after}~"));
        Query::of(partition(id)).between(low, bound(&self.to, "C#~"))
    }

    fn holds(&self, id: &ConclusionId) -> bool {
        self.after.as_ref().is_none_or(|after| id > after) && self.to.as_ref().is_none_or(|to| id <= to)
    }
}

fn directory(id: &RepresentationId) -> Key {
    Key::new(partition(id), "V#")
}

fn pack(id: &RepresentationId, name: &str) -> Key {
    Key::new(partition(id), format!("V#{name}"))
}

/// What no valid pack of the directory covers.
fn gaps(covering: &[&Range]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut after: Option<ConclusionId> = None;
    for range in covering {
        if range.after > after {
            gaps.push(Gap {
                after: after.clone(),
                to: range.after.clone(),
            });
        }
        after = after.max(Some(range.to.clone()));
    }
    gaps.push(Gap { after, to: None });
    gaps
}

/// Whether a conclusion written now would come late for packs.
pub(crate) fn is_late(id: &ConclusionId, now: Time) -> bool {
    *id < ConclusionId::first_of(&id.representation(), now - LATE)
}

impl Table {
    /// The vectors of a representation: those of valid packs of `model`, and all conclusions outside of them.
    pub async fn vectors(&self, id: &RepresentationId, model: &str, now: Time) -> Result<Vectors> {
        let found: Option<Directory> = self.get_as(&directory(id)).await?;
        let listed = found
            .iter()
            .filter(|found| found.model == model)
            .flat_map(|found| &found.packs);
        let covering: Vec<&Range> = listed.filter(|range| !range.ended && range.expires > now).collect();
        let mut vectors = Vectors::default();
        let mut read = Vec::new();
        for some in covering.chunks(PACKS_PER_READ) {
            let items = self.get_many(some.iter().map(|range| pack(id, &range.name))).await?;
            for range in some {
                // A pack that is gone since covers nothing.
                if let Some(entries) = items.get(&pack(id, &range.name)).and_then(|item| entries(id, item)) {
                    vectors.packed.extend(entries);
                    read.push(*range);
                }
            }
        }
        vectors.gaps = gaps(&read);
        for gap in &vectors.gaps {
            for item in self.query(gap.query(id)).await? {
                vectors.loose.push(from_item(item)?);
            }
        }
        vectors.directory = found;
        Ok(vectors)
    }

    /// All conclusions of a representation that is too small for packs.
    pub async fn all_vectors(&self, id: &RepresentationId) -> Result<Vectors> {
        Ok(Vectors {
            loose: self.all_conclusions(id).await?,
            ..Vectors::default()
        })
    }

    /// Packs what can be packed of the loose vectors, when they are many. `representation` must have been read before
    /// `vectors`; if it has changed since, or somebody else packs, nothing is done.
    pub async fn pack(&self, representation: &Representation, vectors: &Vectors, model: &str, now: Time) -> Result<()> {
        if vectors.loose.len() <= LARGE {
            return Ok(());
        }
        let id = &representation.id;
        let mut packs: Vec<Range> = Vec::new();
        let mut writes = Vec::new();
        for (range, item) in new_packs(id, vectors, model, now)? {
            packs.push(range);
            writes.push(Write::put(item));
        }
        if packs.is_empty() {
            return Ok(());
        }
        let mut revision = 0;
        if let Some(old) = &vectors.directory {
            revision = old.revision;
            let (kept, dropped): (Vec<Range>, Vec<Range>) = old
                .packs
                .iter()
                .cloned()
                .partition(|range| old.model == model && !range.ended && range.expires > now);
            packs.extend(kept);
            for (place, range) in dropped.into_iter().enumerate() {
                if place < DELETES_AT_ONCE {
                    writes.push(Write::delete(pack(id, &range.name)));
                } else {
                    packs.push(Range { ended: true, ..range });
                }
            }
        }
        packs.sort_by(|a, b| a.to.cmp(&b.to));
        let next = Directory {
            model: model.to_owned(),
            packs,
            revision,
        };
        writes.push(put_directory(id, &next)?);
        writes.push(representations::check_edition(id, representation.edition));
        match self.transact(&writes).await {
            // Whoever changed it, or packs too, was faster; the next query sees what is left to do.
            Ok(()) | Err(TableError::Condition(_) | TableError::Conflict | TableError::Throttled) => {}
            // Packs are a cache: what was found is found, whether it could be packed or not.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "packs of vectors were not published"
                );
            }
        }
        Ok(())
    }

    /// The writes that go with making conclusions inside of ranges that packs may cover: the ranges are covered no more.
    pub(crate) async fn end_packs(&self, id: &RepresentationId, made: &[&ConclusionId]) -> Result<Vec<Write>> {
        if made.is_empty() {
            return Ok(Vec::new());
        }
        let Some(mut found) = self.get_as::<Directory>(&directory(id)).await? else {
            return Ok(vec![Write::check(directory(id), Condition::Absent(key::PK))]);
        };
        for range in &mut found.packs {
            range.ended |= made.iter().any(|id| range.holds(id));
        }
        Ok(vec![put_directory(id, &found)?])
    }

    /// The writes that go with erasing conclusions: the packs that may hold their vectors go, too.
    pub(crate) async fn drop_packs(&self, id: &RepresentationId, erased: &[&ConclusionId]) -> Result<Vec<Write>> {
        let Some(mut found) = self.get_as::<Directory>(&directory(id)).await? else {
            return Ok(vec![Write::check(directory(id), Condition::Absent(key::PK))]);
        };
        let (dropped, kept): (Vec<Range>, Vec<Range>) = found
            .packs
            .into_iter()
            .partition(|range| erased.iter().any(|id| range.holds(id)));
        found.packs = kept;
        let mut writes = vec![put_directory(id, &found)?];
        writes.extend(dropped.iter().map(|range| Write::delete(pack(id, &range.name))));
        Ok(writes)
    }
}

/// The directory's next revision, provided that it has the one that was read (0: there was none).
fn put_directory(id: &RepresentationId, read: &Directory) -> Result<Write> {
    let unchanged = if read.revision == 0 {
        Condition::Absent(key::PK)
    } else {
        Condition::Equals("revision", n(read.revision))
    };
    let next = Directory {
        revision: read.revision + 1,
        ..read.clone()
    };
    Ok(Write::put(to_item(&directory(id), "pack_directory", &next)?).when(unchanged))
}

/// Packs of the loose conclusions that are settled, gap by gap, oldest first.
fn new_packs(id: &RepresentationId, vectors: &Vectors, model: &str, now: Time) -> Result<Vec<(Range, Item)>> {
    let settled = ConclusionId::first_of(id, now - SETTLED);
    let mut packs = Vec::new();
    for gap in &vectors.gaps {
        let inside: Vec<(&ConclusionId, &Embedding)> = vectors
            .loose
            .iter()
            .filter(|conclusion| gap.holds(&conclusion.id))
            .take_while(|conclusion| conclusion.id < settled)
            // What has no vector of the model must stay visible.
            .map_while(|conclusion| Some((&conclusion.id, conclusion.embedding.as_ref()?)))
            .take_while(|(_, embedding)| embedding.model == model)
            .collect();
        let Some((_, first)) = inside.first() else { continue };
        let width = first.components.len();
        let alike = inside
            .iter()
            .take_while(|(_, embedding)| embedding.components.len() == width);
        let inside = &inside[..alike.count()];
        let size = (PACK_BYTES / (ID_BYTES + width)).max(1);
        let mut after = gap.after.clone();
        for some in inside.chunks(size) {
            if packs.len() == PACKS_AT_ONCE {
                return Ok(packs);
            }
            let Some((last, _)) = some.last() else { continue };
            let name = format!("{:032x}", random());
            let range = Range {
                name: name.clone(),
                after: after.replace((*last).clone()),
                to: (*last).clone(),
                expires: now + LIFE,
                ended: false,
            };
            let item = to_item(&pack(id, &name), "pack", &range)?;
            packs.push((range, with_entries(item, some, now)));
        }
    }
    Ok(packs)
}

fn with_entries(mut item: Item, entries: &[(&ConclusionId, &Embedding)], now: Time) -> Item {
    let ids: Vec<u8> = entries
        .iter()
        .flat_map(|(id, _)| id.as_str().bytes().skip(id.as_str().len().saturating_sub(ID_BYTES)))
        .collect();
    let vectors: Vec<u8> = entries
        .iter()
        .flat_map(|(_, embedding)| embedding.components.iter().map(|c| c.cast_unsigned()))
        .collect();
    item.insert("ids".to_owned(), AttributeValue::B(Blob::new(ids)));
    item.insert("vectors".to_owned(), AttributeValue::B(Blob::new(vectors)));
    item.insert(key::TTL.to_owned(), n((now + LIFE).seconds()));
    item
}

/// A pack's ids and vectors; `None` when it cannot be read.
fn entries(representation: &RepresentationId, item: &Item) -> Option<Vec<(ConclusionId, Vec<i8>)>> {
    let part = |name: &str| item.get(name)?.as_b().ok().map(AsRef::<[u8]>::as_ref);
    let (ids, vectors) = (part("ids")?, part("vectors")?);
    let count = ids.len() / ID_BYTES;
    if count == 0 || vectors.len() % count != 0 || ids.len() % ID_BYTES != 0 {
        return None;
    }
    let vectors = vectors.chunks(vectors.len() / count);
    let read = |(id, vector): (&[u8], &[u8])| {
        let id = ConclusionId::parse(&format!("{representation}{}", std::str::from_utf8(id).ok()?))?;
        Some((id, vector.iter().map(|byte| byte.cast_signed()).collect()))
    };
    ids.chunks(ID_BYTES).zip(vectors).map(read).collect()
}
