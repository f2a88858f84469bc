//! Work: what a workspace has waiting or running, one small row each, for the queue's status and the reconciler.
//!
//! | item | key | due index |
//! |---|---|---|
//! | a session with messages past its cursor | `Q#<workspace uid>` / `S#<session uid>` | `session`, a minute after it was written |
//! | a pending or running dream | `Q#<workspace uid>` / `D#<run id>` | – (the run's own item is in it) |
//! | a summary that could not be made, see [`super::summaries`] | `Q#<workspace uid>` / `Y#<session uid>#<kind>` | `summary` |
//! | a parked message, see [`super::failures`] | `Q#<workspace uid>` / `F#<session uid>#<seq>` | – |
//!
//! A session's row is written by the POST that makes it lag and deleted by the ingest that catches up, each in the
//! transaction that changes the state's `queued` flag; a dream's row lives from its request or claim to its end.

use std::time::Duration;

use reverie_core::id::{PeerName, RepresentationId, RunId, SessionName, SessionUid, WorkspaceName, WorkspaceUid};
use reverie_core::run::DreamType;
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::due::{DueKind, due_key, enter};
use super::failures::Parked;
use super::summaries::LateSummary;
use super::{Key, Query, Result, Table, TableError, Write, from_item, to_item, with_due};

/// How long after a POST the reconciler looks whether its wake-up got lost.
const LOOK_AFTER: Duration = Duration::from_mins(1);

/// A session that has messages to derive from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionWork {
    /// Its workspace.
    pub workspace: WorkspaceName,
    /// Its name.
    pub session: SessionName,
    /// Its uid.
    pub uid: SessionUid,
    /// Since when it lags.
    pub since: Time,
}

/// A dream that is pending or running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DreamWork {
    /// The run.
    pub run: RunId,
    /// Its representation.
    pub representation: RepresentationId,
    /// Whose view.
    pub observer: PeerName,
    /// Of whom.
    pub observed: PeerName,
    /// Its type.
    pub dream_type: DreamType,
    /// Whether it has started.
    pub running: bool,
    /// The session it was requested for, if any.
    pub session: Option<SessionName>,
}

/// Everything a workspace has waiting or running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Sessions to derive from.
    pub sessions: Vec<SessionWork>,
    /// Dreams.
    pub dreams: Vec<DreamWork>,
    /// Messages that could not be derived from.
    pub parked: Vec<Parked>,
    /// Summaries that could not be made when it was time.
    pub summaries: Vec<LateSummary>,
}

pub(crate) fn partition(workspace: &WorkspaceUid) -> String {
    format!("Q#{workspace}")
}

pub(crate) fn session(workspace: &WorkspaceUid, session: &SessionUid) -> Key {
    Key::new(partition(workspace), format!("S#{session}"))
}

pub(crate) fn dream(workspace: &WorkspaceUid, run: &RunId) -> Key {
    Key::new(partition(workspace), format!("D#{run}"))
}

pub(crate) fn put_session(workspace: &WorkspaceUid, work: &SessionWork) -> Result<Write> {
    let item = to_item(&session(workspace, &work.uid), "session_work", work)?;
    Ok(Write::put(with_due(
        item,
        &due_key(DueKind::Session, work.uid.as_str(), work.since + LOOK_AFTER),
    )))
}

pub(crate) fn put_dream(workspace: &WorkspaceUid, work: &DreamWork) -> Result<Write> {
    Ok(Write::put(to_item(&dream(workspace, &work.run), "dream_work", work)?))
}

impl Table {
    /// Has the reconciler look at a session's work at another time than a minute after it began to lag.
    pub async fn postpone_session(&self, workspace: &WorkspaceUid, uid: &SessionUid, at: Time) -> Result<()> {
        let due = due_key(DueKind::Session, uid.as_str(), at);
        match self
            .transact(&[Write::update(session(workspace, uid), enter(due).into()).if_there()])
            .await
        {
            Err(TableError::Condition(_)) => Ok(()),
            other => other,
        }
    }

    /// What the workspace has waiting or running.
    pub async fn work(&self, workspace: &WorkspaceUid) -> Result<Work> {
        let mut work = Work::default();
        for item in self.query(Query::of(partition(workspace))).await? {
            match Key::of(&item).sk.split_once('#') {
                Some(("S", _)) => work.sessions.push(from_item(item)?),
                Some(("D", _)) => work.dreams.push(from_item(item)?),
                Some(("F", _)) => work.parked.push(from_item(item)?),
                Some(("Y", _)) => work.summaries.push(from_item(item)?),
                _ => {}
            }
        }
        Ok(work)
    }

    /// Takes the work of a session that is gone off the list.
    pub async fn forget_session(&self, workspace: &WorkspaceUid, uid: &SessionUid) -> Result<()> {
        self.transact(&[Write::delete(session(workspace, uid))]).await
    }
}
