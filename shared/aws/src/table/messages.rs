//! Messages: one block item per POST, the session's cursor, and what ingest keeps between deriving and applying.
//!
//! | item | key |
//! |---|---|
//! | block: a POST's messages, zstd | `SU#<session uid>` / `B#<last seq, 20 digits>` |
//! | overlay: edited metadata of one message | `SU#<session uid>` / `O#<seq>` |
//! | cursor: how far ingest has come | `SU#<session uid>` / `CUR` |
//! | answer: what a batch yielded, until it is applied | `SU#<session uid>` / `A#<first seq>#<part>`; of a message that is tried again `A#<seq>r<try>#<part>` |
//! | mark: a unit of an answer that is applied, 2 days | `SU#<session uid>` / `U#<first seq>#<unit>` |
//!
//! A block is written together with `last_seq` in one transaction conditioned on the session being alive: atomic,
//! ordered, and the cursor cannot pass a stalled writer. A block is found by its last sequence number, so that the one
//! that holds a message is the first at or after it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use reverie_core::id::{PeerName, Seq, SessionName, SessionUid, WorkspaceName, WorkspaceUid};
use reverie_core::message::Message;
use reverie_core::reasoner::Derived;
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::activity::{self, Activity};
use super::expression::{Clause, Condition, n, s};
use super::failures;
use super::idempotency::{self, Effect, KeyedRequest, Record, Recording};
use super::members::{self, Member};
use super::peers::{self, Peer};
use super::schema::key;
use super::sessions::{self, Session, SessionState, collection};
use super::work::{self, SessionWork};
use super::workspaces::{self, Workspace};
use super::{Item, Key, Query, Result, TRANSACTION_ITEMS, Table, TableError, Write, from_item, json_text, to_item};

/// The most bytes of messages, as JSON, that go into one block: compressed they stay under an item's 400 KB.
const BLOCK_BYTES: usize = 380_000;
/// The most bytes that one POST may store, compressed.
const POST_BYTES: usize = 3_500_000;
/// Statements per item of a stored answer: a batch has about 1,024 tokens, so one item is the rule.
const ANSWER_PART: usize = 500;
/// How long marks are kept: far longer than any redelivery.
const MARK_LIFE: Duration = Duration::from_hours(48);

/// What a POST has to know before it writes, read in one call when the uids are known.
#[derive(Clone, Debug, Default)]
pub struct Posting {
    /// The workspace, if it exists.
    pub workspace: Option<Workspace>,
    /// The session, if it exists.
    pub session: Option<Session>,
    /// Its state.
    pub state: Option<SessionState>,
    /// The senders that exist as peers.
    pub peers: HashMap<PeerName, Peer>,
    /// The senders that are members of the session.
    pub members: HashMap<PeerName, Member>,
    /// The senders' last activity.
    pub activity: HashMap<PeerName, Activity>,
    /// What is remembered of the request, if it has an idempotency key; it may have expired.
    pub record: Option<Record>,
}

/// Messages to be appended to a session.
#[derive(Debug)]
pub struct Append<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The session.
    pub session: &'a Session,
    /// Its state as it was read.
    pub state: &'a SessionState,
    /// The messages; their sequence numbers follow the state's.
    pub messages: &'a [Message],
    /// Their senders' activity, where it is to be noted.
    pub activity: &'a BTreeMap<PeerName, Activity>,
    /// The record of the request, if it has an idempotency key.
    pub recording: Option<Recording>,
}

/// How far ingest has come in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The last message whose batch is applied.
    pub seq: Seq,
    /// How often the batch after it has failed.
    #[serde(default)]
    pub failures: u32,
    /// The last message of that batch, where a longer one kept failing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Seq>,
    /// The last message of the batch that kept failing: until there one is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<Seq>,
    /// Messages of the next batch that are parked already: what its answer says by them is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Seq>,
}

impl Cursor {
    /// At a message, with nothing known against what follows.
    pub fn at(seq: Seq) -> Self {
        Self { seq, ..Self::default() }
    }

