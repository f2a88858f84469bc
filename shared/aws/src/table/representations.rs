//! Representations: what an observer believes of an observed peer. Its state, its card, and how it is found.
//!
//! | item | key | indexes |
//! |---|---|---|
//! | representation: names, machine state, revision, live count | `R#<representation id>` / `#` | `by_peer` under `RO#<workspace uid>#<observed digest>`; `due` while a timer is armed, or dreams are off over the threshold |
//! | card | `R#<representation id>` / `CARD` | – |
//! | list row | `LR#<workspace uid>` / `R#<time>#<id>` | – |
//!
//! The machine's state changes only under its revision: whoever read revision n writes n + 1 or nothing.

use std::time::Duration;

use reverie_core::conclusion::{CardEntry, SessionRef};
use reverie_core::dreaming::State;
use reverie_core::id::{PeerName, RepresentationId, RunId, WorkspaceName, WorkspaceUid, digest};
use reverie_core::run::Status;
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use super::activity::{self, Activity};
use super::due::{DueKind, LEAVE, due_key, enter, sortable};
use super::expression::{Clause, Condition, n, s};
use super::idempotency::{Effect, Recording};
use super::lists::{self, Paging};
use super::runs::{self, Checkpoints, Run};
use super::schema::{BY_PEER_INDEX, key};
use super::sessions::{self, Session};
use super::work::{self, DreamWork};
use super::workspaces::{self, Workspace};
use super::{Key, Query, Result, Table, TableError, Write, from_item, to_item, to_value};

/// How often a representation over the threshold is looked at while dreams are off.
pub const LOOK_AT_DISABLED: Duration = Duration::from_mins(15);

/// A representation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Representation {
    /// Its id.
    pub id: RepresentationId,
    /// Its workspace's uid.
    pub workspace_uid: WorkspaceUid,
    /// Its workspace's name.
    pub workspace: WorkspaceName,
    /// Whose view.
    pub observer: PeerName,
    /// Of whom.
    pub observed: PeerName,
    /// When its first conclusion, card or dream was asked for.
    pub created_at: Time,
    /// What the dreaming machine knows.
    pub state: State,
    /// Raised by every change of the state.
    pub revision: u64,
    /// How many conclusions it has now.
    pub live: u64,
    /// Raised by every step of a dream and by every erasure: whoever planned on an older one plans anew, so that a
    /// dream brings nothing back that was erased while it ran, and an erasure misses nothing that a dream just wrote.
    #[serde(default)]
    pub edition: u64,
}

/// A peer card and its revision, which the next write must name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The entries.
    pub entries: Vec<CardEntry>,
    /// Raised by every write.
    pub revision: u64,
}

/// What decides, besides a representation's own state, whether it dreams.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Its workspace.
    pub workspace: Workspace,
    /// The session whose settings decide, while it is there and active.
    pub session: Option<Session>,
    /// The observed peer's last activity.
    pub activity: Option<Activity>,
    /// The runs that wait for the representation's slot.
    pub pending: Vec<Run>,
}

pub(crate) fn partition(id: &RepresentationId) -> String {
    format!("R#{id}")
}

pub(crate) fn head(id: &RepresentationId) -> Key {
    Key::new(partition(id), "#")
}

fn card_key(id: &RepresentationId) -> Key {
    Key::new(partition(id), "CARD")
}

fn by_observed(workspace: &WorkspaceUid, observed: &PeerName) -> String {
    format!("RO#{workspace}#{}", digest(&["peer", observed.as_str()]))
}

/// The machine's next state, under the revision that was read, with the change in the number of conclusions.
pub(crate) fn save(representation: &Representation, next: &State, live: i64, now: Time) -> Result<Write> {
    save_also(representation, next, live, now, &[])
}

/// The same, with more that changes.
pub(crate) fn save_also(
    representation: &Representation,
    next: &State,
    live: i64,
    now: Time,
    more: &[Clause],
) -> Result<Write> {
    let mut clauses = vec![Clause::Set("state", to_value(next)?), Clause::Add("revision", 1)];
    clauses.extend(more.iter().cloned());
    if live != 0 {
        clauses.push(Clause::Add("live", live));
    }
    let id = representation.id.as_str();
    let due = match &next.timer {
        Some(timer) => Some(due_key(DueKind::Timer, id, timer.due_at.max(timer.scheduled_for))),
        None if next.threshold_met_at.is_some() && next.running.is_none() && next.pending.is_empty() => {
            Some(due_key(DueKind::Disabled, id, now + LOOK_AT_DISABLED))
        }
        None => None,
    };
    match due {
        Some(due) => clauses.extend(enter(due)),
        None => clauses.extend(LEAVE.map(Clause::Remove)),
    }
    Ok(
        Write::update(head(&representation.id), clauses)
            .when(Condition::Equals("revision", n(representation.revision))),
    )
}

