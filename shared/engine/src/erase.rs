//! Deletions of sessions and workspaces: what is asked for is in force at once, the rest is a job (`design.md` section 6,
//! "Erasure").

use std::time::Duration;

use reverie_aws::table::erasure::{Asked, Erasure};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::id::{SessionName, SessionUid, WorkspaceName, WorkspaceUid};

use crate::letters::WAKE_LIMIT;
use crate::{Engine, Result};

/// How long one delivery works before it hands the rest on: well under the function's timeout.
const SLICE: Duration = Duration::from_secs(45);

/// Why a workspace was not deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDeleted {
    /// There is none of the name.
    Unknown,
    /// It has active sessions.
    Active,
}

impl Engine {
    /// Deletes a session: at once it is gone for readers and writers; everything that only it supports goes with a job.
    /// `false` when there is no such session.
    pub async fn delete_session(&self, workspace: &Workspace, name: &SessionName) -> Result<bool> {
        let begun = self
            .table
            .begin_session_erasure(&workspace.uid, name, self.now())
            .await?;
        let Some(erasure) = begun else {
            return Ok(false);
        };
        self.send_erasure_or_leave(&erasure).await;
        Ok(true)
    }

    /// Deletes a workspace that has no active session: at once its name is free; everything in it goes with a job.
    pub async fn delete_workspace(&self, name: &WorkspaceName) -> Result<Result<(), NotDeleted>> {
        Ok(match self.table.begin_workspace_erasure(name, self.now()).await? {
            Asked::Begun(erasure) => {
                self.send_erasure_or_leave(&erasure).await;
                Ok(())
            }
            Asked::Unknown => Err(NotDeleted::Unknown),
            Asked::Active => Err(NotDeleted::Active),
        })
    }

    /// The deletion has begun, whatever becomes of its letter: the due index has the job.
    async fn send_erasure_or_leave(&self, erasure: &Erasure) {
        match tokio::time::timeout(WAKE_LIMIT, self.send_erasure(erasure, None)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(workspace.uid = %erasure.workspace, error = &error as &dyn std::error::Error, "the letter of a deletion was not sent; the reconciler will send it");
            }
            Err(_) => {
                tracing::warn!(workspace.uid = %erasure.workspace, "the letter of a deletion timed out; the reconciler will send it");
            }
        }
    }

    /// Goes on with a deletion until its end, or until the slice is over; then it is handed on.
    pub(crate) async fn erase(&self, workspace: &WorkspaceUid, session: Option<&SessionUid>) -> Result<()> {
        let Some(erasure) = self.table.erasure(workspace, session).await? else {
            return Ok(());
        };
        let began = self.now();
        let in_time = || self.now().since(began) < SLICE;
        let done = match &erasure.session {
            Some(session) => self.table.erase_session(workspace, session, &in_time).await?,
            None => self.table.erase_workspace(workspace, &in_time).await?,
        };
        if done {
            tracing::info!(workspace.uid = %workspace, session.uid = session.map(tracing::field::display), "a deletion is done");
            return Ok(());
        }
        match self.table.hand_on_erasure(&erasure, self.now()).await? {
            Some(next) => self.send_erasure(&next, None).await,
            None => Ok(()),
        }
    }
}