    /// After the batch that ends with `last` went well. What is left of a batch that kept failing is halved once more:
    /// the message at fault is in there.
    #[must_use]
    pub fn passed(&self, last: Seq) -> Self {
        match self.suspect {
            Some(suspect) if suspect > last => Self {
                until: Some(Seq(last.0 + (suspect.0 - last.0).div_ceil(2))),
                suspect: Some(suspect),
                ..Self::at(last)
            },
            _ => Self::at(last),
        }
    }

    /// After the batch after it failed once more.
    #[must_use]
    pub fn failed(&self) -> Self {
        Self {
            failures: self.failures.saturating_add(1),
            ..self.clone()
        }
    }

    /// After the batch that ends with `last` kept failing: its first half is next. `None` when it is one message, which
    /// then is the one at fault.
    pub fn narrowed(&self, last: Seq) -> Option<Self> {
        let length = last.0.saturating_sub(self.seq.0);
        (length > 1).then(|| Self {
            until: Some(Seq(self.seq.0 + length.div_ceil(2))),
            suspect: Some(last),
            ..Self::at(self.seq)
        })
    }
}

/// What a batch yielded, stored before its first effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The batch's first message.
    pub first: Seq,
    /// Its last one.
    pub last: Seq,
    /// When it was derived; part of the ids of what it creates.
    pub at: Time,
    /// The statements.
    pub derived: Derived,
    /// Which try at a parked message it is of; 0 for a batch.
    #[serde(default)]
    pub retry: u32,
}

fn block(session: &SessionUid, last: Seq) -> Key {
    Key::new(collection(session), format!("B#{:020}", last.0))
}

fn overlay(session: &SessionUid, seq: Seq) -> Key {
    Key::new(collection(session), format!("O#{:020}", seq.0))
}

pub(crate) fn cursor(session: &SessionUid) -> Key {
    Key::new(collection(session), "CUR")
}

/// What the sort keys of an answer's parts begin with.
fn answer_prefix(first: Seq, retry: u32) -> String {
    match retry {
        0 => format!("A#{:020}#", first.0),
        retry => format!("A#{:020}r{retry}#", first.0),
    }
}

fn answer(session: &SessionUid, first: Seq, retry: u32, part: usize) -> Key {
    Key::new(collection(session), format!("{}{part:04}", answer_prefix(first, retry)))
}

/// The parts of a stored answer.
pub(crate) fn answer_parts(session: &SessionUid, first: Seq, retry: u32) -> Query {
    Query::of(collection(session)).prefix(answer_prefix(first, retry))
}

/// That the cursor is where it was read.
pub(crate) fn unmoved(seq: Seq) -> Condition {
    let there = Condition::Equals("seq", n(seq));
    if seq == Seq(0) {
        Condition::Any(vec![Condition::Absent(key::PK), there])
    } else {
        there
    }
}

/// A mark that a unit of an answer is applied: written in the unit's transaction, if absent.
pub(crate) fn mark(session: &SessionUid, first: Seq, unit: &str, now: Time) -> Write {
    let key = Key::new(collection(session), format!("U#{:020}#{unit}", first.0));
    let item = Item::from([
        (super::schema::key::PK.to_owned(), s(key.pk)),
        (super::schema::key::SK.to_owned(), s(key.sk)),
        ("type".to_owned(), s("mark")),
        ("v".to_owned(), n(super::SCHEMA_VERSION)),
        (super::schema::key::TTL.to_owned(), n((now + MARK_LIFE).seconds())),
    ]);
    Write::put(item).if_absent()
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, 3).map_err(|source| TableError::Call {
        what: "compress",
        source: Box::new(source),
    })
}

fn decompress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    zstd::stream::decode_all(bytes)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|source| TableError::Call {
        what: "encode",
        source: Box::new(source),
    })
}

/// Compressed JSON as an item's `data`.
pub(crate) fn packed<T: Serialize>(key: &Key, kind: &'static str, value: &T) -> Result<Item> {
    let mut item = to_item(key, kind, &Map::<String, Value>::new())?;
    item.insert(
        "data".to_owned(),
        AttributeValue::B(Blob::new(compress(&json(value)?)?)),
    );
    Ok(item)
}

