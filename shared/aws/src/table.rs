//! The single table: `PK`/`SK`, two indexes, typed outcomes. Every entity's keys and access patterns are in its file.
//!
//! `docs/data-model.md` lists them all.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, DeleteRequest, KeysAndAttributes, Put, ReturnValue, TransactWriteItem,
    Update, WriteRequest,
};
use reverie_core::time::doubled;
use serde::Serialize;
use serde::de::DeserializeOwned;

mod error;
mod expression;
mod schema;

pub mod activity;
pub mod changes;
pub mod conclusions;
pub mod due;
pub mod erasure;
pub mod failures;
pub mod idempotency;
pub mod lists;
pub mod members;
pub mod messages;
pub mod packs;
pub mod peers;
pub mod representations;
pub mod runs;
pub mod sessions;
pub mod summaries;
pub mod units;
pub mod work;
pub mod workspaces;

pub use error::TableError;
pub use schema::create as create_table;

use error::{Kind, failure, kind};
use expression::{Aliases, Clause, Condition, Item, n, s};
use schema::key;

/// Result of a table call.
pub type Result<T, E = TableError> = std::result::Result<T, E>;

/// How often a write is tried again on a conflict or a throttle before the caller hears of it.
const ATTEMPTS: u32 = 10;
/// The most items that one transaction may touch.
pub const TRANSACTION_ITEMS: usize = 100;
/// The most keys of one batch read.
const BATCH_KEYS: usize = 100;
/// The most items of one batch of deletes.
const BATCH_DELETES: usize = 25;
/// The version of the items' schema, written on each.
const SCHEMA_VERSION: u32 = 1;

/// The table. Cheap to share; one per process.
#[derive(Debug)]
pub struct Table {
    client: Client,
    name: String,
    /// Uids by name, as hints: whoever uses one checks it against the head item that is read with it.
    uids: Mutex<HashMap<String, String>>,
}

/// A primary key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

impl Key {
    pub(crate) fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
        }
    }

    fn item(&self) -> Item {
        HashMap::from([(key::PK.to_owned(), s(&self.pk)), (key::SK.to_owned(), s(&self.sk))])
    }

    /// The key of an item that was read.
    fn of(item: &Item) -> Self {
        let part = |name| {
            item.get(name)
                .and_then(|v: &AttributeValue| v.as_s().ok())
                .cloned()
                .unwrap_or_default()
        };
        Self {
            pk: part(key::PK),
            sk: part(key::SK),
        }
    }

    fn text(&self) -> String {
        format!("{} {}", self.pk, self.sk)
    }
}

/// A place in the due index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DueKey {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Put {
        item: Item,
        when: Option<Condition>,
    },
    Update {
        key: Key,
        clauses: Vec<Clause>,
        when: Option<Condition>,
    },
    Delete {
        key: Key,
        when: Option<Condition>,
    },
    Check {
        key: Key,
        when: Condition,
    },
}

impl Write {
    pub(crate) fn put(item: Item) -> Self {
        Self::Put { item, when: None }
    }

    pub(crate) fn update(key: Key, clauses: Vec<Clause>) -> Self {
        Self::Update {
            key,
            clauses,
            when: None,
        }
    }

    pub(crate) fn delete(key: Key) -> Self {
        Self::Delete { key, when: None }
    }

    pub(crate) fn check(key: Key, when: Condition) -> Self {
        Self::Check { key, when }
    }

    pub(crate) fn when(mut self, condition: Condition) -> Self {
        match &mut self {
            Self::Put { when, .. } | Self::Update { when, .. } | Self::Delete { when, .. } => *when = Some(condition),
            Self::Check { when, .. } => *when = condition,
        }
        self
    }

    pub(crate) fn if_absent(self) -> Self {
        self.when(Condition::Absent(key::PK))
    }

    pub(crate) fn if_there(self) -> Self {
        self.when(Condition::Exists(key::PK))
    }

    fn render(&self, table: &str) -> Result<TransactWriteItem> {
        let mut aliases = Aliases::default();
        let item = TransactWriteItem::builder();
        Ok(match self {
            Self::Put { item: attributes, when } => {
                let condition = when.as_ref().map(|c| aliases.condition(c));
                item.put(
                    Put::builder()
                        .table_name(table)
                        .set_item(Some(attributes.clone()))
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(aliases.names())
                        .set_expression_attribute_values(aliases.values())
                        .build()?,
                )
            }
            Self::Update { key, clauses, when } => {
                let update = aliases.update(clauses);
                let condition = when.as_ref().map(|c| aliases.condition(c));
                item.update(
                    Update::builder()
                        .table_name(table)
                        .set_key(Some(key.item()))
                        .update_expression(update)
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(aliases.names())
                        .set_expression_attribute_values(aliases.values())
                        .build()?,
                )
            }
            Self::Delete { key, when } => {
                let condition = when.as_ref().map(|c| aliases.condition(c));
                item.delete(
                    Delete::builder()
                        .table_name(table)
                        .set_key(Some(key.item()))
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(aliases.names())
                        .set_expression_attribute_values(aliases.values())
                        .build()?,
                )
            }
            Self::Check { key, when } => {
                let condition = aliases.condition(when);
                item.condition_check(
                    ConditionCheck::builder()
                        .table_name(table)
                        .set_key(Some(key.item()))
                        .condition_expression(condition)
                        .set_expression_attribute_names(aliases.names())
                        .set_expression_attribute_values(aliases.values())
                        .build()?,
                )
            }
        }
        .build())
    }
}

