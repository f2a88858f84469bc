//! Members of sessions: `SU#{session}` / `M#{digest(peer)}`.
//!
//! An active member is also in the index by peer: `MP#{workspace}#{digest(peer)}` /
//! `{joined_at, 20 digits}#{digest(session)}`, from which the session's head follows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use reverie_core::id::{PeerName, SessionName, SessionUid, WorkspaceUid, digest};
use reverie_core::time::Time;

use super::due::sortable;
use super::expression::{Item, s};
use super::lists::{Choice, Page, Paging, Sieve};
use super::schema::{BY_PEER_INDEX, key};
use super::sessions::{Session, SessionError, collection, head_of, revise, tie};
use super::workspaces::lost;
use super::{BATCH_KEYS, Backoff, Key, Query, Result, TRANSACTION_ITEMS, Table, Write, from_item, to_item};

/// The most active members of a session that observe the others (`contracts/honcho.md`, Sessions).
pub const MAX_OBSERVERS: usize = 10;
/// A peer's settings in a session. `None` is unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberConfig {
    /// Whether others observe the peer here; unset is the peer's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe_me: Option<bool>,
    /// Whether the peer observes the others here; unset is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe_others: Option<bool>,
}

/// A peer's membership in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The peer.
    pub peer: PeerName,
    /// The session's name.
    pub session: SessionName,
    /// Its settings here.
    #[serde(flatten)]
    pub config: MemberConfig,
    /// When it last joined.
    pub joined_at: Time,
    /// When it left, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at: Option<Time>,
}

impl Member {
    /// Whether the peer is in the session now.
    pub fn is_active(&self) -> bool {
        self.left_at.is_none()
    }

    /// Whether the peer is in the session and observes the others.
    pub fn observes_others(&self) -> bool {
        self.is_active() && self.config.observe_others == Some(true)
    }
}

/// The key of a peer's membership.
pub(crate) fn key_of(session: &SessionUid, peer: &PeerName) -> Key {
    Key::new(collection(session), format!("M#{}", digest(&[peer.as_str()])))
}

fn by_peer(workspace: &WorkspaceUid, peer: &PeerName) -> String {
    format!("MP#{workspace}#{}", digest(&[peer.as_str()]))
}

/// A membership as an item, in the index by peer while it is active.
pub(super) fn member_item(workspace: &WorkspaceUid, session: &SessionUid, entity: &Member) -> Result<Item> {
    let mut item = to_item(&key_of(session, &entity.peer), "member", entity)?;
    if entity.is_active() {
        let sk = format!("{}#{}", sortable(entity.joined_at), tie(&entity.session));
        item.insert(key::PEER_PK.to_owned(), s(by_peer(workspace, &entity.peer)));
        item.insert(key::PEER_SK.to_owned(), s(sk));
    }
    Ok(item)
}

/// A change of a session's members.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// These join; those who are in keep their settings.
    Add(BTreeMap<PeerName, MemberConfig>),
    /// These are the members from now on, with these settings.
    Replace(BTreeMap<PeerName, MemberConfig>),
    /// These leave.
    Remove(BTreeSet<PeerName>),
    /// One member's settings; what is unset stays.
    Configure(PeerName, MemberConfig),
}

impl Change {
    /// The memberships to be written so that the change holds; none when it does already.
    pub(super) fn plan(&self, session: &SessionName, members: &[Member], now: Time) -> Vec<Member> {
        let find = |peer: &PeerName| members.iter().find(|member| member.peer == *peer);
        let joined = |peer: &PeerName, config: MemberConfig| Member {
            peer: peer.clone(),
            session: session.clone(),
            config,
            joined_at: now,
            left_at: None,
        };
        let left = |member: &Member| Member {
            left_at: Some(now),
            ..member.clone()
        };
        let active = members.iter().filter(|member| member.is_active());
        match self {
            Self::Add(peers) => peers
                .iter()
                .filter(|(peer, _)| !find(peer).is_some_and(Member::is_active))
                .map(|(peer, config)| joined(peer, *config))
                .collect(),
            Self::Replace(peers) => {
                let gone = active.filter(|member| !peers.contains_key(&member.peer)).map(left);
                let given = peers.iter().filter_map(|(peer, config)| match find(peer) {
                    Some(member) if member.is_active() => (member.config != *config).then(|| Member {
                        config: *config,
                        ..member.clone()
                    }),
                    _ => Some(joined(peer, *config)),
                });
                gone.chain(given).collect()
            }
            Self::Remove(peers) => active.filter(|member| peers.contains(&member.peer)).map(left).collect(),
            Self::Configure(peer, given) => find(peer)
                .filter(|member| member.is_active())
                .map(|member| Member {
                    config: MemberConfig {
                        observe_me: given.observe_me.or(member.config.observe_me),
                        observe_others: given.observe_others.or(member.config.observe_others),
                    },
                    ..member.clone()
                })
                .filter(|member| find(peer) != Some(member))
                .into_iter()
                .collect(),
        }
    }