/// The inverse of [`packed`].
pub(crate) fn unpacked<T: serde::de::DeserializeOwned>(item: &Item) -> Result<T> {
    let malformed = |source: Box<dyn std::error::Error + Send + Sync>| TableError::Malformed {
        key: Key::of(item).text(),
        source,
    };
    let Some(AttributeValue::B(data)) = item.get("data") else {
        return Err(malformed("no data".into()));
    };
    let bytes = decompress(data.as_ref()).map_err(|error| malformed(error.into()))?;
    serde_json::from_slice(&bytes).map_err(|error| malformed(error.into()))
}

/// Splits a POST's messages into blocks under the item limit; `None` when one message, or all together, do not fit.
fn blocks(session: &SessionUid, messages: &[Message]) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let mut stored = 0;
    let mut start = 0;
    while start < messages.len() {
        let mut end = start;
        let mut bytes = 2;
        while end < messages.len() {
            let size = json(&messages[end])?.len() + 1;
            if end > start && bytes + size > BLOCK_BYTES {
                break;
            }
            bytes += size;
            end += 1;
        }
        let group = &messages[start..end];
        let last = group.last().map_or(Seq(0), |message| message.seq);
        let mut item = packed(&block(session, last), "block", &group)?;
        item.insert("first".to_owned(), n(group[0].seq));
        let size = item
            .get("data")
            .and_then(|data| data.as_b().ok())
            .map_or(0, |data| data.as_ref().len());
        stored += size;
        if size > BLOCK_BYTES || stored > POST_BYTES {
            return Err(TableError::TooLarge("the message batch"));
        }
        items.push(item);
        start = end;
    }
    Ok(items)
}

#[derive(Serialize, Deserialize)]
struct Overlay {
    #[serde(with = "json_text")]
    metadata: Map<String, Value>,
}

impl Table {
    /// Reads what a POST must know: one call when the uids of workspace and session are remembered and still right,
    /// two or three when not.
    pub async fn posting(
        &self,
        workspace: &WorkspaceName,
        session: &SessionName,
        senders: &HashSet<PeerName>,
        request: Option<&KeyedRequest>,
    ) -> Result<Posting> {
        let mut posting = Posting::default();
        let workspace_hint = workspaces::hint(workspace);
        let mut workspace_uid = self.hint(&workspace_hint).map(WorkspaceUid::trusted);
        if workspace_uid.is_none() {
            posting.workspace = self.workspace(workspace).await?;
            let Some(found) = &posting.workspace else {
                return Ok(posting);
            };
            workspace_uid = Some(found.uid.clone());
        }
        let Some(mut uid) = workspace_uid else {
            return Ok(posting);
        };
        for _ in 0..3 {
            let session_hint = sessions::hint(&uid, session);
            let session_uid = self.hint(&session_hint).map(SessionUid::trusted);
            let session_head = sessions::head(&uid, session);
            let mut keys = vec![workspaces::head(workspace), session_head.clone()];
            for sender in senders {
                keys.extend([peers::head(&uid, sender), activity::key(&uid, sender)]);
                keys.extend(session_uid.as_ref().map(|session| members::key_of(session, sender)));
            }
            keys.extend(session_uid.as_ref().map(sessions::state));
            let record = request.map(|request| idempotency::place(&uid, request));
            keys.extend(record.clone());
            let mut items = self.get_many(keys).await?;
            posting.workspace = items.remove(&workspaces::head(workspace)).map(from_item).transpose()?;
            let Some(found) = &posting.workspace else {
                return Ok(Posting::default());
            };
            if found.uid != uid {
                uid = found.uid.clone();
                continue;
            }
            self.remember(workspace_hint.clone(), uid.to_string());
            let record = record.and_then(|record| items.remove(&record));
            posting.record = record.map(from_item).transpose()?;
            for sender in senders {
                if let Some(item) = items.remove(&peers::head(&uid, sender)) {
                    posting.peers.insert(sender.clone(), from_item(item)?);
                }
                if let Some(item) = items.remove(&activity::key(&uid, sender)) {
                    posting.activity.insert(sender.clone(), from_item(item)?);
                }
            }
            posting.session = items.remove(&session_head).map(from_item).transpose()?;
            let Some(found) = &posting.session else {
                return Ok(posting);
            };
            if session_uid.as_ref() != Some(&found.uid) {
                self.remember(session_hint, found.uid.to_string());
                let rest = senders
                    .iter()
                    .map(|sender| members::key_of(&found.uid, sender))
                    .chain([sessions::state(&found.uid)]);
                items = self.get_many(rest).await?;
            }
            for sender in senders {
                if let Some(item) = items.remove(&members::key_of(&found.uid, sender)) {
                    posting.members.insert(sender.clone(), from_item(item)?);
                }
            }
            posting.state = items.remove(&sessions::state(&found.uid)).map(from_item).transpose()?;
            return Ok(posting);
        }
        Err(TableError::Conflict)
    }

