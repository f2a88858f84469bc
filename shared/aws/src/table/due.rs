//! The due index: a sparse, sharded view of what must be looked at by when, whatever happened to queues and schedules.
//!
//! An item is in it while it carries `due_pk = DUE#<kind>#<shard>` and `due_sk = <microseconds>`; the reconciler reads
//! what lies before now, a bounded number per shard, so that one failing item never starves the next.

use reverie_core::id::digest;
use reverie_core::time::Time;

use super::schema::{DUE_INDEX, key};
use super::{DueKey, Key, Query, Result, Table};

/// How many shards a kind has: the index's partitions share the writes.
const SHARDS: u32 = 16;

/// What must be done with a due item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueKind {
    /// A session has messages past its cursor.
    Session,
    /// A representation's timer should have fired.
    Timer,
    /// A representation is over the threshold while dreams are off: look whether that has changed.
    Disabled,
    /// A running dream's lease has run out, or a pending dream was not started.
    Run,
    /// An ended run's text is past retention.
    Prune,
    /// A deletion is not done.
    Erase,
    /// A summary could not be made, and is to be tried again.
    Summary,
}

impl DueKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Timer => "timer",
            Self::Disabled => "disabled",
            Self::Run => "run",
            Self::Prune => "prune",
            Self::Erase => "erase",
            Self::Summary => "summary",
        }
    }
}

/// Microseconds as 20 digits: sort keys compare as text.
pub(crate) fn sortable(at: Time) -> String {
    format!("{:020}", at.micros().max(0))
}

/// Where an item stands in the due index.
pub(crate) fn due_key(kind: DueKind, entity: &str, at: Time) -> DueKey {
    let shard = digest(&["due", entity]).bytes().map(u32::from).sum::<u32>() % SHARDS;
    DueKey {
        pk: shard_key(kind, shard),
        sk: sortable(at),
    }
}

fn shard_key(kind: DueKind, shard: u32) -> String {
    format!("DUE#{}#{shard:02}", kind.as_str())
}

impl Table {
    /// The keys of items that were due at `now`: the oldest `per_shard` of each shard. Eventually consistent; whoever
    /// acts on one reads its item first.
    pub(crate) async fn due(&self, kind: DueKind, now: Time, per_shard: usize) -> Result<Vec<Key>> {
        let mut keys = Vec::new();
        for shard in 0..SHARDS {
            let query = Query::index(DUE_INDEX, shard_key(kind, shard))
                .up_to(sortable(now))
                .limit(per_shard);
            keys.extend(self.query(query).await?.iter().map(Key::of));
        }
        Ok(keys)
    }
}

/// Removes an item's place in the due index, for updates.
pub(crate) const LEAVE: [&str; 2] = [key::DUE_PK, key::DUE_SK];