/// How a run is written together with its representation's state.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one or two exist per transaction")]
pub enum RunWrite {
    /// A new run.
    Create(Run),
    /// A run's next state, under the fence and the status that were read.
    Update {
        /// As it was read.
        before: Run,
        /// As it shall be.
        after: Run,
    },
    /// The end of a run that records nothing: its item goes, under the fence and the status that were read.
    Remove(Run),
    /// The stored answers of a run that ends.
    Forget(Checkpoints),
    /// The record of a request with an idempotency key, and the run that answers it.
    Answered(Recording, RunId),
}

impl RunWrite {
    fn writes(&self) -> Result<Vec<Write>> {
        let (run, write) = match self {
            Self::Forget(Checkpoints(keys)) => return Ok(keys.iter().cloned().map(Write::delete).collect()),
            Self::Answered(recording, run) => return Ok(vec![recording.put(Effect::Dream { run: run.clone() })?]),
            Self::Remove(run) => {
                return Ok(vec![
                    runs::remove(run),
                    Write::delete(work::dream(&run.workspace_uid, &run.id)),
                ]);
            }
            Self::Create(run) => (run, runs::create(run)?),
            Self::Update { before, after } => (after, runs::update(before, after)?),
        };
        let row = if run.status.is_final() {
            Write::delete(work::dream(&run.workspace_uid, &run.id))
        } else {
            let row = DreamWork {
                run: run.id.clone(),
                representation: run.representation(),
                observer: run.observer.clone(),
                observed: run.observed.clone(),
                dream_type: run.dream_type,
                running: run.status == Status::Running,
                session: run.session.as_ref().map(|session| session.name.clone()),
            };
            work::put_dream(&run.workspace_uid, &row)?
        };
        Ok(vec![write, row])
    }
}

fn edition_is(edition: u64) -> Condition {
    let read = Condition::Equals("edition", n(edition));
    if edition == 0 {
        let none = Condition::All(vec![Condition::Exists(key::PK), Condition::Absent("edition")]);
        Condition::Any(vec![read, none])
    } else {
        read
    }
}

/// Holds only in the edition that was read.
pub(crate) fn check_edition(id: &RepresentationId, edition: u64) -> Write {
    Write::check(head(id), edition_is(edition))
}

/// The next edition, provided that it is the one that was read, with the change in the number of conclusions. The
/// machine's state is not touched.
pub(crate) fn edit(id: &RepresentationId, edition: u64, live: i64) -> Write {
    let mut clauses = vec![Clause::Set("edition", n(edition + 1))];
    if live != 0 {
        clauses.push(Clause::Add("live", live));
    }
    Write::update(head(id), clauses).when(edition_is(edition))
}

/// Replaces the card, provided that it still has the revision that was read (0: there was none).
pub(crate) fn put_card(id: &RepresentationId, entries: Option<&[CardEntry]>, revision: u64) -> Result<Write> {
    let unchanged = if revision == 0 {
        Condition::Absent(key::PK)
    } else {
        Condition::Equals("revision", n(revision))
    };
    Ok(match entries {
        Some(entries) => {
            let card = Card {
                entries: entries.to_vec(),
                revision: revision + 1,
            };
            Write::put(to_item(&card_key(id), "card", &card)?).when(unchanged)
        }
        None => Write::delete(card_key(id)).when(unchanged),
    })
}

impl Table {
    /// A representation; `None` when nothing was ever concluded, carded or dreamt there.
    pub async fn representation(&self, id: &RepresentationId) -> Result<Option<Representation>> {
        self.get_as(&head(id)).await
    }

    /// What decides, besides its own state, whether a representation dreams, where `deciding` is the session whose
    /// settings count: one call. `None` when its workspace is gone.
    pub async fn surroundings(
        &self,
        of: &Representation,
        deciding: Option<&SessionRef>,
    ) -> Result<Option<Surroundings>> {
        let workspace = workspaces::head(&of.workspace);
        let session = deciding.map(|deciding| sessions::head(&of.workspace_uid, &deciding.name));
        let activity = activity::key(&of.workspace_uid, &of.observed);
        let pending: Vec<Key> = of.state.pending.values().map(runs::run_key).collect();
        let mut keys = vec![workspace.clone(), activity.clone()];
        keys.extend(session.clone());
        keys.extend(pending.iter().cloned());
        let mut items = self.get_many(keys).await?;
        let workspace: Option<Workspace> = items.remove(&workspace).map(from_item).transpose()?;
        let Some(workspace) = workspace.filter(|found| found.uid == of.workspace_uid) else {
            return Ok(None);
        };
        let session: Option<Session> = session.and_then(|key| items.remove(&key)).map(from_item).transpose()?;
        let same = |found: &Session| deciding.is_some_and(|deciding| deciding.uid == found.uid);
        Ok(Some(Surroundings {
            workspace,
            session: session.filter(|found| found.is_active && same(found)),
            activity: items.remove(&activity).map(from_item).transpose()?,
            pending: pending
                .iter()
                .filter_map(|key| items.remove(key))
                .map(from_item)
                .collect::<Result<_>>()?,
        }))
    }