    /// The peers that the change names and that must exist.
    fn peers(&self) -> impl Iterator<Item = &PeerName> {
        match self {
            Self::Add(peers) | Self::Replace(peers) => Some(peers.keys()),
            Self::Remove(_) | Self::Configure(..) => None,
        }
        .into_iter()
        .flatten()
    }
}

/// Refuses too many observers after `changed` members are written over `members`.
pub(super) fn check_observers(
    session: &SessionName,
    members: &[Member],
    changed: &[Member],
) -> Result<(), SessionError> {
    let kept = members
        .iter()
        .filter(|member| !changed.iter().any(|change| change.peer == member.peer));
    let observers = kept.chain(changed).filter(|member| member.observes_others()).count();
    // What only takes observers away is never refused.
    if observers > MAX_OBSERVERS && changed.iter().any(Member::observes_others) {
        return Err(SessionError::TooManyObservers {
            session: session.clone(),
            observers,
        });
    }
    Ok(())
}

impl Table {
    /// Everyone who is or was in a session, in the order of joining.
    pub async fn members(&self, session: &SessionUid) -> Result<Vec<Member>> {
        let items = self.query(Query::of(collection(session)).prefix("M#")).await?;
        let mut members = items.into_iter().map(from_item).collect::<Result<Vec<Member>>>()?;
        members.sort_by(|a, b| (a.joined_at, &a.peer).cmp(&(b.joined_at, &b.peer)));
        Ok(members)
    }

    /// Those who are in a session, in the order of joining.
    pub async fn active_members(&self, session: &SessionUid) -> Result<Vec<Member>> {
        let mut members = self.members(session).await?;
        members.retain(Member::is_active);
        Ok(members)
    }

    /// Lets peers join, creating those that do not exist. Who is in keeps its settings; who was in gets the new ones.
    pub async fn add_members(
        &self,
        workspace: &WorkspaceUid,
        session: &Session,
        members: BTreeMap<PeerName, MemberConfig>,
        now: Time,
    ) -> Result<(), SessionError> {
        self.change_members(workspace, session, Change::Add(members), now).await
    }

    /// Makes these peers, with these settings, the members; all others leave.
    pub async fn set_members(
        &self,
        workspace: &WorkspaceUid,
        session: &Session,
        members: BTreeMap<PeerName, MemberConfig>,
        now: Time,
    ) -> Result<(), SessionError> {
        self.change_members(workspace, session, Change::Replace(members), now)
            .await
    }

    /// Lets peers leave; those who are not in are no error.
    pub async fn remove_members(
        &self,
        workspace: &WorkspaceUid,
        session: &Session,
        peers: BTreeSet<PeerName>,
        now: Time,
    ) -> Result<(), SessionError> {
        self.change_members(workspace, session, Change::Remove(peers), now)
            .await
    }

    /// A member's settings.
    pub async fn member_config(&self, session: &Session, peer: &PeerName) -> Result<MemberConfig, SessionError> {
        let found: Option<Member> = self.get_as(&key_of(&session.uid, peer)).await?;
        match found {
            Some(member) if member.is_active() => Ok(member.config),
            _ => Err(SessionError::NotAMember {
                session: session.name.clone(),
                peer: peer.clone(),
            }),
        }
    }

    /// Sets what is given of a member's settings.
    pub async fn set_member_config(
        &self,
        workspace: &WorkspaceUid,
        session: &Session,
        peer: &PeerName,
        config: MemberConfig,
        now: Time,
    ) -> Result<(), SessionError> {
        self.member_config(session, peer).await?;
        self.change_members(workspace, session, Change::Configure(peer.clone(), config), now)
            .await
    }