/// A query over one partition of the table or of an index.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    index: Option<&'static str>,
    pk: String,
    range: Range,
    reverse: bool,
    limit: Option<usize>,
    after: Option<Key>,
    keys_only: bool,
    consistent: bool,
}

/// A condition on the sort key.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    All,
    Prefix(String),
    Between(String, String),
    UpTo(String),
}

impl Query {
    /// Everything of a partition, strongly consistent, ascending.
    pub(crate) fn of(pk: impl Into<String>) -> Self {
        Self {
            index: None,
            pk: pk.into(),
            range: Range::All,
            reverse: false,
            limit: None,
            after: None,
            keys_only: false,
            consistent: true,
        }
    }

    /// Over an index: eventually consistent.
    pub(crate) fn index(index: &'static str, pk: impl Into<String>) -> Self {
        Self {
            index: Some(index),
            consistent: false,
            ..Self::of(pk)
        }
    }

    pub(crate) fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.range = Range::Prefix(prefix.into());
        self
    }

    pub(crate) fn between(mut self, low: impl Into<String>, high: impl Into<String>) -> Self {
        self.range = Range::Between(low.into(), high.into());
        self
    }

    pub(crate) fn up_to(mut self, high: impl Into<String>) -> Self {
        self.range = Range::UpTo(high.into());
        self
    }

    pub(crate) fn reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Only the items' keys.
    pub(crate) fn keys_only(mut self) -> Self {
        self.keys_only = true;
        self
    }

    /// Only what follows this item of the table, in the direction of reading.
    pub(crate) fn after(mut self, after: Option<Key>) -> Self {
        self.after = after;
        self
    }

    pub(crate) fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl Table {
    /// A table behind a client.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
            uids: Mutex::default(),
        }
    }

    /// The uid last seen under a name of ours; only a hint.
    pub(crate) fn hint(&self, name: &str) -> Option<String> {
        self.uids.lock().ok()?.get(name).cloned()
    }

    /// Remembers a uid; forgets everything when there are many, which only costs reads.
    pub(crate) fn remember(&self, name: String, uid: String) {
        if let Ok(mut uids) = self.uids.lock() {
            if uids.len() >= 10_000 {
                uids.clear();
            }
            uids.insert(name, uid);
        }
    }

    /// One item, strongly consistent.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Item>> {
        let mut backoff = Backoff::default();
        loop {
            let got = self
                .client
                .get_item()
                .table_name(&self.name)
                .set_key(Some(key.item()))
                .consistent_read(true)
                .send()
                .await;
            match got {
                Ok(output) => return Ok(output.item),
                Err(error) if kind(&error) == Kind::Throttle && backoff.again() => backoff.wait().await,
                Err(error) => return Err(failure("read an item", error)),
            }
        }
    }

    /// One entity, strongly consistent.
    pub(crate) async fn get_as<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        self.get(key).await?.map(from_item).transpose()
    }

    /// Many items, strongly consistent, by key; missing ones are absent from the answer. Unprocessed keys are asked
    /// again.
    pub(crate) async fn get_many(&self, keys: impl IntoIterator<Item = Key>) -> Result<HashMap<Key, Item>> {
        let keys: Vec<_> = keys.into_iter().collect::<HashSet<_>>().into_iter().collect();
        let mut found = HashMap::new();
        for chunk in keys.chunks(BATCH_KEYS) {
            let mut pending: Vec<Item> = chunk.iter().map(Key::item).collect();
            let mut backoff = Backoff::default();
            while !pending.is_empty() {
                let wanted = KeysAndAttributes::builder()
                    .set_keys(Some(pending))
                    .consistent_read(true)
                    .build()?;
                let got = self
                    .client
                    .batch_get_item()
                    .request_items(&self.name, wanted.clone())
                    .send()
                    .await;
                pending = match got {
                    Ok(output) => {
                        let items = output
                            .responses
                            .and_then(|mut tables| tables.remove(&self.name))
                            .unwrap_or_default();
                        found.extend(items.into_iter().map(|item| (Key::of(&item), item)));
                        output
                            .unprocessed_keys
                            .and_then(|mut tables| tables.remove(&self.name))
                            .map(|rest| rest.keys)
                            .unwrap_or_default()
                    }
                    Err(error) if kind(&error) == Kind::Throttle => wanted.keys,
                    Err(error) => return Err(failure("read items", error)),
                };
                if !pending.is_empty() {
                    if !backoff.again() {
                        return Err(TableError::Throttled);
                    }
                    backoff.wait().await;
                }
            }
        }
        Ok(found)
    }

    /// The items of a query, page by page until the limit or the end.
    pub(crate) async fn query(&self, query: Query) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        let mut start = query.after.as_ref().map(Key::item);
        let mut backoff = Backoff::default();
        loop {
            let (hash, range) = match query.index {
                None => (key::PK, key::SK),
                Some(schema::DUE_INDEX) => (key::DUE_PK, key::DUE_SK),
                Some(_) => (key::PEER_PK, key::PEER_SK),
            };
            let mut aliases = Aliases::default();
            let partition = format!("{} = {}", aliases.name(hash), aliases.value(s(&query.pk)));
            let expression = match &query.range {
                Range::All => partition,
                Range::Prefix(prefix) => {
                    let (name, prefix) = (aliases.name(range), aliases.value(s(prefix)));
                    format!("{partition} AND begins_with({name}, {prefix})")
                }
                Range::Between(low, high) => {
                    let (name, low, high) = (aliases.name(range), aliases.value(s(low)), aliases.value(s(high)));
                    format!("{partition} AND {name} BETWEEN {low} AND {high}")
                }
                Range::UpTo(high) => {
                    let (name, high) = (aliases.name(range), aliases.value(s(high)));
                    format!("{partition} AND {name} <= {high}")
                }
            };
            let projection = query
                .keys_only
                .then(|| format!("{}, {}", aliases.name(key::PK), aliases.name(key::SK)));
            let left = query.limit.map(|limit| limit.saturating_sub(items.len()));
            let got = self
                .client
                .query()
                .table_name(&self.name)
                .set_index_name(query.index.map(str::to_owned))
                .key_condition_expression(expression)
                .set_projection_expression(projection)
                .set_expression_attribute_names(aliases.names())
                .set_expression_attribute_values(aliases.values())
                .scan_index_forward(!query.reverse)
                .consistent_read(query.consistent)
                .set_limit(left.and_then(|left| i32::try_from(left).ok()))
                .set_exclusive_start_key(start.clone())
                .send()
                .await;
            match got {
                Ok(output) => {
                    items.extend(output.items.unwrap_or_default());
                    start = output.last_evaluated_key;
                    if start.is_none() || query.limit.is_some_and(|limit| items.len() >= limit) {
                        return Ok(items);
                    }
                    backoff = Backoff::default();
                }
                Err(error) if kind(&error) == Kind::Throttle && backoff.again() => backoff.wait().await,
                Err(error) => return Err(failure("query", error)),
            }
        }
    }

    /// Updates one item and gives it as it is then; `None` when the condition does not hold. For what may be done twice:
    /// an answer that is lost is an error.
    pub(crate) async fn update(&self, key: &Key, clauses: &[Clause], when: &Condition) -> Result<Option<Item>> {
        let mut aliases = Aliases::default();
        let (update, condition) = (aliases.update(clauses), aliases.condition(when));
        let mut backoff = Backoff::default();
        loop {
            let sent = self
                .client
                .update_item()
                .table_name(&self.name)
                .set_key(Some(key.item()))
                .update_expression(&update)
                .condition_expression(&condition)
                .set_expression_attribute_names(aliases.names())
                .set_expression_attribute_values(aliases.values())
                .return_values(ReturnValue::AllNew)
                .send()
                .await;
            match sent {
                Ok(output) => return Ok(output.attributes),
                Err(error) => match kind(&error) {
                    Kind::Condition => return Ok(None),
                    Kind::Conflict | Kind::Throttle if backoff.again() => backoff.wait().await,
                    _ => return Err(failure("update an item", error)),
                },
            }
        }
    }

    /// Deletes items by key, whatever they are; those that are not there are no error. Not atomic.
    pub(crate) async fn delete_all(&self, keys: impl IntoIterator<Item = Key>) -> Result<()> {
        let keys: Vec<_> = keys.into_iter().collect::<HashSet<_>>().into_iter().collect();
        for chunk in keys.chunks(BATCH_DELETES) {
            let mut pending = Vec::new();
            for key in chunk {
                let delete = DeleteRequest::builder().set_key(Some(key.item())).build()?;
                pending.push(WriteRequest::builder().delete_request(delete).build());
            }
            let mut backoff = Backoff::default();
            while !pending.is_empty() {
                let sent = self
                    .client
                    .batch_write_item()
                    .request_items(&self.name, pending.clone())
                    .send()
                    .await;
                pending = match sent {
                    Ok(output) => output
                        .unprocessed_items
                        .and_then(|mut tables| tables.remove(&self.name))
                        .unwrap_or_default(),
                    Err(error) if kind(&error) == Kind::Throttle => pending,
                    Err(error) => return Err(failure("delete items", error)),
                };
                if !pending.is_empty() {
                    if !backoff.again() {
                        return Err(TableError::Throttled);
                    }
                    backoff.wait().await;
                }
            }
        }
        Ok(())
    }

    /// Writes all or nothing. Conflicts and throttles are tried again with the same token, so a write whose answer was
    /// lost is not done twice; failed conditions come back with their places.
    pub(crate) async fn transact(&self, writes: &[Write]) -> Result<()> {
        let items = writes
            .iter()
            .map(|write| write.render(&self.name))
            .collect::<Result<Vec<_>>>()?;
        let token = format!("{:032x}", random());
        let mut backoff = Backoff::default();
        loop {
            let sent = self
                .client
                .transact_write_items()
                .set_transact_items(Some(items.clone()))
                .client_request_token(&token)
                .send()
                .await;
            let Err(error) = sent else { return Ok(()) };
            let reasons = match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    cancelled.cancellation_reasons()
                }
                _ => &[],
            };
            let kinds: Vec<_> = reasons
                .iter()
                .map(|reason| reason.code().map_or(Kind::Other, Kind::of_code))
                .collect();
            let failed: Vec<_> = (0..kinds.len())
                .filter(|place| kinds[*place] == Kind::Condition)
                .collect();
            if !failed.is_empty() {
                return Err(TableError::Condition(failed));
            }
            let kind = if kinds.contains(&Kind::Conflict) {
                Kind::Conflict
            } else if kinds.contains(&Kind::Throttle) {
                Kind::Throttle
            } else {
                kind(&error)
            };
            match kind {
                Kind::Conflict | Kind::Throttle if backoff.again() => backoff.wait().await,
                Kind::Conflict => return Err(TableError::Conflict),
                Kind::Throttle => return Err(TableError::Throttled),
                _ => return Err(failure("write", error)),
            }
        }
    }
}

