//! Erasure: jobs that delete sessions and workspaces, resumable at any point, and the barriers that they begin with.
//!
//! | item | key | due index |
//! |---|---|---|
//! | job: a session to delete | `J#<workspace uid>` / `S#<session uid>` | `erase`, a minute after it was written |
//! | job: a workspace to delete | `J#<workspace uid>` / `W` | the same |
//! | path: a representation that a session has a part in | `SU#<session uid>` / `REP#<representation id>` | – |
//!
//! A deletion begins with one transaction, after which nothing is written under the uid any more: a session's state is no
//! longer alive, a workspace's head is gone and its lists are closed. The job is in that transaction; what it deletes
//! last is itself. Paths are written in the transaction of each unit, so that what a session said is found from it.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use reverie_core::conclusion::SessionRef;
use reverie_core::id::{RepresentationId, SessionName, SessionUid, WorkspaceName, WorkspaceUid};
use reverie_core::run::Status;
use reverie_core::summary::Kind;
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::due::{DueKind, LEAVE, due_key};
use super::expression::{Clause, Condition, s};
use super::lists::{self, Paging};
use super::schema::key;
use super::sessions::{self, collection};
use super::workspaces::{self, Workspace};
use super::{
    Backoff, Key, Query, Result, Table, TableError, Write, failures, from_item, idempotency, peers, representations,
    runs, summaries, to_item, with_due, work,
};

mod texts;

/// How long after a deletion began, or was handed on, the reconciler looks whether a letter got lost.
const LOOK_AFTER: Duration = Duration::from_mins(1);
/// How many memberships go in the transaction that begins a session's deletion; the job takes the rest.
const MEMBERS_AT_ONCE: usize = 90;
/// How many keys are read and deleted at a time.
const KEYS: usize = 100;
/// How long the counters of a deleted workspace's lists refuse writers: far longer than a request lives.
const CLOSED_FOR: Duration = Duration::from_hours(48);

/// Whether a job may go on now; asked after each bounded piece of work.
pub type InTime<'a> = &'a (dyn Fn() -> bool + Send + Sync);

/// A deletion that is not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// The workspace that is deleted, or whose session is.
    pub workspace: WorkspaceUid,
    /// The session; `None` when it is the workspace.
    pub session: Option<SessionRef>,
    /// When it began.
    pub since: Time,
    /// How often it was handed on.
    #[serde(default)]
    pub handed_on: u64,
}

/// What came of asking for a workspace's deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It has begun.
    Begun(Erasure),
    /// There is no such workspace.
    Unknown,
    /// It has active sessions.
    Active,
}

fn jobs(workspace: &WorkspaceUid) -> String {
    format!("J#{workspace}")
}

fn job(workspace: &WorkspaceUid, session: Option<&SessionUid>) -> Key {
    let of = session.map_or_else(|| "W".to_owned(), |session| format!("S#{session}"));
    Key::new(jobs(workspace), of)
}

fn due(erasure: &Erasure, at: Time) -> super::DueKey {
    let of = erasure
        .session
        .as_ref()
        .map_or(erasure.workspace.as_str(), |session| session.uid.as_str());
    due_key(DueKind::Erase, of, at)
}

fn job_of(erasure: &Erasure) -> Key {
    let session = erasure.session.as_ref().map(|session| &session.uid);
    job(&erasure.workspace, session)
}

fn put_job(erasure: &Erasure, now: Time) -> Result<Write> {
    let item = to_item(&job_of(erasure), "erasure", erasure)?;
    Ok(Write::put(with_due(item, &due(erasure, now + LOOK_AFTER))))
}

fn path(session: &SessionUid, representation: &RepresentationId) -> Key {
    Key::new(collection(session), format!("REP#{representation}"))
}

/// Keeps the way from a session to a representation that it has a part in. Repeating it changes nothing.
pub(crate) fn put_path(session: &SessionRef, representation: &RepresentationId) -> Result<Write> {
    Ok(Write::put(to_item(
        &path(&session.uid, representation),
        "path",
        session,
    )?))
}

impl Table {
    /// A deletion that is not done.
    pub async fn erasure(&self, workspace: &WorkspaceUid, session: Option<&SessionUid>) -> Result<Option<Erasure>> {
        self.get_as(&job(workspace, session)).await
    }

