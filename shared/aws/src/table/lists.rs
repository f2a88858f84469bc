//! Lists in creation order, with totals: `LW`, `LP#{workspace}`, `LS#{workspace}`, `LR#{workspace}`.
//!
//! A list is one partition of the base table, so that it is read after write. Its rows are
//! `R#{created_at, 20 digits}#{tie}`, where the tie is the digest from which the entity's key follows; its total is the
//! sum of 16 counters `N#{00..15}`, so that creating entities does not serialise on one item. Row and counter are
//! written in the transaction that creates the entity.
//!
//! A counter marked `closed` refuses new rows: closing all sixteen is how the deletion of the list's owner stops
//! writers.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use reverie_core::id::{WorkspaceUid, digest};
use reverie_core::time::Time;

use super::due::sortable;
use super::expression::{Clause, Condition, n, s};
use super::schema::key;
use super::{BATCH_KEYS, Item, Key, Query, Result, SCHEMA_VERSION, Table, Write, from_item};

/// How many counters a list's total is spread over.
const SHARDS: u8 = 16;
/// The most entities that one transaction can add to a list: each is an item and a row, and there are the counters.
pub(crate) const MAX_ADDED: usize = (super::TRANSACTION_ITEMS - SHARDS as usize) / 2;

/// All workspaces.
pub(crate) const WORKSPACES: &str = "LW";

/// The peers of a workspace.
pub(crate) fn peers(workspace: &WorkspaceUid) -> String {
    format!("LP#{workspace}")
}

/// The sessions of a workspace.
pub(crate) fn sessions(workspace: &WorkspaceUid) -> String {
    format!("LS#{workspace}")
}

/// The representations of a workspace.
pub(crate) fn representations(workspace: &WorkspaceUid) -> String {
    format!("LR#{workspace}")
}

/// A part of a list, as clients ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Which page, from 1.
    pub page: usize,
    /// Items per page.
    pub size: usize,
    /// Whether the list is read from its other end.
    pub reverse: bool,
}

impl Paging {
    /// How many items precede the page.
    pub fn offset(&self) -> usize {
        self.page.saturating_sub(1).saturating_mul(self.size)
    }

    /// The page of items that are all at hand, in the list's order.
    pub fn of<T>(&self, mut items: Vec<T>) -> Page<T> {
        let total = items.len();
        if self.reverse {
            items.reverse();
        }
        let items = items.into_iter().skip(self.offset()).take(self.size).collect();
        Page { items, total }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Its items.
    pub items: Vec<T>,
    /// How many items the list has.
    pub total: usize,
}

impl<T> Page<T> {
    /// The same page of other items.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(f).collect(),
            total: self.total,
        }
    }
}

/// Finds a page among items that come one by one in the list's order, and keeps no other.
#[derive(Clone, Debug)]
pub struct Sieve<T> {
    paging: Paging,
    page: Page<T>,
}

impl<T> Sieve<T> {
    /// For a page.
    pub fn new(paging: Paging) -> Self {
        let (items, total) = (Vec::new(), 0);
        Self {
            paging,
            page: Page { items, total },
        }
    }

    /// Takes the next item; of a reversed list, from its other end.
    pub fn offer(&mut self, item: T) {
        if self.page.total >= self.paging.offset() && self.page.items.len() < self.paging.size {
            self.page.items.push(item);
        }
        self.page.total += 1;
    }

    /// The page, once everything was offered.
    pub fn page(self) -> Page<T> {
        self.page
    }
}

/// Which entities of a list are wanted.
#[allow(missing_debug_implementations, reason = "holds a function")]
pub struct Choice<'a, T> {
    /// The names of which an entity must have one; `None` when any will do.
    pub names: Option<BTreeSet<&'a str>>,
    /// What else it must pass.
    pub wanted: &'a (dyn Fn(&T) -> bool + Send + Sync),
}

/// An entity of a list whose ties are the digests of names.
pub(crate) trait Listed: DeserializeOwned {
    /// When it was created.
    fn created_at(&self) -> Time;
    /// Its name.
    fn name(&self) -> &str;
}

/// The lists of a workspace: they are closed when it is deleted.
pub(crate) fn of_workspace(workspace: &WorkspaceUid) -> [String; 3] {
    [peers(workspace), sessions(workspace), representations(workspace)]
}

#[derive(Deserialize)]
struct Counter {
    count: i64,
}

