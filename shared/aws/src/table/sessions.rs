//! Sessions: head `S#{workspace}#{digest(name)}`/`#`, list `LS#{workspace}`; and in the session's own collection
//! `SU#{session}` its state `ST` and its members, see [`super::members`].
//!
//! Every change of the head or of members raises the head's `revision` and is conditioned on the one that was read, so
//! that merged settings and the limit of observers hold between concurrent writers. Posting messages does not touch the
//! head.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use reverie_core::conclusion::SessionRef;
use reverie_core::id::{IdSource, PeerName, Seq, SessionName, SessionUid, WorkspaceUid, digest};
use reverie_core::settings::{Configuration, merge_sections};
use reverie_core::summary::Kind;
use reverie_core::time::Time;

use super::expression::{Clause, Condition, n, s};
use super::lists::{self, Choice, Listed, Page, Paging};
use super::members::{Change, MAX_OBSERVERS, Member, MemberConfig, check_observers, member_item};
use super::workspaces::{Given, Metadata, Workspace, lost};
use super::{Backoff, Key, Result, Table, TableError, Write, json_text, to_item};

/// Members written together with the session that is created; the rest follow in transactions of their own.
const MEMBERS_AT_CREATION: usize = 90;

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its uid, which all that depends on it has in its keys.
    pub uid: SessionUid,
    /// Its name, unique in its workspace.
    pub name: SessionName,
    /// Whether it takes messages; false once its deletion has begun.
    pub is_active: bool,
    /// Users' metadata.
    #[serde(with = "json_text")]
    pub metadata: Metadata,
    /// Users' settings of this level.
    #[serde(with = "json_text")]
    pub configuration: Configuration,
    /// When it was created.
    pub created_at: Time,
    /// How often the head or the members were changed.
    #[serde(default)]
    pub revision: u64,
}

impl Listed for Session {
    fn created_at(&self) -> Time {
        self.created_at
    }

    fn name(&self) -> &str {
        self.name.as_str()
    }
}

/// What posting messages reads and writes, apart from the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// The newest message; 0 before the first.
    pub last_seq: Seq,
    /// Whether messages may be written.
    pub alive: bool,
    /// Whether the session is in the due index, to be derived from.
    pub queued: bool,
    /// How often another try at a parked message was asked for.
    #[serde(default)]
    pub retries: u64,
    /// How many of those were made.
    #[serde(default)]
    pub retried: u64,
    /// The last message that the short summary covers.
    #[serde(default)]
    pub short_summary: Seq,
    /// The last message that the long one covers.
    #[serde(default)]
    pub long_summary: Seq,
}

impl SessionState {
    /// The last message that a summary covers.
    pub const fn summarised(&self, kind: Kind) -> Seq {
        match kind {
            Kind::Short => self.short_summary,
            Kind::Long => self.long_summary,
        }
    }
}

/// Why a session or its members were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// More than [`MAX_OBSERVERS`] active members would observe the others.
    #[error("session {session} would have {observers} observers, more than {MAX_OBSERVERS}")]
    TooManyObservers {
        /// The session.
        session: SessionName,
        /// How many there would be.
        observers: usize,
    },
    /// The session is being deleted, or is gone.
    #[error("session {0} is gone")]
    Gone(SessionName),
    /// The peer is not in the session.
    #[error("peer {peer} is not in session {session}")]
    NotAMember {
        /// The session.
        session: SessionName,
        /// The peer.
        peer: PeerName,
    },
    /// The table failed.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// What a client gives for a session that it gets or creates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenSession {
    /// Metadata and configuration.
    pub given: Given,
    /// Peers to be members, with their settings.
    pub members: BTreeMap<PeerName, MemberConfig>,
}

pub(crate) fn tie(name: &SessionName) -> String {
    digest(&[name.as_str()])
}

pub(crate) fn head_of(workspace: &WorkspaceUid, tie: &str) -> Key {
    Key::new(format!("S#{workspace}#{tie}"), "#")
}

/// The key of a session's head.
pub(crate) fn head(workspace: &WorkspaceUid, name: &SessionName) -> Key {
    head_of(workspace, &tie(name))
}

/// The partition of a session's own collection.
pub(crate) fn collection(session: &SessionUid) -> String {
    format!("SU#{session}")
}

/// The key of a session's state.
pub(crate) fn state(session: &SessionUid) -> Key {
    Key::new(collection(session), "ST")
}

/// A condition that the session takes writes: what keeps all that is written under its uid from its deletion on.
pub(crate) fn check_alive(session: &SessionUid) -> Write {
    Write::check(state(session), Condition::Equals("alive", AttributeValue::Bool(true)))
}

/// The name under which the table remembers a session's uid.
pub(crate) fn hint(workspace: &WorkspaceUid, name: &SessionName) -> String {
    format!("s:{workspace}:{name}")
}

/// The write that raises a head's revision from the one that was read.
pub(crate) fn revise(workspace: &WorkspaceUid, session: &Session, mut clauses: Vec<Clause>) -> Write {
    clauses.push(Clause::Set("revision", n(session.revision + 1)));
    Write::update(head(workspace, &session.name), clauses).when(Condition::All(vec![
        Condition::Equals("uid", s(session.uid.as_str())),
        Condition::Equals("revision", n(session.revision)),
    ]))
}

impl Table {
    /// The session of this name.
    pub async fn session(&self, workspace: &WorkspaceUid, name: &SessionName) -> Result<Option<Session>> {
        let found: Option<Session> = self.get_as(&head(workspace, name)).await?;
        if let Some(session) = &found {
            self.remember(hint(workspace, name), session.uid.as_str().to_owned());
        }
        Ok(found)
    }