    /// Appends messages whose sequence numbers follow `state.last_seq`, notes the senders' activity, and puts the
    /// session on the list of work. `Condition` means that the state has changed, or the idempotency key was used: read
    /// again.
    pub async fn append(&self, append: Append<'_>, now: Time) -> Result<()> {
        let Append {
            workspace,
            session,
            state,
            messages,
            activity,
            recording,
        } = append;
        let last = messages.last().map_or(state.last_seq, |message| message.seq);
        let advance = Write::update(
            sessions::state(&session.uid),
            vec![
                Clause::Set("last_seq", n(last)),
                Clause::Set("queued", AttributeValue::Bool(true)),
            ],
        )
        .when(Condition::All(vec![
            Condition::Equals("last_seq", n(state.last_seq)),
            Condition::Equals("queued", AttributeValue::Bool(state.queued)),
            Condition::Equals("alive", AttributeValue::Bool(true)),
        ]));
        let mut writes = vec![advance];
        writes.extend(blocks(&session.uid, messages)?.into_iter().map(Write::put));
        if !state.queued {
            let row = SessionWork {
                workspace: workspace.name.clone(),
                session: session.name.clone(),
                uid: session.uid.clone(),
                since: now,
            };
            writes.push(work::put_session(&workspace.uid, &row)?);
        }
        let mut notes = activity
            .iter()
            .map(|(peer, activity)| activity::put(&workspace.uid, peer, activity))
            .collect::<Result<Vec<_>>>()?;
        if let Some(recording) = recording {
            let effect = Effect::Messages {
                session: session.uid.clone(),
                first: state.last_seq.next(),
                last,
            };
            writes.push(recording.put(effect)?);
        }
        // A hundred senders are more than one transaction takes; what does not fit is written after it.
        let room = TRANSACTION_ITEMS.saturating_sub(writes.len());
        let rest = notes.split_off(notes.len().min(room));
        writes.extend(notes);
        self.transact(&writes).await?;
        if !rest.is_empty()
            && let Err(error) = self.transact(&rest).await
        {
            tracing::warn!(session.uid = %session.uid, error = &error as &dyn std::error::Error, "some activity was not noted");
        }
        Ok(())
    }

    /// The session's state; `None` when the session is gone.
    pub async fn session_state(&self, session: &SessionUid) -> Result<Option<SessionState>> {
        self.get_as(&sessions::state(session)).await
    }

