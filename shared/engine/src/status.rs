//! How things stand: why a representation dreams or does not, and what a workspace has waiting.

use std::collections::BTreeMap;

use reverie_aws::table::failures::Parked;
use reverie_aws::table::work::{DreamWork, SessionWork};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::dreaming::{Event, WhyNot, why_not};
use reverie_core::id::{PeerName, RepresentationId, SessionName};
use reverie_core::run::Phase;

use crate::machine::Sight;
use crate::{Engine, Result};

/// Counts of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Waiting.
    pub pending: usize,
    /// Being done.
    pub in_progress: usize,
    /// Messages that could not be derived from, and that nobody has asked to try again.
    pub failed: usize,
}

/// A session's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionUnits {
    /// The session.
    pub session: SessionName,
    /// Its counts.
    pub units: Units,
}

/// What a workspace has waiting. Finished work leaves the list at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStatus {
    /// All of it.
    pub all: Units,
    /// By session, where it belongs to one.
    pub sessions: Vec<SessionUnits>,
}

/// Why a representation dreams or does not, with where a running dream stands.
#[derive(Clone, Debug)]
pub struct DreamStatus {
    /// The machine's answer.
    pub why_not: WhyNot,
    /// The phase and turn of the running dream.
    pub running_at: Option<(Phase, u32)>,
    /// The newest run.
    pub last_run: Option<reverie_aws::table::runs::Run>,
}

impl Engine {
    /// Every gate between a representation and its next dream. `None` when nothing was ever concluded there.
    pub async fn why_not(
        &self,
        workspace: &Workspace,
        observer: &PeerName,
        observed: &PeerName,
    ) -> Result<Option<DreamStatus>> {
        let id = RepresentationId::of(&workspace.uid, observer, observed);
        let Some(representation) = self.table.representation(&id).await? else {
            return Ok(None);
        };
        let Some(Sight { mut view, around }) = self.sight(&representation, &Event::SettingsChanged).await? else {
            return Ok(None);
        };
        if let Some(activity) = &around.activity {
            view.ingest_lagging = self.lags(activity).await?;
        }
        let running_at = match &representation.state.running {
            Some(running) => self.table.run(&running.run).await?.and_then(|run| {
                let phase = crate::dream::phases(run.dream_type).get(run.progress.phase as usize)?;
                Some((*phase, run.progress.phase_turn))
            }),
            None => None,
        };
        let last_run = self.table.runs(&id, Some(1)).await?.pop();
        let why_not = why_not(&representation.state, &self.timings, &view, self.now());
        Ok(Some(DreamStatus {
            why_not,
            running_at,
            last_run,
        }))
    }

    /// What the workspace has waiting and running: sessions to derive from, summaries that failed and wait, and dreams.
    pub async fn queue_status(
        &self,
        workspace: &Workspace,
        observer: Option<&PeerName>,
        sender: Option<&PeerName>,
        session: Option<&SessionName>,
    ) -> Result<QueueStatus> {
        let work = self.table.work(&workspace.uid).await?;
        let mut status = QueueStatus::default();
        let mut by_session: BTreeMap<SessionName, Units> = BTreeMap::new();
        for SessionWork { session: name, uid, .. } in work.sessions {
            if session.is_some_and(|wanted| *wanted != name) || !self.concerns(&uid, observer, sender).await? {
                continue;
            }
            status.all.pending += 1;
            by_session.entry(name).or_default().pending += 1;
        }
        for late in work.summaries {
            if session.is_some_and(|wanted| *wanted != late.session)
                || !self.concerns(&late.uid, observer, sender).await?
            {
                continue;
            }
            status.all.pending += 1;
            by_session.entry(late.session).or_default().pending += 1;
        }
        for parked in work.parked.iter().filter(|parked| !parked.queued) {
            if session.is_some_and(|wanted| *wanted != parked.session)
                || !self.concerns(&parked.uid, observer, sender).await?
            {
                continue;
            }
            status.all.failed += 1;
            by_session.entry(parked.session.clone()).or_default().failed += 1;
        }
        for DreamWork {
            observer: by,
            observed,
            running,
            session: of,
            ..
        } in work.dreams
        {
            let wanted = observer.is_none_or(|observer| *observer == by)
                && sender.is_none_or(|sender| *sender == observed)
                && session.is_none_or(|session| of.as_ref() == Some(session));
            if !wanted {
                continue;
            }
            let counts = [
                Some(&mut status.all),
                of.map(|name| by_session.entry(name).or_default()),
            ];
            for units in counts.into_iter().flatten() {
                if running {
                    units.in_progress += 1;
                } else {
                    units.pending += 1;
                }
            }
        }
        status.sessions = by_session
            .into_iter()
            .map(|(session, units)| SessionUnits { session, units })
            .collect();
        Ok(status)
    }

    /// The messages that could not be derived from, of the workspace or of one session.
    pub async fn failed_messages(
        &self,
        workspace: &Workspace,
        session: Option<&reverie_core::id::SessionUid>,
    ) -> Result<Vec<Parked>> {
        Ok(self.table.parked(&workspace.uid, session).await?)
    }

    /// Whether a session's waiting messages can become conclusions of an observer, or about a sender: by its members.
    async fn concerns(
        &self,
        session: &reverie_core::id::SessionUid,
        observer: Option<&PeerName>,
        sender: Option<&PeerName>,
    ) -> Result<bool> {
        if observer.is_none() && sender.is_none() {
            return Ok(true);
        }
        let members = self.table.members(session).await?;
        let is_member = |peer: &PeerName| members.iter().any(|member| member.peer == *peer);
        Ok(observer.is_none_or(is_member) && sender.is_none_or(is_member))
    }
}
