//! What the routes work with, and the look-ups that most of them begin with.

use std::sync::Arc;

use reverie_aws::table::Table;
use reverie_aws::table::peers::Peer;
use reverie_aws::table::sessions::Session;
use reverie_aws::table::workspaces::{Given, Workspace};
use reverie_core::config::Config;
use reverie_core::id::{IdSource, PeerName, SessionName, WorkspaceName};
use reverie_core::ports::Clock;
use reverie_core::time::Time;
use reverie_engine::Engine;

use crate::call::Call;
use crate::error::Error;

/// The router's state. Clones share it.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct App {
    /// The table.
    pub table: Arc<Table>,
    /// Every behaviour that is more than reading and writing one resource.
    pub engine: Arc<Engine>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// The deployment's settings.
    pub config: Arc<Config>,
}

impl App {
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The workspace that the path names.
    pub(crate) async fn workspace(&self, call: &Call) -> Result<Workspace, Error> {
        let name = call.workspace()?;
        let found = self.table.workspace(&name).await?;
        found.ok_or_else(|| Error::no_workspace(name.as_str()))
    }

    /// The workspace of this name, created if there is none.
    pub(crate) async fn ensure_workspace(&self, name: &WorkspaceName) -> Result<Workspace, Error> {
        let given = Given::default();
        let (workspace, _) = self
            .table
            .get_or_create_workspace(name, given, &*self.ids, self.now())
            .await?;
        Ok(workspace)
    }

    /// A peer of the workspace.
    pub(crate) async fn peer(&self, workspace: &Workspace, name: &PeerName) -> Result<Peer, Error> {
        let found = self.table.peer(&workspace.uid, name).await?;
        found.ok_or_else(|| Error::no_peer(name.as_str(), workspace.name.as_str()))
    }

    /// A session of the workspace.
    pub(crate) async fn session(&self, workspace: &Workspace, name: &SessionName) -> Result<Session, Error> {
        let found = self.table.session(&workspace.uid, name).await?;
        found
            .filter(|session| session.is_active)
            .ok_or_else(|| Error::no_session(name.as_str(), workspace.name.as_str()))
    }
}