    /// Plans a change on the members as they are and writes it under the head's revision, until nothing is left to do.
    /// More members than one transaction holds are written in several; whoever tries again goes on where it stopped.
    pub(super) async fn change_members(
        &self,
        workspace: &WorkspaceUid,
        session: &Session,
        change: Change,
        now: Time,
    ) -> Result<(), SessionError> {
        self.ensure_peers(workspace, change.peers(), now).await?;
        let mut backoff = Backoff::default();
        loop {
            // The head first: members that change after it was read change its revision too.
            let mut current = self
                .session(workspace, &session.name)
                .await?
                .filter(|current| current.uid == session.uid && current.is_active)
                .ok_or_else(|| SessionError::Gone(session.name.clone()))?;
            let members = self.members(&session.uid).await?;
            let changed = change.plan(&session.name, &members, now);
            check_observers(&session.name, &members, &changed)?;
            let mut done = true;
            for chunk in changed.chunks(TRANSACTION_ITEMS - 1) {
                let mut writes = vec![revise(workspace, &current, Vec::new())];
                for member in chunk {
                    writes.push(Write::put(member_item(workspace, &session.uid, member)?));
                }
                match self.transact(&writes).await {
                    Ok(()) => current.revision += 1,
                    Err(error) if error.is_condition() && backoff.again() => {
                        backoff.wait().await;
                        done = false;
                        break;
                    }
                    Err(error) => return Err(lost(error).into()),
                }
            }
            if done {
                return Ok(());
            }
        }
    }

    /// A page of the sessions that a peer is in, or of those of them that are wanted, in the order of joining. Through
    /// the index: a membership of the last moments may be missing, but one that has ended is not shown.
    pub async fn sessions_of_peer(
        &self,
        workspace: &WorkspaceUid,
        peer: &PeerName,
        paging: Paging,
        choice: Option<&Choice<'_, Session>>,
    ) -> Result<Page<Session>> {
        let entries = self
            .query(Query::index(BY_PEER_INDEX, by_peer(workspace, peer)))
            .await?;
        let names = choice.and_then(|choice| choice.names.as_ref());
        let ties: Option<BTreeSet<_>> = names.map(|names| names.iter().map(|name| digest(&[name])).collect());
        let mut entries: Vec<(Key, Key)> = entries
            .iter()
            .filter_map(|entry| {
                let sk = entry.get(key::PEER_SK)?.as_s().ok()?;
                let (_, tie) = sk.split_once('#')?;
                let named = ties.as_ref().is_none_or(|ties| ties.contains(tie));
                named.then(|| (Key::of(entry), head_of(workspace, tie)))
            })
            .collect();
        let Some(choice) = choice else {
            let page = paging.of(entries);
            let items = self.joined_sessions(&page.items).await?;
            let total = page.total;
            return Ok(Page { items, total });
        };
        if paging.reverse {
            entries.reverse();
        }
        let mut sieve = Sieve::new(paging);
        for chunk in entries.chunks(BATCH_KEYS / 2) {
            let found = self.joined_sessions(chunk).await?;
            found
                .into_iter()
                .filter(|session| (choice.wanted)(session))
                .for_each(|session| sieve.offer(session));
        }
        Ok(sieve.page())
    }

