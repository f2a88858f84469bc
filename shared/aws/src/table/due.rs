//! The due index: a sparse, sharded view of what must be looked at by when, whatever happened to queues and schedules.
//!
//! An item is in it while it carries `due_pk = DUE#<kind>#<shard>` and `due_sk = <microseconds>`. Whoever looks at one
//! puts it off first ([`Table::take_due`]), so that one that fails, or ends its process, goes to the end of the line; the
//! write that deals with it sets its next time, or takes it out. `due_looks` counts how often it was put off since.

use reverie_core::id::{WorkspaceUid, digest};
use reverie_core::time::Time;
use serde::de::DeserializeOwned;

use super::expression::n;
use super::schema::{DUE_INDEX, key};
use super::{Clause, Condition, DueKey, Item, Key, Query, Result, Table, from_item, s};

/// How many shards a kind has: the index's partitions share the writes.
pub const SHARDS: u32 = 16;

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
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Session,
        Self::Timer,
        Self::Disabled,
        Self::Run,
        Self::Prune,
        Self::Erase,
        Self::Summary,
    ];

    /// The word in keys and logs.
    pub const fn as_str(self) -> &'static str {
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

/// An entry of the index whose time has come. The index may lag behind its item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    partition: String,
    key: Key,
}

impl Due {
    /// The item's key, for logs: ids only.
    pub fn name(&self) -> String {
        self.key.text()
    }

    /// The workspace of a session's work.
    pub fn workspace(&self) -> WorkspaceUid {
        WorkspaceUid::trusted(self.key.pk.trim_start_matches("Q#"))
    }
}

/// A due item as it is, put off: whoever did that deals with it.
#[derive(Clone, Debug)]
pub struct Taken(Item);

impl Taken {
    /// The item.
    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        from_item(self.0)
    }

    /// How often it has been put off since something was done about it, this time included.
    fn looks(&self) -> u32 {
        let looks = self.0.get(key::DUE_LOOKS).and_then(|looks| looks.as_n().ok());
        looks.and_then(|looks| looks.parse().ok()).unwrap_or(1)
    }
}

impl Table {
    /// The entries of one shard that were due at `now`, the oldest `limit`.
    pub async fn due(&self, kind: DueKind, shard: u32, now: Time, limit: usize) -> Result<Vec<Due>> {
        let partition = shard_key(kind, shard);
        let query = Query::index(DUE_INDEX, &partition).up_to(sortable(now)).limit(limit);
        let items = self.query(query).await?;
        let due = |item| Due {
            partition: partition.clone(),
            key: Key::of(item),
        };
        Ok(items.iter().map(due).collect())
    }

    /// Puts a due item off and gives it as it is; `None` when it is not due any more, or somebody else was faster. `next`
    /// says until when, from how often it has been put off already.
    pub async fn take_due(&self, due: &Due, now: Time, next: impl Fn(u32) -> Time) -> Result<Option<Taken>> {
        let put_off = |looks| Clause::Set(key::DUE_SK, s(sortable(next(looks))));
        let still = |until| {
            Condition::All(vec![
                Condition::Equals(key::DUE_PK, s(&due.partition)),
                Condition::AtMost(key::DUE_SK, s(sortable(until))),
            ])
        };
        let clauses = [put_off(0), Clause::Add(key::DUE_LOOKS, 1)];
        let Some(item) = self.update(&due.key, &clauses, &still(now)).await? else {
            return Ok(None);
        };
        let taken = Taken(item);
        let before = taken.looks().saturating_sub(1);
        if next(before) > next(0) {
            // Whoever has changed it meanwhile has set its time, which stays.
            let ours = Condition::All(vec![
                Condition::Equals(key::DUE_PK, s(&due.partition)),
                Condition::Equals(key::DUE_SK, s(sortable(next(0)))),
                Condition::Equals(key::DUE_LOOKS, n(taken.looks())),
            ]);
            self.update(&due.key, &[put_off(before)], &ours).await?;
        }
        Ok(Some(taken))
    }

    /// A due item as it is now, left in its place; `None` when it is gone.
    pub async fn read_due<T: DeserializeOwned>(&self, due: &Due) -> Result<Option<T>> {
        self.get_as(&due.key).await
    }
}

/// Puts an item anew into the index, for updates.
pub(crate) fn enter(due: DueKey) -> [Clause; 3] {
    [
        Clause::Set(key::DUE_PK, s(due.pk)),
        Clause::Set(key::DUE_SK, s(due.sk)),
        Clause::Remove(key::DUE_LOOKS),
    ]
}

/// Removes an item's place in the index, for updates.
pub(crate) const LEAVE: [&str; 3] = [key::DUE_PK, key::DUE_SK, key::DUE_LOOKS];