    /// Notes that a deletion is handed on, and gives it as it is then; `None` when it is done.
    pub async fn hand_on_erasure(&self, erasure: &Erasure, now: Time) -> Result<Option<Erasure>> {
        let next = Erasure {
            handed_on: erasure.handed_on + 1,
            ..erasure.clone()
        };
        match self.transact(&[put_job(&next, now)?.if_there()]).await {
            Ok(()) => Ok(Some(next)),
            Err(TableError::Condition(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Begins a session's deletion; `None` when there is no such session. From then on it takes no writes, is on no list
    /// and has no members.
    pub async fn begin_session_erasure(
        &self,
        workspace: &WorkspaceUid,
        name: &SessionName,
        now: Time,
    ) -> Result<Option<Erasure>> {
        let mut backoff = Backoff::default();
        loop {
            let Some(session) = self.session(workspace, name).await?.filter(|session| session.is_active) else {
                return Ok(None);
            };
            let erasure = Erasure {
                workspace: workspace.clone(),
                session: Some(SessionRef {
                    uid: session.uid.clone(),
                    name: session.name.clone(),
                }),
                since: now,
                handed_on: 0,
            };
            let no = AttributeValue::Bool(false);
            let state = vec![Clause::Set("alive", no.clone()), Clause::Set("queued", no.clone())];
            let mut writes = vec![
                sessions::revise(workspace, &session, vec![Clause::Set("is_active", no)]),
                Write::update(sessions::state(&session.uid), state).if_there(),
                Write::delete(work::session(workspace, &session.uid)),
                put_job(&erasure, now)?,
            ];
            writes.extend(Kind::ALL.map(|kind| Write::delete(summaries::late(workspace, &session.uid, kind))));
            let list = lists::sessions(workspace);
            writes.extend(lists::leave(&list, session.created_at, &sessions::tie(name)));
            let members = Query::of(collection(&session.uid)).prefix("M#").keys_only();
            let members = self.query(members.limit(MEMBERS_AT_ONCE)).await?;
            writes.extend(members.iter().map(Key::of).map(Write::delete));
            match self.transact(&writes).await {
                Ok(()) => return Ok(Some(erasure)),
                Err(error) if error.is_condition() && backoff.again() => backoff.wait().await,
                Err(error) => return Err(workspaces::lost(error)),
            }
        }
    }

    /// Begins a workspace's deletion: its name is free, and nothing can be written under its uid.
    pub async fn begin_workspace_erasure(&self, name: &WorkspaceName, now: Time) -> Result<Asked> {
        let first = Paging {
            page: 1,
            size: 1,
            reverse: false,
        };
        let mut backoff = Backoff::default();
        loop {
            let Some(workspace) = self.workspace(name).await? else {
                return Ok(Asked::Unknown);
            };
            if self.list(&lists::sessions(&workspace.uid), first).await?.total > 0 {
                return Ok(Asked::Active);
            }
            let erasure = Erasure {
                workspace: workspace.uid.clone(),
                session: None,
                since: now,
                handed_on: 0,
            };
            match self.transact(&close_workspace(&workspace, &erasure, now)?).await {
                Ok(()) => return Ok(Asked::Begun(erasure)),
                Err(error) if error.is_condition() && backoff.again() => backoff.wait().await,
                Err(error) => return Err(workspaces::lost(error)),
            }
        }
    }

    /// Goes on with a session's deletion. `false` when time was up before its end.
    pub async fn erase_session(
        &self,
        workspace: &WorkspaceUid,
        session: &SessionRef,
        in_time: InTime<'_>,
    ) -> Result<bool> {
        let partition = collection(&session.uid);
        loop {
            let paths = Query::of(&partition).prefix("REP#").keys_only().limit(KEYS);
            let paths = self.query(paths).await?;
            for path in &paths {
                let id = RepresentationId::trusted(Key::of(path).sk.trim_start_matches("REP#"));
                if !self.erase_part_of(&id, &session.uid, in_time).await? || !in_time() {
                    return Ok(false);
                }
            }
            if paths.is_empty() {
                break;
            }
        }
        let state = sessions::state(&session.uid);
        loop {
            let keys = self.query(Query::of(&partition).keys_only().limit(KEYS)).await?;
            let keys: Vec<_> = keys.iter().map(Key::of).filter(|key| *key != state).collect();
            if keys.is_empty() {
                break;
            }
            self.delete_all(keys).await?;
            if !in_time() {
                return Ok(false);
            }
        }
        let parked = Query::of(work::partition(workspace)).prefix(failures::prefix(&session.uid));
        let parked: Vec<_> = self.query(parked.keys_only()).await?.iter().map(Key::of).collect();
        self.delete_all(parked).await?;
        let ours = Condition::Equals("uid", s(session.uid.as_str()));
        let writes = [
            Write::delete(sessions::head(workspace, &session.name))
                .when(Condition::Any(vec![Condition::Absent(key::PK), ours])),
            Write::delete(state),
            Write::delete(job(workspace, Some(&session.uid))),
        ];
        match self.transact(&writes).await {
            // The name is another session's already: whoever did the same work was faster.
            Ok(()) | Err(TableError::Condition(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Goes on with a workspace's deletion. `false` when time was up before its end.
    pub async fn erase_workspace(&self, workspace: &WorkspaceUid, in_time: InTime<'_>) -> Result<bool> {
        for item in self.query(Query::of(jobs(workspace)).prefix("S#")).await? {
            let key = Key::of(&item);
            let session = from_item::<Erasure>(item)?.session;
            if let Some(session) = session {
                if !self.delete_partition(&collection(&session.uid), in_time).await? {
                    return Ok(false);
                }
                self.delete_all([sessions::head(workspace, &session.name), key]).await?;
            }
        }
        let all = lists::representations(workspace);
        while let Some((row, id)) = self.first_row(&all).await? {
            if !self
                .erase_representation(&RepresentationId::trusted(id), in_time)
                .await?
            {
                return Ok(false);
            }
            self.delete_all([row]).await?;
        }
        let all = lists::peers(workspace);
        while let Some((row, tie)) = self.first_row(&all).await? {
            if !self
                .delete_partition(&peers::head_of(workspace, &tie).pk, in_time)
                .await?
            {
                return Ok(false);
            }
            self.delete_all([row]).await?;
        }
        for partition in [work::partition(workspace), idempotency::partition(workspace)] {
            if !self.delete_partition(&partition, in_time).await? {
                return Ok(false);
            }
        }
        let erasure = self.erasure(workspace, None).await?;
        let Some(erasure) = erasure else { return Ok(true) };
        let mut writes = vec![Write::delete(job(workspace, None))];
        for list in lists::of_workspace(workspace) {
            writes.extend(lists::expire(&list, erasure.since + CLOSED_FOR));
        }
        self.transact(&writes).await?;
        Ok(true)
    }

    /// Deletes a representation with all that its runs recorded. Its head goes first: nothing is written without it.
    async fn erase_representation(&self, id: &RepresentationId, in_time: InTime<'_>) -> Result<bool> {
        self.delete_all([representations::head(id)]).await?;
        for run in self.runs(id, None).await? {
            // Whoever still runs it has lost it from here on.
            let mut over = vec![
                Clause::Set("status", s(Status::Cancelled.as_str())),
                Clause::Add("fence", 1),
                Clause::Add("version", 1),
            ];
            over.extend(LEAVE.map(Clause::Remove));
            match self
                .transact(&[Write::update(runs::run_key(&run.id), over).if_there()])
                .await
            {
                Ok(()) | Err(TableError::Condition(_)) => {}
                Err(error) => return Err(error),
            }
            if !self.delete_partition(&runs::record(&run.id), in_time).await? {
                return Ok(false);
            }
        }
        self.delete_partition(&representations::partition(id), in_time).await
    }

    /// Deletes everything of a partition. `false` when time was up; at least one batch goes.
    async fn delete_partition(&self, partition: &str, in_time: InTime<'_>) -> Result<bool> {
        loop {
            let keys = self.query(Query::of(partition).keys_only().limit(KEYS)).await?;
            if keys.is_empty() {
                return Ok(true);
            }
            self.delete_all(keys.iter().map(Key::of)).await?;
            if !in_time() {
                return Ok(false);
            }
        }
    }

    /// The first row of a list, and its tie.
    async fn first_row(&self, list: &str) -> Result<Option<(Key, String)>> {
        let rows = self.query(Query::of(list).prefix("R#").keys_only().limit(1)).await?;
        Ok(rows.first().map(Key::of).and_then(|row| {
            let tie = lists::tie(&row)?.to_owned();
            Some((row, tie))
        }))
    }
}

/// The transaction that begins a workspace's deletion. It fails when there is a session by now, or another workspace of
/// the name.
fn close_workspace(workspace: &Workspace, erasure: &Erasure, now: Time) -> Result<Vec<Write>> {
    let ours = Condition::Equals("uid", s(workspace.uid.as_str()));
    let mut writes = vec![
        Write::delete(workspaces::head(&workspace.name)).when(ours),
        put_job(erasure, now)?,
    ];
    let tie = workspaces::tie(&workspace.name);
    writes.extend(lists::leave(lists::WORKSPACES, workspace.created_at, &tie));
    let sessions = lists::sessions(&workspace.uid);
    for list in lists::of_workspace(&workspace.uid) {
        writes.extend(lists::close(&list, list == sessions));
    }
    Ok(writes)
}
