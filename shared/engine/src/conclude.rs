//! Conclusions through the API: stated, erased, searched.

use std::collections::HashMap;

use reverie_aws::table::TableError;
use reverie_aws::table::units::{Applied, Unit, units};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{Conclusion, Level, Origin, SessionRef, Support};
use reverie_core::dreaming::{Event, step};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId};

use crate::machine::{ATTEMPTS, Caller, pause};
use crate::{Engine, EngineError, Result};

/// A conclusion as a client states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewConclusion {
    /// Whose view.
    pub observer: PeerName,
    /// Of whom.
    pub observed: PeerName,
    /// The statement.
    pub content: String,
    /// The session it is stated for.
    pub session: Option<SessionRef>,
}

/// A conclusion with the names that its representation stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The conclusion.
    pub conclusion: Conclusion,
    /// Whose view.
    pub observer: PeerName,
    /// Of whom.
    pub observed: PeerName,
}

impl Engine {
    /// Stores conclusions as they are stated: explicit, never folded into equal ones. They count for the next dream.
    /// Peers and sessions must exist; the caller has checked.
    pub async fn create_conclusions(&self, workspace: &Workspace, new: Vec<NewConclusion>) -> Result<Vec<Found>> {
        let texts: Vec<String> = new.iter().map(|conclusion| conclusion.content.clone()).collect();
        let embeddings = self.embedder.embed(&texts).await?;
        let request = self.ids.uid();
        let at = self.now();
        let found: Vec<Found> = new
            .into_iter()
            .zip(embeddings)
            .enumerate()
            .map(|(place, (new, embedding))| {
                let representation = RepresentationId::of(&workspace.uid, &new.observer, &new.observed);
                let support = new.session.as_ref().map_or_else(Support::stated, |session| Support {
                    session: session.uid.clone(),
                    messages: Vec::new(),
                });
                let conclusion = Conclusion {
                    id: ConclusionId::placed(&representation, at, place, &[&request, &place.to_string()]),
                    content: new.content,
                    level: Level::Explicit,
                    session: new.session,
                    created_at: at,
                    event_at: at,
                    times_derived: 1,
                    sources: Vec::new(),
                    support: vec![support],
                    pattern: None,
                    origin: Origin::Api,
                    embedding: Some(embedding),
                };
                Found {
                    conclusion,
                    observer: new.observer,
                    observed: new.observed,
                }
            })
            .collect();
        let mut rest: Vec<&Found> = found.iter().collect();
        while let Some(first) = rest.first() {
            let (observer, observed) = (first.observer.clone(), first.observed.clone());
            let session = first.conclusion.session.clone();
            let (same, others): (Vec<_>, Vec<_>) = rest
                .into_iter()
                .partition(|f| f.observer == observer && f.observed == observed && f.conclusion.session == session);
            for chunk in units(&same, |found| found.conclusion.content.len()) {
                let conclusions: Vec<Conclusion> = chunk.iter().map(|found| found.conclusion.clone()).collect();
                self.store_stated(workspace, (&observer, &observed), session.as_ref(), &conclusions)
                    .await?;
            }
            rest = others;
        }
        Ok(found)
    }

    async fn store_stated(
        &self,
        workspace: &Workspace,
        (observer, observed): (&PeerName, &PeerName),
        session: Option<&SessionRef>,
        created: &[Conclusion],
    ) -> Result<()> {
        let erased = HashMap::new();
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let now = self.now();
            let representation = self
                .table
                .ensure_representation(workspace, observer, observed, now)
                .await?;
            let event = Event::Concluded {
                explicit: created.len() as u64,
                session: session.cloned(),
            };
            let Some(view) = self.view(&representation, &event).await? else {
                return Err(gone(workspace));
            };
            let (next, effects) = step(&representation.state, &self.timings, &view, &event, now);
            let unit = Unit {
                workspace,
                representation: &representation,
                next: &next,
                created,
                erased: &erased,
                reinforced: &[],
                session,
                part: None,
            };
            match self.table.apply_unit(&unit, now).await? {
                Applied::Now | Applied::Before => {
                    let mut after = representation;
                    after.revision += 1;
                    self.perform(&after, &effects, Caller::Api).await;
                    return Ok(());
                }
                Applied::Gone => {
                    return Err(match session {
                        Some(session) => EngineError::SessionGone(session.name.to_string()),
                        None => gone(workspace),
                    });
                }
                Applied::Stale => {}
            }
        }
        Err(TableError::Conflict.into())
    }

    /// Erases a conclusion and every copy of its text: live, in its grave, in cards, in what runs recorded. Says whether
    /// there was anything to erase. A running dream's stored answers go when it ends.
    pub async fn delete_conclusion(&self, workspace: &Workspace, id: &ConclusionId) -> Result<bool> {
        if self.representation_in(workspace, &id.representation()).await?.is_none() {
            return Ok(false);
        }
        Ok(self.table.erase_conclusion(&workspace.uid, id, self.now()).await?)
    }

    /// A live conclusion of the workspace.
    pub async fn conclusion(&self, workspace: &Workspace, id: &ConclusionId) -> Result<Option<Found>> {
        let Some(representation) = self.representation_in(workspace, &id.representation()).await? else {
            return Ok(None);
        };
        let found = self.table.conclusion(id).await?;
        Ok(found.map(|conclusion| Found {
            conclusion,
            observer: representation.observer,
            observed: representation.observed,
        }))
    }

    /// The representation, when it belongs to the workspace.
    pub(crate) async fn representation_in(
        &self,
        workspace: &Workspace,
        id: &RepresentationId,
    ) -> Result<Option<reverie_aws::table::representations::Representation>> {
        Ok(self
            .table
            .representation(id)
            .await?
            .filter(|found| found.workspace_uid == workspace.uid))
    }
}

fn gone(workspace: &Workspace) -> EngineError {
    EngineError::NotFound {
        what: "Workspace",
        name: workspace.name.to_string(),
    }
}