    /// The states of those of the sessions that are there; one that is not alive is being deleted.
    pub async fn session_states<'a>(
        &self,
        sessions: impl IntoIterator<Item = &'a SessionUid>,
    ) -> Result<HashMap<SessionUid, SessionState>> {
        let keys: HashMap<Key, &SessionUid> = sessions.into_iter().map(|uid| (sessions::state(uid), uid)).collect();
        let mut states = HashMap::new();
        for (key, item) in self.get_many(keys.keys().cloned()).await? {
            if let Some(uid) = keys.get(&key) {
                states.insert((*uid).clone(), from_item(item)?);
            }
        }
        Ok(states)
    }

    /// The messages from `first` to `last`, in order, as they were posted.
    pub async fn posted_messages(&self, session: &SessionUid, first: Seq, last: Seq) -> Result<Vec<Message>> {
        if first > last {
            return Ok(Vec::new());
        }
        let mut messages = Vec::new();
        let mut from = first;
        while from <= last {
            // A few blocks at a time: a session may be far longer than what is wanted of it.
            let high = block(session, Seq(u64::MAX / 2)).sk;
            let query = Query::of(collection(session))
                .between(block(session, from).sk, high)
                .limit(4);
            let items = self.query(query).await?;
            if items.is_empty() {
                break;
            }
            for item in &items {
                messages.extend(unpacked::<Vec<Message>>(item)?);
            }
            let Some(reached) = messages.last().map(|message: &Message| message.seq) else {
                break;
            };
            from = reached.next();
        }
        messages.retain(|message| message.seq >= first && message.seq <= last);
        Ok(messages)
    }

    /// The messages from `first` to `last`, in order, with edited metadata laid over.
    pub async fn messages(&self, session: &SessionUid, first: Seq, last: Seq) -> Result<Vec<Message>> {
        let mut messages = self.posted_messages(session, first, last).await?;
        if messages.is_empty() {
            return Ok(messages);
        }
        let overlays = Query::of(collection(session)).between(overlay(session, first).sk, overlay(session, last).sk);
        for item in self.query(overlays).await? {
            let seq = Key::of(&item)
                .sk
                .trim_start_matches("O#")
                .parse()
                .map(Seq)
                .unwrap_or_default();
            let edited: Overlay = from_item(item)?;
            if let Some(message) = messages.iter_mut().find(|message| message.seq == seq) {
                message.metadata = edited.metadata;
            }
        }
        Ok(messages)
    }

    /// One message.
    pub async fn message(&self, session: &SessionUid, seq: Seq) -> Result<Option<Message>> {
        Ok(self.messages(session, seq, seq).await?.pop())
    }

    /// Replaces a message's metadata. Not activity: nothing is queued (`field-reports.md` row 12). `false` when the
    /// session is gone.
    pub async fn set_message_metadata(
        &self,
        session: &SessionUid,
        seq: Seq,
        metadata: &Map<String, Value>,
    ) -> Result<bool> {
        let item = to_item(
            &overlay(session, seq),
            "overlay",
            &Overlay {
                metadata: metadata.clone(),
            },
        )?;
        match self.transact(&[Write::put(item), sessions::check_alive(session)]).await {
            Ok(()) => Ok(true),
            Err(TableError::Condition(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How far a session has come, and how far ingest has: one call. No state when the session is gone.
    pub async fn progress(&self, session: &SessionUid) -> Result<(Option<SessionState>, Cursor)> {
        let (state, cursor) = (sessions::state(session), cursor(session));
        let mut items = self.get_many([state.clone(), cursor.clone()]).await?;
        let state = items.remove(&state).map(from_item).transpose()?;
        let cursor = items.remove(&cursor).map(from_item).transpose()?;
        Ok((state, cursor.unwrap_or_default()))
    }

    /// The stored answer of the batch that starts at `first`, or of a try at that message, if it was derived already.
    pub async fn answer(&self, session: &SessionUid, first: Seq, retry: u32) -> Result<Option<Answer>> {
        let parts = self.query(answer_parts(session, first, retry)).await?;
        let Some(head) = parts.first() else { return Ok(None) };
        let mut answer: Answer = unpacked(head)?;
        for part in &parts[1..] {
            answer.derived.statements.extend(unpacked::<Vec<_>>(part)?);
        }
        Ok(Some(answer))
    }

    /// Stores an answer, unless there is one, its session is gone, or its batch, or its try, is over: nobody would remove
    /// it any more. Gives the one that is stored then, which counts. Longer answers lie in several items, written in one
    /// transaction.
    pub async fn store_answer(
        &self,
        workspace: &Workspace,
        session: &SessionUid,
        answer_: Answer,
    ) -> Result<Option<Answer>> {
        let mut head = answer_.clone();
        let rest = head
            .derived
            .statements
            .split_off(head.derived.statements.len().min(ANSWER_PART));
        let key = |part| answer(session, answer_.first, answer_.retry, part);
        let mut writes = vec![
            Write::put(packed(&key(0), "answer", &head)?).if_absent(),
            sessions::check_alive(session),
        ];
        for (place, part) in rest.chunks(ANSWER_PART).enumerate() {
            writes.push(Write::put(packed(&key(place + 1), "answer", &part)?));
        }
        // A slow delivery must not store it again once it is applied and forgotten.
        writes.push(match answer_.retry {
            0 => Write::check(cursor(session), unmoved(Seq(answer_.first.0.saturating_sub(1)))),
            retry => failures::check_retry(&workspace.uid, session, answer_.first, retry),
        });
        match self.transact(&writes).await {
            Ok(()) => Ok(Some(answer_)),
            Err(TableError::Condition(_)) => self.answer(session, answer_.first, answer_.retry).await,
            Err(error) => Err(error),
        }
    }

    /// Moves the cursor over an applied batch and forgets its answer. A cursor that has moved already is left, as
    /// is that of a session that is gone.
    pub async fn advance_cursor(&self, session: &SessionUid, read: &Cursor, answer_: &Answer) -> Result<()> {
        let moved = to_item(&cursor(session), "cursor", &read.passed(answer_.last))?;
        let mut writes = vec![
            Write::put(moved).when(unmoved(read.seq)),
            sessions::check_alive(session),
        ];
        let parts = answer_.derived.statements.len().div_ceil(ANSWER_PART).max(1);
        writes.extend((0..parts).map(|part| Write::delete(answer(session, answer_.first, answer_.retry, part))));
        match self.transact(&writes).await {
            Err(TableError::Condition(_)) => Ok(()),
            other => other,
        }
    }

    /// Takes a session off the list of work, provided that no message and no try has come since its state was read, and
    /// says whether it did.
    pub async fn caught_up(
        &self,
        workspace: &WorkspaceUid,
        session: &SessionUid,
        state: &SessionState,
    ) -> Result<bool> {
        let retries = Condition::Equals("retries", n(state.retries));
        let no_more = match state.retries {
            0 => Condition::Any(vec![Condition::Absent("retries"), retries]),
            _ => retries,
        };
        let rest = Write::update(
            sessions::state(session),
            vec![Clause::Set("queued", AttributeValue::Bool(false))],
        )
        .when(Condition::All(vec![
            Condition::Equals("last_seq", n(state.last_seq)),
            no_more,
        ]));
        match self
            .transact(&[rest, Write::delete(work::session(workspace, session))])
            .await
        {
            Ok(()) => Ok(true),
            Err(TableError::Condition(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which messages are tried together until the one at fault is parked, and what is tried after it.
    fn search(length: u64, fault: u64) -> Vec<(u64, u64)> {
        let (mut cursor, mut tried) = (Cursor::default(), Vec::new());
        loop {
            let last = cursor.until.unwrap_or(Seq(length));
            tried.push((cursor.seq.0 + 1, last.0));
            if fault <= cursor.seq.0 || fault > last.0 {
                cursor = cursor.passed(last);
                if cursor.seq.0 >= length {
                    return tried;
                }
            } else if let Some(narrowed) = cursor.narrowed(last) {
                cursor = narrowed;
            } else {
                assert_eq!(last, Seq(fault));
                cursor = Cursor::at(last);
                if last.0 >= length {
                    return tried;
                }
            }
        }
    }

    #[test]
    fn the_message_at_fault_is_found_in_few_tries_and_the_rest_is_one_batch_again() {
        assert_eq!(search(1, 1), [(1, 1)]);
        assert_eq!(search(5, 4), [(1, 5), (1, 3), (4, 4), (5, 5)]);
        assert_eq!(search(4, 1), [(1, 4), (1, 2), (1, 1), (2, 4)]);
        for fault in 1..=100 {
            let tried = search(100, fault);
            assert!(tried.len() <= 10, "{fault}: {tried:?}");
            // Every other message is in exactly one batch that goes well.
            let well: u64 = tried
                .iter()
                .filter(|(first, last)| fault < *first || fault > *last)
                .map(|(first, last)| last - first + 1)
                .sum();
            assert_eq!(well, 99, "{fault}: {tried:?}");
        }
    }
}