    /// The session that is meant, if it is there under its name and active.
    pub async fn active_session(&self, workspace: &WorkspaceUid, meant: &SessionRef) -> Result<Option<Session>> {
        let found = self.session(workspace, &meant.name).await?;
        Ok(found.filter(|session| session.uid == meant.uid && session.is_active))
    }

    /// The session of this name, created with what is given if there is none; and whether it was created.
    ///
    /// To an existing one, given metadata replaces, given sections of the configuration replace the same ones, and given
    /// peers join unless they are in.
    pub async fn get_or_create_session(
        &self,
        workspace: &Workspace,
        name: &SessionName,
        given: GivenSession,
        ids: &dyn IdSource,
        now: Time,
    ) -> Result<(Session, bool), SessionError> {
        let GivenSession { given, members } = given;
        given.check_size()?;
        let all: Vec<_> = Change::Add(members.clone()).plan(name, &[], now);
        check_observers(name, &[], &all)?;
        let mut backoff = Backoff::default();
        loop {
            if let Some(found) = self.session(&workspace.uid, name).await? {
                if !found.is_active {
                    return Err(SessionError::Gone(name.clone()));
                }
                let Some(session) = self.merge_session(&workspace.uid, found, &given).await? else {
                    if backoff.again() {
                        backoff.wait().await;
                        continue;
                    }
                    return Err(TableError::Conflict.into());
                };
                if !members.is_empty() {
                    self.change_members(&workspace.uid, &session, Change::Add(members), now)
                        .await?;
                }
                return Ok((session, false));
            }
            self.ensure_peers(&workspace.uid, members.keys(), now).await?;
            let (first, rest) = all.split_at(all.len().min(MEMBERS_AT_CREATION));
            match self.create_session(workspace, name, &given, first, ids, now).await {
                Ok(session) => {
                    if !rest.is_empty() {
                        self.change_members(&workspace.uid, &session, Change::Add(members), now)
                            .await?;
                    }
                    return Ok((session, true));
                }
                Err(error) if error.is_condition() && backoff.again() => backoff.wait().await,
                Err(error) => return Err(lost(error).into()),
            }
        }
    }

    async fn create_session(
        &self,
        workspace: &Workspace,
        name: &SessionName,
        given: &Given,
        members: &[Member],
        ids: &dyn IdSource,
        now: Time,
    ) -> Result<Session> {
        let session = Session {
            uid: SessionUid::trusted(ids.uid()),
            name: name.clone(),
            is_active: true,
            metadata: given.metadata.clone().unwrap_or_default(),
            configuration: given.configuration.clone().unwrap_or_default(),
            created_at: now,
            revision: 0,
        };
        let fresh = SessionState {
            last_seq: Seq(0),
            alive: true,
            queued: false,
            retries: 0,
            retried: 0,
            short_summary: Seq(0),
            long_summary: Seq(0),
        };
        let mut writes = vec![
            Write::put(to_item(&head(&workspace.uid, name), "session", &session)?).if_absent(),
            Write::put(to_item(&state(&session.uid), "session_state", &fresh)?).if_absent(),
        ];
        writes.extend(lists::enter(&lists::sessions(&workspace.uid), now, &tie(name), &[]));
        for member in members {
            writes.push(Write::put(member_item(&workspace.uid, &session.uid, member)?));
        }
        self.transact(&writes).await?;
        self.remember(hint(&workspace.uid, name), session.uid.as_str().to_owned());
        Ok(session)
    }

    /// Stores what is given over a session as it was read; `None` when another writer was faster.
    async fn merge_session(
        &self,
        workspace: &WorkspaceUid,
        mut session: Session,
        given: &Given,
    ) -> Result<Option<Session>> {
        let configuration = given
            .configuration
            .as_ref()
            .map(|given| merge_sections(&session.configuration, given))
            .filter(|merged| *merged != session.configuration);
        let metadata = given.metadata.clone().filter(|given| *given != session.metadata);
        let change = Given {
            metadata,
            configuration,
        };
        if change.is_empty() {
            return Ok(Some(session));
        }
        match self.transact(&[revise(workspace, &session, change.clauses()?)]).await {
            Ok(()) => {
                session.metadata = change.metadata.unwrap_or(session.metadata);
                session.configuration = change.configuration.unwrap_or(session.configuration);
                session.revision += 1;
                Ok(Some(session))
            }
            Err(error) if error.is_condition() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores what is given as [`Table::get_or_create_session`] does, creating the session if there is none.
    pub async fn update_session(
        &self,
        workspace: &Workspace,
        name: &SessionName,
        given: Given,
        ids: &dyn IdSource,
        now: Time,
    ) -> Result<Session, SessionError> {
        let given = GivenSession {
            given,
            ..GivenSession::default()
        };
        Ok(self.get_or_create_session(workspace, name, given, ids, now).await?.0)
    }

    /// A page of a workspace's sessions, or of those that are wanted, oldest first. One that is being deleted is on no
    /// list, but may still be there under its name.
    pub async fn sessions(
        &self,
        workspace: &WorkspaceUid,
        paging: Paging,
        choice: Option<&Choice<'_, Session>>,
    ) -> Result<Page<Session>> {
        let list = lists::sessions(workspace);
        let active = |session: &Session| session.is_active && choice.is_none_or(|choice| (choice.wanted)(session));
        let choice = choice.map(|choice| Choice {
            names: choice.names.clone(),
            wanted: &active,
        });
        self.list_entities(&list, paging, choice.as_ref(), |tie| head_of(workspace, tie))
            .await
    }
}
