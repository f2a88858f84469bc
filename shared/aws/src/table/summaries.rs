//! Summaries of sessions, and those that could not be made yet.
//!
//! | item | key | due index |
//! |---|---|---|
//! | summary, the newest of its kind | `SU#<session uid>` / `SUM#<short or long>` | – |
//! | one that could not be made | `Q#<workspace uid>` / `Y#<session uid>#<short or long>` | `summary`, when it is tried next |
//!
//! Up to where a session is summarised stands in its state, which ingest reads anyway. A summary is written in the
//! transaction that moves that on, so that each stretch of messages is summarised once.

use aws_sdk_dynamodb::types::AttributeValue;
use reverie_core::id::{Seq, SessionName, SessionUid, WorkspaceName, WorkspaceUid};
use reverie_core::summary::Kind;
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::due::{DueKind, due_key};
use super::expression::{Clause, Condition, n};
use super::sessions::{self, SessionState, collection};
use super::work::partition;
use super::{Key, Result, Table, TableError, Write, from_item, to_item, with_due};

/// What a session has been about up to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSummary {
    /// Its kind.
    pub kind: Kind,
    /// The text.
    pub content: String,
    /// The last message that it covers.
    pub end: Seq,
    /// Its size in tokens, estimated.
    pub tokens: u32,
    /// When it was made.
    pub at: Time,
}

/// A summary that could not be made when it was time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateSummary {
    /// The session's workspace.
    pub workspace: WorkspaceName,
    /// The session's name.
    pub session: SessionName,
    /// The session.
    pub uid: SessionUid,
    /// Which of its summaries.
    pub kind: Kind,
    /// How often it failed.
    pub failures: u32,
    /// How often the reasoner was there and its answer could not be used.
    pub unusable: u32,
    /// When it is tried next.
    pub next_at: Time,
}

/// What a stretch of messages came to.
#[derive(Debug)]
pub struct Summarised<'a> {
    /// The last message of the stretch.
    pub end: Seq,
    /// Which of the session's summaries.
    pub kind: Kind,
    /// The new summary; `None` when nothing was said that could be summarised.
    pub summary: Option<&'a StoredSummary>,
    /// Whether it had failed before.
    pub was_late: bool,
}

fn place(session: &SessionUid, kind: Kind) -> Key {
    Key::new(collection(session), format!("SUM#{}", kind.as_str()))
}

/// The key of a summary that could not be made yet.
pub(crate) fn late(workspace: &WorkspaceUid, session: &SessionUid, kind: Kind) -> Key {
    Key::new(partition(workspace), format!("Y#{session}#{}", kind.as_str()))
}

/// The attribute of a session's state that says up to where it is summarised.
const fn covered(kind: Kind) -> &'static str {
    match kind {
        Kind::Short => "short_summary",
        Kind::Long => "long_summary",
    }
}

/// A write whose ground may have gone: the session, or somebody else did it.
fn done(written: Result<()>) -> Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(TableError::Condition(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl Table {
    /// A session's newest summary of a kind.
    pub async fn summary(&self, session: &SessionUid, kind: Kind) -> Result<Option<StoredSummary>> {
        self.get_as(&place(session, kind)).await
    }

    /// A session's newest summaries, the short one first.
    pub async fn summaries(&self, session: &SessionUid) -> Result<[Option<StoredSummary>; 2]> {
        let mut items = self.get_many(Kind::ALL.map(|kind| place(session, kind))).await?;
        let mut found = [None, None];
        for (slot, kind) in found.iter_mut().zip(Kind::ALL) {
            *slot = items.remove(&place(session, kind)).map(from_item).transpose()?;
        }
        Ok(found)
    }

    /// Notes that a session is summarised up to a message, with the summary. `false`: somebody was faster, or the session
    /// is gone.
    pub async fn store_summary(
        &self,
        workspace: &WorkspaceUid,
        session: &SessionUid,
        read: &SessionState,
        made: &Summarised<'_>,
    ) -> Result<bool> {
        let (mark, before) = (covered(made.kind), read.summarised(made.kind));
        let there = Condition::Equals(mark, n(before));
        let unmoved = match before {
            Seq(0) => Condition::Any(vec![Condition::Absent(mark), there]),
            _ => there,
        };
        let alive = Condition::Equals("alive", AttributeValue::Bool(true));
        let mut writes = vec![
            Write::update(sessions::state(session), vec![Clause::Set(mark, n(made.end))])
                .when(Condition::All(vec![alive, unmoved])),
        ];
        if let Some(summary) = made.summary {
            writes.push(Write::put(to_item(&place(session, made.kind), "summary", summary)?));
        }
        if made.was_late {
            writes.push(Write::delete(late(workspace, session, made.kind)));
        }
        done(self.transact(&writes).await)
    }

    /// How a summary has failed so far, if it has.
    pub async fn late_summary(
        &self,
        workspace: &WorkspaceUid,
        session: &SessionUid,
        kind: Kind,
    ) -> Result<Option<LateSummary>> {
        self.get_as(&late(workspace, session, kind)).await
    }

    /// Notes that a summary could not be made, and has the reconciler look when it is to be tried next. One of a session
    /// that is going is left.
    pub async fn put_off_summary(&self, workspace: &WorkspaceUid, put_off: &LateSummary) -> Result<()> {
        let item = to_item(&late(workspace, &put_off.uid, put_off.kind), "late_summary", put_off)?;
        let due = due_key(DueKind::Summary, put_off.uid.as_str(), put_off.next_at);
        let put = Write::put(with_due(item, &due));
        done(self.transact(&[put, sessions::check_alive(&put_off.uid)]).await).map(drop)
    }
}