    /// The sessions of memberships, each given by its key and the key of the session's head, that have not ended.
    async fn joined_sessions(&self, entries: &[(Key, Key)]) -> Result<Vec<Session>> {
        let keys = entries.iter().flat_map(|(member, head)| [member.clone(), head.clone()]);
        let mut found = self.get_many(keys).await?;
        let mut sessions = Vec::new();
        for (member_key, head_key) in entries {
            let (Some(member), Some(session)) = (found.remove(member_key), found.remove(head_key)) else {
                continue;
            };
            let (member, session): (Member, Session) = (from_item(member)?, from_item(session)?);
            if member.is_active() && session.is_active && member_key.pk == collection(&session.uid) {
                sessions.push(session);
            }
        }
        Ok(sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str) -> PeerName {
        PeerName::trusted(name)
    }

    fn observing(observe_others: bool) -> MemberConfig {
        MemberConfig {
            observe_me: None,
            observe_others: Some(observe_others),
        }
    }

    fn member_of(name: &str, config: MemberConfig, left: bool) -> Member {
        Member {
            peer: peer(name),
            session: SessionName::trusted("s"),
            config,
            joined_at: Time::from_seconds(1),
            left_at: left.then(|| Time::from_seconds(2)),
        }
    }

    fn plan(change: &Change, members: &[Member]) -> Vec<(String, Option<bool>, bool)> {
        change
            .plan(&SessionName::trusted("s"), members, Time::from_seconds(9))
            .into_iter()
            .map(|member| {
                (
                    member.peer.to_string(),
                    member.config.observe_others,
                    member.is_active(),
                )
            })
            .collect()
    }

    #[test]
    fn who_is_in_keeps_its_settings_and_who_comes_back_takes_the_new_ones() {
        let members = [
            member_of("in", observing(true), false),
            member_of("left", observing(true), true),
        ];
        let given = ["in", "left", "new"].map(|name| (peer(name), observing(false)));
        assert_eq!(
            plan(&Change::Add(BTreeMap::from(given)), &members),
            [
                ("left".to_owned(), Some(false), true),
                ("new".to_owned(), Some(false), true)
            ]
        );
    }

    #[test]
    fn replacing_members_lets_the_others_leave_and_takes_the_given_settings() {
        let members = [
            member_of("stays", observing(true), false),
            member_of("goes", observing(true), false),
            member_of("gone", observing(true), true),
        ];
        let change = Change::Replace(BTreeMap::from([(peer("stays"), MemberConfig::default())]));
        assert_eq!(
            plan(&change, &members),
            [("goes".to_owned(), Some(true), false), ("stays".to_owned(), None, true)]
        );
    }

    #[test]
    fn a_change_that_holds_already_writes_nothing() {
        let members = [
            member_of("a", observing(true), false),
            member_of("b", observing(true), true),
        ];
        let same = BTreeMap::from([(peer("a"), observing(true))]);
        for change in [
            Change::Add(same.clone()),
            Change::Replace(same),
            Change::Remove(BTreeSet::from([peer("b"), peer("unknown")])),
            Change::Configure(peer("a"), MemberConfig::default()),
        ] {
            assert_eq!(plan(&change, &members), [], "{change:?}");
        }
    }

    #[test]
    fn settings_of_a_member_that_are_not_given_stay() {
        let members = [member_of("a", observing(true), false)];
        let given = MemberConfig {
            observe_me: Some(false),
            observe_others: None,
        };
        let planned = Change::Configure(peer("a"), given).plan(&SessionName::trusted("s"), &members, Time::default());
        assert_eq!(
            planned.first().map(|member| member.config),
            Some(MemberConfig {
                observe_me: Some(false),
                observe_others: Some(true)
            })
        );
    }

    #[test]
    fn an_eleventh_observer_is_refused_and_one_who_left_does_not_count() {
        let ten: Vec<_> = (0..10)
            .map(|n| member_of(&format!("p{n}"), observing(true), false))
            .collect();
        let name = SessionName::trusted("s");
        let eleventh = [member_of("late", observing(true), false)];
        assert!(matches!(
            check_observers(&name, &ten, &eleventh),
            Err(SessionError::TooManyObservers { observers: 11, .. })
        ));
        assert!(check_observers(&name, &ten, &[member_of("late", observing(false), false)]).is_ok());
        let mut nine = ten.clone();
        nine[0].left_at = Some(Time::from_seconds(3));
        assert!(check_observers(&name, &nine, &eleventh).is_ok());
        // Leaving is possible whatever the number.
        let eleven: Vec<_> = ten.iter().chain(&eleventh).cloned().collect();
        assert!(check_observers(&name, &eleven, &[member_of("p0", observing(true), true)]).is_ok());
    }

    #[test]
    fn only_active_members_are_in_the_index_by_peer() -> Result<()> {
        let (workspace, session) = (WorkspaceUid::trusted("w"), SessionUid::trusted("u"));
        let active = member_item(&workspace, &session, &member_of("a", observing(true), false))?;
        let left = member_item(&workspace, &session, &member_of("a", observing(true), true))?;
        assert!(active.contains_key(key::PEER_PK));
        assert!(!left.contains_key(key::PEER_PK));
        let read: Member = from_item(active)?;
        assert_eq!(read, member_of("a", observing(true), false));
        Ok(())
    }
}
