//! Peers: head `P#{workspace}#{digest(name)}`/`#`, list `LP#{workspace}`.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use reverie_core::id::{PeerName, WorkspaceUid, digest};
use reverie_core::settings::Configuration;
use reverie_core::time::Time;

use super::lists::{self, Choice, Listed, Page, Paging};
use super::workspaces::{Given, Metadata, lost};
use super::{Backoff, Key, Result, Table, Write, from_item, json_text, to_item};

/// A peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name, unique in its workspace.
    pub name: PeerName,
    /// Users' metadata.
    #[serde(with = "json_text")]
    pub metadata: Metadata,
    /// Users' settings of this peer (`observe_me`, and whatever else was stored).
    #[serde(with = "json_text")]
    pub configuration: Configuration,
    /// When it was created.
    pub created_at: Time,
}

impl Peer {
    /// The peer's own word on whether it is observed, if it has one.
    pub fn observe_me(&self) -> Option<bool> {
        self.configuration.get("observe_me")?.as_bool()
    }
}

impl Listed for Peer {
    fn created_at(&self) -> Time {
        self.created_at
    }

    fn name(&self) -> &str {
        self.name.as_str()
    }
}

fn tie(name: &PeerName) -> String {
    digest(&[name.as_str()])
}

pub(crate) fn head_of(workspace: &WorkspaceUid, tie: &str) -> Key {
    Key::new(format!("P#{workspace}#{tie}"), "#")
}

/// The key of a peer's head.
pub(crate) fn head(workspace: &WorkspaceUid, name: &PeerName) -> Key {
    head_of(workspace, &tie(name))
}

impl Table {
    /// The peer of this name.
    pub async fn peer(&self, workspace: &WorkspaceUid, name: &PeerName) -> Result<Option<Peer>> {
        self.get_as(&head(workspace, name)).await
    }

    /// Those of the named peers that exist, by name.
    pub async fn find_peers<'a>(
        &self,
        workspace: &WorkspaceUid,
        names: impl IntoIterator<Item = &'a PeerName>,
    ) -> Result<HashMap<PeerName, Peer>> {
        let items = self
            .get_many(names.into_iter().map(|name| head(workspace, name)))
            .await?;
        items
            .into_values()
            .map(|item| from_item::<Peer>(item).map(|peer| (peer.name.clone(), peer)))
            .collect()
    }

    /// The peer of this name, created with what is given if there is none; and whether it was created. What is given
    /// replaces an existing peer's.
    pub async fn get_or_create_peer(
        &self,
        workspace: &WorkspaceUid,
        name: &PeerName,
        given: Given,
        now: Time,
    ) -> Result<(Peer, bool)> {
        let clauses = given.clauses()?;
        let mut backoff = Backoff::default();
        loop {
            let found = self.peer(workspace, name).await?;
            let created = found.is_none();
            let mut peer = found.unwrap_or_else(|| Peer {
                name: name.clone(),
                metadata: Metadata::new(),
                configuration: Configuration::new(),
                created_at: now,
            });
            if let Some(metadata) = &given.metadata {
                peer.metadata.clone_from(metadata);
            }
            if let Some(configuration) = &given.configuration {
                peer.configuration.clone_from(configuration);
            }
            if !created && given.is_empty() {
                return Ok((peer, false));
            }
            let written = if created {
                self.create_peers(workspace, std::slice::from_ref(&peer)).await
            } else {
                let write = Write::update(head(workspace, name), clauses.clone()).if_there();
                self.transact(&[write]).await
            };
            match written {
                Ok(()) => return Ok((peer, created)),
                Err(error) if error.is_condition() && backoff.again() => backoff.wait().await,
                Err(error) => return Err(lost(error)),
            }
        }
    }

    /// Replaces what is given, creating the peer if there is none.
    pub async fn update_peer(
        &self,
        workspace: &WorkspaceUid,
        name: &PeerName,
        given: Given,
        now: Time,
    ) -> Result<Peer> {
        Ok(self.get_or_create_peer(workspace, name, given, now).await?.0)
    }

    /// The named peers, by name; those that do not exist are created, empty.
    pub async fn ensure_peers<'a>(
        &self,
        workspace: &WorkspaceUid,
        names: impl IntoIterator<Item = &'a PeerName>,
        now: Time,
    ) -> Result<HashMap<PeerName, Peer>> {
        let names: BTreeSet<_> = names.into_iter().collect();
        let mut peers = HashMap::new();
        let mut backoff = Backoff::default();
        loop {
            let unknown: Vec<_> = names
                .iter()
                .copied()
                .filter(|name| !peers.contains_key(*name))
                .collect();
            if unknown.is_empty() {
                return Ok(peers);
            }
            peers.extend(self.find_peers(workspace, unknown).await?);
            let missing: Vec<_> = names
                .iter()
                .filter(|name| !peers.contains_key(**name))
                .map(|name| Peer {
                    name: (*name).clone(),
                    metadata: Metadata::new(),
                    configuration: Configuration::new(),
                    created_at: now,
                })
                .collect();
            for chunk in missing.chunks(lists::MAX_ADDED) {
                match self.create_peers(workspace, chunk).await {
                    Ok(()) => peers.extend(chunk.iter().map(|peer| (peer.name.clone(), peer.clone()))),
                    // Somebody else made one of them: look again.
                    Err(error) if error.is_condition() && backoff.again() => {
                        backoff.wait().await;
                        break;
                    }
                    Err(error) => return Err(lost(error)),
                }
            }
        }
    }

    /// Creates peers that are not there, all or none; at most [`lists::MAX_ADDED`].
    async fn create_peers(&self, workspace: &WorkspaceUid, peers: &[Peer]) -> Result<()> {
        let ties: Vec<_> = peers.iter().map(|peer| tie(&peer.name)).collect();
        let mut writes = Vec::new();
        for (peer, tie) in peers.iter().zip(&ties) {
            writes.push(Write::put(to_item(&head_of(workspace, tie), "peer", peer)?).if_absent());
        }
        let rows = peers
            .iter()
            .zip(&ties)
            .map(|(peer, tie)| (peer.created_at, tie.as_str()));
        writes.extend(lists::enter_all(&lists::peers(workspace), rows));
        self.transact(&writes).await
    }

    /// A page of a workspace's peers, or of those that are wanted, oldest first.
    pub async fn peers(
        &self,
        workspace: &WorkspaceUid,
        paging: Paging,
        choice: Option<&Choice<'_, Peer>>,
    ) -> Result<Page<Peer>> {
        let list = lists::peers(workspace);
        self.list_entities(&list, paging, choice, |tie| head_of(workspace, tie))
            .await
    }
}