fn row_key(list: &str, created_at: Time, tie: &str) -> Key {
    Key::new(list, format!("R#{}#{tie}", sortable(created_at)))
}

/// The tie that a row's key holds.
pub(crate) fn tie(row: &Key) -> Option<&str> {
    row.sk.splitn(3, '#').nth(2)
}

fn row(list: &str, created_at: Time, tie: &str, attributes: &[(&str, &str)]) -> Item {
    let own = [
        (key::PK, list),
        (key::SK, &row_key(list, created_at, tie).sk),
        ("type", "list_row"),
    ];
    let all = own.iter().chain(attributes);
    let mut item: Item = all.map(|(name, value)| ((*name).to_owned(), s(*value))).collect();
    item.insert("v".to_owned(), n(SCHEMA_VERSION));
    item
}

fn shard(tie: &str) -> u8 {
    // Ties are digests in most lists, but not in all: hashed again, any tie spreads.
    digest(&[tie]).bytes().last().unwrap_or(0) % SHARDS
}

/// The writes that add entities to a list: one row each, and one update per counter that they fall to, because a
/// transaction may name an item only once.
///
/// A condition that fails at a counter says that the list is closed.
pub(crate) fn enter_all<'a>(list: &str, entities: impl IntoIterator<Item = (Time, &'a str)>) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut counts = BTreeMap::<u8, i64>::new();
    for (created_at, tie) in entities {
        writes.push(Write::put(row(list, created_at, tie, &[])));
        *counts.entry(shard(tie)).or_default() += 1;
    }
    writes.extend(counts.into_iter().map(|(shard, count)| counted(list, shard, count)));
    writes
}

fn counter(list: &str, shard: u8) -> Key {
    Key::new(list, format!("N#{shard:02}"))
}

fn counted(list: &str, shard: u8, count: i64) -> Write {
    Write::update(counter(list, shard), vec![Clause::Add("count", count)]).when(Condition::Absent("closed"))
}

/// The two writes that take an entity off a list.
pub(crate) fn leave(list: &str, created_at: Time, tie: &str) -> [Write; 2] {
    [
        Write::delete(row_key(list, created_at, tie)),
        Write::update(counter(list, shard(tie)), vec![Clause::Add("count", -1)]),
    ]
}

/// The sixteen writes that close a list for good; only an empty one, when `empty`.
pub(crate) fn close(list: &str, empty: bool) -> impl Iterator<Item = Write> {
    (0..SHARDS).map(move |shard| {
        let clauses = vec![
            Clause::Add("count", 0),
            Clause::Set("closed", AttributeValue::Bool(true)),
        ];
        let write = Write::update(counter(list, shard), clauses);
        if empty {
            write.when(Condition::Any(vec![
                Condition::Absent("count"),
                Condition::Equals("count", n(0)),
            ]))
        } else {
            write
        }
    })
}

/// The sixteen writes that let a closed list's counters expire: they refuse whoever still writes under it until then.
pub(crate) fn expire(list: &str, at: Time) -> impl Iterator<Item = Write> {
    (0..SHARDS).map(move |shard| {
        let clauses = vec![Clause::Set(key::TTL, n(at.seconds()))];
        Write::update(counter(list, shard), clauses).if_there()
    })
}

/// The two writes that add one entity to a list, with attributes of ours on its row.
pub(crate) fn enter(list: &str, created_at: Time, tie: &str, attributes: &[(&str, &str)]) -> Vec<Write> {
    vec![
        Write::put(row(list, created_at, tie, attributes)),
        counted(list, shard(tie), 1),
    ]
}

impl Table {
    /// The ties of one page of a list, and the list's total. Reads the rows up to the end of the page, and no entity.
    pub(crate) async fn list(&self, list: &str, paging: Paging) -> Result<Page<String>> {
        let mut total = 0;
        for counter in self.query(Query::of(list).prefix("N#")).await? {
            total += from_item::<Counter>(counter)?.count;
        }
        let total = usize::try_from(total).unwrap_or(0);
        if paging.offset() >= total {
            return Ok(Page {
                items: Vec::new(),
                total,
            });
        }
        let rows = Query::of(list)
            .prefix("R#")
            .reverse(paging.reverse)
            .limit(paging.offset() + paging.size);
        let rows = self.query(rows).await?;
        let items = rows
            .iter()
            .skip(paging.offset())
            .filter_map(|row| tie(&Key::of(row)).map(str::to_owned))
            .collect();
        Ok(Page { items, total })
    }