/// Waits with full jitter, 10 ms doubling to half a second.
#[derive(Debug, Default)]
struct Backoff {
    attempt: u32,
}

impl Backoff {
    /// Whether one more attempt is allowed.
    fn again(&mut self) -> bool {
        self.attempt += 1;
        self.attempt < ATTEMPTS
    }

    async fn wait(&self) {
        let most = doubled(Duration::from_millis(10), self.attempt, Duration::from_millis(500)).as_millis();
        let part = u64::try_from(random() % most).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(part)).await;
    }
}

/// Random bits for tokens and jitter; falls back to zero bits, which only costs collisions of waiting times.
fn random() -> u128 {
    let mut bytes = [0_u8; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::warn!(error = %error, "no random numbers from the system");
    }
    u128::from_ne_bytes(bytes)
}

/// An entity as an item: its attributes, its key, its type and the schema's version.
pub(crate) fn to_item<T: Serialize>(key: &Key, kind: &str, entity: &T) -> Result<Item> {
    let mut item: Item = serde_dynamo::to_item(entity).map_err(|source| TableError::Call {
        what: "encode an item",
        source: Box::new(source),
    })?;
    item.extend(key.item());
    item.insert("type".to_owned(), s(kind));
    item.insert("v".to_owned(), n(SCHEMA_VERSION));
    Ok(item)
}

/// An attribute's value from anything that serialises.
pub(crate) fn to_value<T: Serialize>(value: &T) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(value).map_err(|source| TableError::Call {
        what: "encode an attribute",
        source: Box::new(source),
    })
}

/// An item as an entity. Unknown attributes are ignored, so that older code reads newer items.
pub(crate) fn from_item<T: DeserializeOwned>(item: Item) -> Result<T> {
    let key = Key::of(&item);
    serde_dynamo::from_item(item).map_err(|source| TableError::Malformed {
        key: key.text(),
        source: Box::new(source),
    })
}

/// Puts an item into the due index.
pub(crate) fn with_due(mut item: Item, due: &DueKey) -> Item {
    item.insert(key::DUE_PK.to_owned(), s(&due.pk));
    item.insert(key::DUE_SK.to_owned(), s(&due.sk));
    item
}

/// Users' JSON kept as one string attribute: exact numbers, any key.
pub(crate) mod json_text {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map_err(D::Error::custom)
    }
}