    /// Those of the representations that are there.
    pub async fn representations_by_id(
        &self,
        ids: impl IntoIterator<Item = RepresentationId>,
    ) -> Result<Vec<Representation>> {
        let heads = self.get_many(ids.into_iter().map(|id| head(&id))).await?;
        heads.into_values().map(from_item).collect()
    }

    /// The representation, created empty when it is not there.
    pub async fn ensure_representation(
        &self,
        workspace: &Workspace,
        observer: &PeerName,
        observed: &PeerName,
        now: Time,
    ) -> Result<Representation> {
        let id = RepresentationId::of(&workspace.uid, observer, observed);
        if let Some(found) = self.representation(&id).await? {
            return Ok(found);
        }
        let fresh = Representation {
            id: id.clone(),
            workspace_uid: workspace.uid.clone(),
            workspace: workspace.name.clone(),
            observer: observer.clone(),
            observed: observed.clone(),
            created_at: now,
            state: State::default(),
            revision: 0,
            live: 0,
            edition: 0,
        };
        let mut item = to_item(&head(&id), "representation", &fresh)?;
        item.insert(key::PEER_PK.to_owned(), s(by_observed(&workspace.uid, observed)));
        item.insert(key::PEER_SK.to_owned(), s(format!("{}#{id}", sortable(now))));
        let mut writes = vec![Write::put(item).if_absent()];
        writes.extend(lists::enter(
            &lists::representations(&workspace.uid),
            now,
            id.as_str(),
            &[],
        ));
        match self.transact(&writes).await {
            Ok(()) => Ok(fresh),
            Err(TableError::Condition(_)) => self.representation(&id).await?.ok_or(TableError::Conflict),
            Err(error) => Err(error),
        }
    }

    /// Writes the machine's next state, and the runs that change with it, in one transaction. `Condition` means that
    /// the representation or a run has changed since it was read.
    pub async fn save_representation(
        &self,
        read: &Representation,
        next: &State,
        runs: &[RunWrite],
        now: Time,
    ) -> Result<()> {
        let mut writes = vec![save(read, next, 0, now)?];
        for run in runs {
            writes.extend(run.writes()?);
        }
        self.transact(&writes).await
    }

    /// Every representation of a workspace, oldest first, or only those of one observed peer. The latter come from an
    /// index and may lag by moments on AWS.
    pub async fn representations(
        &self,
        workspace: &WorkspaceUid,
        observed: Option<&PeerName>,
    ) -> Result<Vec<Representation>> {
        let keys: Vec<Key> = if let Some(observed) = observed {
            let query = Query::index(BY_PEER_INDEX, by_observed(workspace, observed));
            self.query(query).await?.iter().map(Key::of).collect()
        } else {
            let everything = Paging {
                page: 1,
                size: usize::MAX,
                reverse: false,
            };
            let ids = self.list(&lists::representations(workspace), everything).await?.items;
            ids.into_iter().map(|id| head(&RepresentationId::trusted(id))).collect()
        };
        let mut items = self.get_many(keys.iter().cloned()).await?;
        keys.iter().filter_map(|key| items.remove(key)).map(from_item).collect()
    }

    /// The card; `None` when there is none.
    pub async fn card(&self, id: &RepresentationId) -> Result<Option<Card>> {
        self.get_as(&card_key(id)).await
    }

    /// Replaces the card, as a client does. `false` when the workspace is gone.
    pub async fn set_card(&self, workspace: &Workspace, id: &RepresentationId, entries: &[CardEntry]) -> Result<bool> {
        loop {
            let revision = self.card(id).await?.map_or(0, |card| card.revision);
            let there = Condition::Equals("uid", s(workspace.uid.as_str()));
            let writes = [
                Write::check(workspaces::head(&workspace.name), there),
                put_card(id, Some(entries), revision)?,
            ];
            match self.transact(&writes).await {
                Ok(()) => return Ok(true),
                Err(TableError::Condition(places)) if places.contains(&0) => return Ok(false),
                Err(TableError::Condition(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