    /// A page of a list with its entities, oldest first: of all of them, or of those that are wanted.
    ///
    /// Up to a hundred names are read by key. Otherwise the whole list is gone through, a hundred entities at a time:
    /// who asks for a total of what matches asks for that.
    pub(crate) async fn list_entities<T: Listed>(
        &self,
        list: &str,
        paging: Paging,
        choice: Option<&Choice<'_, T>>,
        head_of: impl Fn(&str) -> Key,
    ) -> Result<Page<T>> {
        let Some(choice) = choice else {
            let ties = self.list(list, paging).await?;
            let items = self.heads(ties.items.iter().map(|tie| head_of(tie)).collect()).await?;
            let total = ties.total;
            return Ok(Page { items, total });
        };
        if let Some(names) = choice.names.as_ref().filter(|names| names.len() <= BATCH_KEYS) {
            let keys = names.iter().map(|name| head_of(&digest(&[name]))).collect();
            let mut found: Vec<T> = self.heads(keys).await?;
            found.retain(|entity| (choice.wanted)(entity));
            found.sort_by_cached_key(|entity| (entity.created_at(), digest(&[entity.name()])));
            return Ok(paging.of(found));
        }
        let mut sieve = Sieve::new(paging);
        let mut after = None;
        loop {
            let rows = Query::of(list).prefix("R#").reverse(paging.reverse).limit(BATCH_KEYS);
            let rows: Vec<_> = self.query(rows.after(after)).await?.iter().map(Key::of).collect();
            let keys = rows.iter().filter_map(|row| tie(row).map(&head_of)).collect();
            let found: Vec<T> = self.heads(keys).await?;
            found
                .into_iter()
                .filter(|entity| (choice.wanted)(entity))
                .for_each(|entity| sieve.offer(entity));
            if rows.len() < BATCH_KEYS {
                return Ok(sieve.page());
            }
            after = rows.into_iter().next_back();
        }
    }

    /// The entities at these keys, in this order. One whose row was read and that is gone by now is left out.
    async fn heads<T: DeserializeOwned>(&self, keys: Vec<Key>) -> Result<Vec<T>> {
        let mut found = self.get_many(keys.iter().cloned()).await?;
        keys.iter().filter_map(|key| found.remove(key)).map(from_item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_names_each_counter_once() {
        let ties: Vec<_> = (0..MAX_ADDED).map(|n| digest(&[&n.to_string()])).collect();
        let writes = enter_all("L", ties.iter().map(|tie| (Time::from_seconds(1), tie.as_str())));
        let mut counters = Vec::new();
        let mut added = 0;
        for write in &writes {
            if let Write::Update { key, clauses, .. } = write {
                counters.push(key.sk.clone());
                if let [Clause::Add("count", by)] = clauses.as_slice() {
                    added += by;
                }
            }
        }
        let distinct: std::collections::BTreeSet<_> = counters.iter().collect();
        assert_eq!(distinct.len(), counters.len());
        assert_eq!(added, i64::try_from(MAX_ADDED).unwrap_or(0));
        assert!(writes.len() + MAX_ADDED <= super::super::TRANSACTION_ITEMS);
    }

    #[test]
    fn pages_of_items_at_hand() {
        let page = |page, size, reverse| Paging { page, size, reverse }.of(vec![1, 2, 3, 4, 5]);
        assert_eq!(page(1, 2, false).items, [1, 2]);
        assert_eq!(page(3, 2, false).items, [5]);
        assert_eq!(page(1, 2, true).items, [5, 4]);
        assert_eq!(
            page(9, 2, false),
            Page {
                items: vec![],
                total: 5
            }
        );
        assert_eq!(page(usize::MAX, 100, false).items, Vec::<i32>::new());
    }

    #[test]
    fn a_sieve_finds_the_page_that_all_items_at_hand_would_have() {
        for (page, size) in [(1, 2), (2, 2), (3, 2), (4, 2), (1, 100), (usize::MAX, 100)] {
            let paging = Paging {
                page,
                size,
                reverse: false,
            };
            let mut sieve = Sieve::new(paging);
            (1..=5).for_each(|item| sieve.offer(item));
            assert_eq!(sieve.page(), paging.of(vec![1, 2, 3, 4, 5]));
        }
    }
}
