//! Failures of ingest: the search for the message at fault in a batch that keeps failing, and the messages that it ended
//! with, which are parked until somebody asks for another try.
//!
//! | item | key |
//! |---|---|
//! | parked message | `Q#<workspace uid>` / `F#<session uid>#<seq, 20 digits>` |
//!
//! The row is written in the transaction that lets ingest pass the message, and says why and when, no text.

use reverie_core::id::{Seq, SessionName, SessionUid, WorkspaceName, WorkspaceUid};
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use aws_sdk_dynamodb::types::AttributeValue;

use super::expression::{Clause, Condition, n};
use super::messages::{Cursor, answer_parts, cursor, unmoved};
use super::sessions::{self, SessionState};
use super::work::{self, SessionWork, partition};
use super::{Key, Query, Result, Table, TableError, Write, from_item, to_item};

/// Why a message could not be derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The reasoner gives no usable answer, or refuses.
    Reasoner,
    /// The reasoner is there for others, and fails at this one every time.
    ReasonerUnavailable,
    /// What was derived cannot be embedded.
    Embedding,
}

impl FailureKind {
    /// The word in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reasoner => "reasoner",
            Self::ReasonerUnavailable => "reasoner_unavailable",
            Self::Embedding => "embedding",
        }
    }
}

/// A message that ingest has passed without deriving from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// Its session's name.
    pub session: SessionName,
    /// Its session.
    pub uid: SessionUid,
    /// Its place.
    pub seq: Seq,
    /// Why.
    pub error: FailureKind,
    /// When it failed last.
    pub at: Time,
    /// How often it was tried, alone or with what was left of its batch.
    pub attempts: u32,
    /// How often another try was asked for.
    #[serde(default)]
    pub retries: u32,
    /// Whether one is waiting.
    #[serde(default)]
    pub queued: bool,
}

fn row(workspace: &WorkspaceUid, session: &SessionUid, seq: Seq) -> Key {
    Key::new(partition(workspace), format!("F#{session}#{:020}", seq.0))
}

fn put(workspace: &WorkspaceUid, parked: &Parked) -> Result<Write> {
    Ok(Write::put(to_item(
        &row(workspace, &parked.uid, parked.seq),
        "parked",
        parked,
    )?))
}

/// What the sort keys of a session's parked messages begin with.
pub(crate) fn prefix(session: &SessionUid) -> String {
    format!("F#{session}#")
}

/// A write that may find that it is not needed any more.
fn or_left(written: Result<()>) -> Result<()> {
    match written {
        Err(TableError::Condition(_)) => Ok(()),
        other => other,
    }
}

impl Table {
    /// Notes how the batch after the cursor is to be tried next. A cursor that has moved meanwhile is left.
    pub async fn save_cursor(&self, session: &SessionUid, read: &Cursor, next: &Cursor) -> Result<()> {
        let write = Write::put(to_item(&cursor(session), "cursor", next)?).when(unmoved(read.seq));
        or_left(self.transact(&[write, sessions::check_alive(session)]).await)
    }

    /// Parks messages and moves on as `next` says, both or neither. A cursor that has moved meanwhile, and a session
    /// that is going, are left.
    pub async fn park(
        &self,
        workspace: &WorkspaceUid,
        session: &SessionUid,
        read: &Cursor,
        next: &Cursor,
        parked: &[Parked],
    ) -> Result<()> {
        let mut writes = vec![
            Write::put(to_item(&cursor(session), "cursor", next)?).when(unmoved(read.seq)),
            sessions::check_alive(session),
        ];
        for parked in parked {
            writes.push(put(workspace, parked)?);
        }
        or_left(self.transact(&writes).await)
    }

    /// The parked messages of a workspace, or of one of its sessions in their order.
    pub async fn parked(&self, workspace: &WorkspaceUid, session: Option<&SessionUid>) -> Result<Vec<Parked>> {
        let prefix = session.map_or_else(|| "F#".to_owned(), prefix);
        let rows = self.query(Query::of(partition(workspace)).prefix(prefix)).await?;
        rows.into_iter().map(from_item).collect()
    }

    /// A message, if it is parked.
    pub async fn parked_message(
        &self,
        workspace: &WorkspaceUid,
        session: &SessionUid,
        seq: Seq,
    ) -> Result<Option<Parked>> {
        self.get_as(&row(workspace, session, seq)).await
    }

    /// Asks for another try at a parked message, and puts its session on the list of work. `false`: something has
    /// changed since it was read.
    pub async fn ask_retry(
        &self,
        workspace: (&WorkspaceName, &WorkspaceUid),
        parked: &Parked,
        state: &SessionState,
        now: Time,
    ) -> Result<bool> {
        let (name, workspace) = workspace;
        let asked = Parked {
            retries: parked.retries + 1,
            queued: true,
            attempts: 0,
            ..parked.clone()
        };
        let queued = AttributeValue::Bool(true);
        let clauses = vec![Clause::Set("queued", queued), Clause::Add("retries", 1)];
        let as_read = Condition::All(vec![
            Condition::Equals("alive", AttributeValue::Bool(true)),
            Condition::Equals("queued", AttributeValue::Bool(state.queued)),
        ]);
        let mut writes = vec![
            put(workspace, &asked)?.when(same(parked)),
            Write::update(sessions::state(&parked.uid), clauses).when(as_read),
        ];
        if !state.queued {
            let row = SessionWork {
                workspace: name.clone(),
                session: parked.session.clone(),
                uid: parked.uid.clone(),
                since: now,
            };
            writes.push(work::put_session(workspace, &row)?);
        }
        match self.transact(&writes).await {
            Ok(()) => Ok(true),
            Err(TableError::Condition(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends or puts off a try at a parked message: `None` when it was derived from, else how it stands now. Its stored
    /// answer goes unless the try goes on.
    pub async fn settle_retry(&self, workspace: &WorkspaceUid, read: &Parked, next: Option<&Parked>) -> Result<()> {
        let mut writes = vec![
            match next {
                Some(next) => put(workspace, next)?,
                None => Write::delete(row(workspace, &read.uid, read.seq)),
            }
            .when(same(read)),
        ];
        if next.is_none_or(|next| !next.queued) {
            let parts = self.query(answer_parts(&read.uid, read.seq, read.retries)).await?;
            writes.extend(parts.iter().map(|part| Write::delete(Key::of(part))));
        }
        or_left(self.transact(&writes).await)
    }

    /// Notes that every try that was asked for when `state` was read has been made.
    pub async fn retries_made(&self, session: &SessionUid, state: &SessionState) -> Result<()> {
        let made = Write::update(sessions::state(session), vec![Clause::Set("retried", n(state.retries))]);
        or_left(self.transact(&[made.if_there()]).await)
    }
}

/// That a parked message stands as it was read, as far as tries at it go.
fn same(read: &Parked) -> Condition {
    tried(read.retries, read.queued)
}

fn tried(retries: u32, queued: bool) -> Condition {
    Condition::All(vec![
        Condition::Equals("retries", n(retries)),
        Condition::Equals("queued", AttributeValue::Bool(queued)),
    ])
}

/// A check that a try at a parked message is not over.
pub(crate) fn check_retry(workspace: &WorkspaceUid, session: &SessionUid, seq: Seq, retry: u32) -> Write {
    Write::check(row(workspace, session, seq), tried(retry, true))
}
