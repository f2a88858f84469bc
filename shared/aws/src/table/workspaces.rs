//! Workspaces: head `W#{digest(name)}`/`#`, list `LW`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use reverie_core::id::{IdSource, WorkspaceName, WorkspaceUid, digest};
use reverie_core::settings::Configuration;
use reverie_core::time::Time;

use super::expression::{Clause, Condition, s};
use super::lists::{self, Choice, Listed, Page, Paging};
use super::{Backoff, Key, Result, Table, TableError, Write, json_text, to_item};

/// Users' metadata.
pub type Metadata = Map<String, Value>;

/// The most bytes of one entity's metadata as JSON: with [`MAX_CONFIGURATION`] and a name it fits into an item.
const MAX_METADATA: usize = 256 * 1024;
/// The most bytes of one entity's configuration as JSON.
const MAX_CONFIGURATION: usize = 100 * 1024;

/// A workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workspace {
    /// Its uid, which all that depends on it has in its keys.
    pub uid: WorkspaceUid,
    /// Its name.
    pub name: WorkspaceName,
    /// Users' metadata.
    #[serde(with = "json_text")]
    pub metadata: Metadata,
    /// Users' settings of this level.
    #[serde(with = "json_text")]
    pub configuration: Configuration,
    /// When it was created.
    pub created_at: Time,
}

impl Listed for Workspace {
    fn created_at(&self) -> Time {
        self.created_at
    }

    fn name(&self) -> &str {
        self.name.as_str()
    }
}

/// Metadata and configuration that a client sent; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The metadata.
    pub metadata: Option<Metadata>,
    /// The configuration.
    pub configuration: Option<Configuration>,
}

impl Given {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.metadata.is_none() && self.configuration.is_none()
    }

    /// Refuses what is too large for an item.
    pub fn check_size(&self) -> Result<()> {
        self.clauses().map(drop)
    }

    /// The clauses that replace what is given, after checking that it fits.
    pub(crate) fn clauses(&self) -> Result<Vec<Clause>> {
        let mut clauses = Vec::new();
        if let Some(metadata) = &self.metadata {
            clauses.push(Clause::Set("metadata", s(text(metadata, MAX_METADATA, "metadata")?)));
        }
        if let Some(configuration) = &self.configuration {
            let text = text(configuration, MAX_CONFIGURATION, "configuration")?;
            clauses.push(Clause::Set("configuration", s(text)));
        }
        Ok(clauses)
    }
}

fn text(map: &Map<String, Value>, most: usize, what: &'static str) -> Result<String> {
    let text = serde_json::to_string(map).map_err(|source| TableError::Call {
        what: "encode users' JSON",
        source: Box::new(source),
    })?;
    if text.len() > most {
        return Err(TableError::TooLarge(what));
    }
    Ok(text)
}

pub(crate) fn tie(name: &WorkspaceName) -> String {
    digest(&[name.as_str()])
}

fn head_of(tie: &str) -> Key {
    Key::new(format!("W#{tie}"), "#")
}

/// The key of a workspace's head.
pub(crate) fn head(name: &WorkspaceName) -> Key {
    head_of(&tie(name))
}

/// The name under which the table remembers a workspace's uid.
pub(crate) fn hint(name: &WorkspaceName) -> String {
    format!("w:{name}")
}

impl Table {
    /// The workspace of this name.
    pub async fn workspace(&self, name: &WorkspaceName) -> Result<Option<Workspace>> {
        let found: Option<Workspace> = self.get_as(&head(name)).await?;
        if let Some(workspace) = &found {
            self.remember(hint(name), workspace.uid.as_str().to_owned());
        }
        Ok(found)
    }

    /// The workspace of this name, created with what is given if there is none; and whether it was created. An existing
    /// one is returned unchanged.
    pub async fn get_or_create_workspace(
        &self,
        name: &WorkspaceName,
        given: Given,
        ids: &dyn IdSource,
        now: Time,
    ) -> Result<(Workspace, bool)> {
        given.check_size()?;
        let mut backoff = Backoff::default();
        loop {
            if let Some(found) = self.workspace(name).await? {
                return Ok((found, false));
            }
            let workspace = Workspace {
                uid: WorkspaceUid::trusted(ids.uid()),
                name: name.clone(),
                metadata: given.metadata.clone().unwrap_or_default(),
                configuration: given.configuration.clone().unwrap_or_default(),
                created_at: now,
            };
            let mut writes = vec![Write::put(to_item(&head(name), "workspace", &workspace)?).if_absent()];
            writes.extend(lists::enter(lists::WORKSPACES, now, &tie(name), &[]));
            match self.transact(&writes).await {
                Ok(()) => {
                    self.remember(hint(name), workspace.uid.as_str().to_owned());
                    return Ok((workspace, true));
                }
                Err(error) if error.is_condition() && backoff.again() => backoff.wait().await,
                Err(error) => return Err(lost(error)),
            }
        }
    }

    /// Replaces what is given, whole, creating the workspace if there is none.
    pub async fn update_workspace(
        &self,
        name: &WorkspaceName,
        given: Given,
        ids: &dyn IdSource,
        now: Time,
    ) -> Result<Workspace> {
        let clauses = given.clauses()?;
        let mut backoff = Backoff::default();
        loop {
            let (mut workspace, created) = self.get_or_create_workspace(name, given.clone(), ids, now).await?;
            if created || given.is_empty() {
                return Ok(workspace);
            }
            let same = Condition::Equals("uid", s(workspace.uid.as_str()));
            match self
                .transact(&[Write::update(head(name), clauses.clone()).when(same)])
                .await
            {
                Ok(()) => {
                    workspace.metadata = given.metadata.unwrap_or(workspace.metadata);
                    workspace.configuration = given.configuration.unwrap_or(workspace.configuration);
                    return Ok(workspace);
                }
                Err(error) if error.is_condition() && backoff.again() => backoff.wait().await,
                Err(error) => return Err(lost(error)),
            }
        }
    }

    /// A page of all workspaces, or of those that are wanted, oldest first.
    pub async fn workspaces(&self, paging: Paging, choice: Option<&Choice<'_, Workspace>>) -> Result<Page<Workspace>> {
        self.list_entities(lists::WORKSPACES, paging, choice, head_of).await
    }
}

/// A condition that kept failing is a race that kept being lost.
pub(crate) fn lost(error: TableError) -> TableError {
    if error.is_condition() {
        TableError::Conflict
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_fit_into_an_item_is_refused_before_it_is_written() {
        let large = |bytes: usize| Given {
            metadata: Some(Map::from_iter([("k".to_owned(), Value::from("x".repeat(bytes)))])),
            configuration: None,
        };
        assert!(large(MAX_METADATA - 100).clauses().is_ok());
        assert!(matches!(
            large(MAX_METADATA).clauses(),
            Err(TableError::TooLarge("metadata"))
        ));
        const { assert!(MAX_METADATA + MAX_CONFIGURATION + 4096 < 400 * 1024) }
    }
}
