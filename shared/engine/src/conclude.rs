//! Conclusions through the API: stated, erased, searched.

use std::collections::HashMap;

use reverie_aws::table::TableError;
use reverie_aws::table::idempotency::{Effect, KeyedRequest, Recording};
use reverie_aws::table::units::{Applied, Unit, units};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{Conclusion, Level, Origin, SessionRef, Support};
use reverie_core::dreaming::{Event, step};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId};
use reverie_core::time::Time;

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

/// A request to state conclusions, as far as it has got.
struct Stating {
    /// When it came for the first time.
    at: Time,
    /// What the ids of its conclusions are made from.
    seed: String,
    /// How many of its units are stored.
    done: usize,
    /// How it is recorded, when it has an idempotency key.
    recording: Option<Recording>,
}

impl Stating {
    fn effect(&self, done: usize) -> Effect {
        Effect::Conclusions {
            at: self.at,
            seed: self.seed.clone(),
            done,
        }
    }
}

impl Engine {
    /// Stores conclusions as they are stated: explicit, never folded into equal ones. They count for the next dream.
    /// Peers and sessions must exist; the caller has checked.
    ///
    /// Those of one observer, observed peer and session are stored in units of at most 30, each in one transaction: after
    /// an error some of them may be there. A request with an idempotency key is gone on with where it stopped when it
    /// comes again, so that each of its conclusions is stored once; one that is done has the same answer again.
    pub async fn create_conclusions(
        &self,
        workspace: &Workspace,
        new: Vec<NewConclusion>,
        request: Option<&KeyedRequest>,
    ) -> Result<Vec<Found>> {
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let stating = self.stating(workspace, request).await?;
            let found = stated(workspace, &new, &stating);
            if self.store_all(workspace, &found, stating).await? {
                return Ok(found);
            }
        }
        Err(TableError::Conflict.into())
    }

    /// Where a request stands: at its beginning, unless it is recorded.
    async fn stating(&self, workspace: &Workspace, request: Option<&KeyedRequest>) -> Result<Stating> {
        let now = self.now();
        let fresh = |recording| Stating {
            at: now,
            seed: self.ids.uid(),
            done: 0,
            recording,
        };
        let Some(request) = request else {
            return Ok(fresh(None));
        };
        let over = self.table.request_record(&workspace.uid, request).await?;
        let recording = |at| {
            Some(Recording {
                workspace: workspace.uid.clone(),
                request: request.clone(),
                over: over.clone(),
                at,
            })
        };
        match over.as_ref().filter(|record| record.counts(now)) {
            None => Ok(fresh(recording(now))),
            Some(record) if !record.is_of(&workspace.uid, request) => Err(EngineError::KeyReused),
            Some(record) => match &record.effect {
                Effect::Conclusions { at, seed, done } => Ok(Stating {
                    at: *at,
                    seed: seed.clone(),
                    done: *done,
                    recording: recording(*at),
                }),
                Effect::Messages { .. } | Effect::Dream { .. } => Err(EngineError::AnswerGone),
            },
        }
    }

    /// Stores what is left to store. `false` when the same request came twice and the other one was faster.
    async fn store_all(&self, workspace: &Workspace, found: &[Found], mut stating: Stating) -> Result<bool> {
        let units = in_units(found);
        let mut left: Vec<Vec<Found>> = units.into_iter().skip(stating.done).collect();
        let texts: Vec<String> = left
            .iter()
            .flatten()
            .map(|found| found.conclusion.content.clone())
            .collect();
        if texts.is_empty() {
            return Ok(true);
        }
        let embeddings = self.embedder.embed(&texts).await?;
        for (found, embedding) in left.iter_mut().flatten().zip(embeddings) {
            found.conclusion.embedding = Some(embedding);
        }
        for unit in left {
            if !self.store_stated(workspace, unit, &stating).await? {
                return Ok(false);
            }
            stating.done += 1;
            let effect = stating.effect(stating.done);
            if let Some(recording) = &mut stating.recording {
                recording.over = Some(recording.record(effect));
            }
        }
        Ok(true)
    }

    /// Stores one unit: conclusions of one observer, observed peer and session.
    async fn store_stated(&self, workspace: &Workspace, unit: Vec<Found>, stating: &Stating) -> Result<bool> {
        let Some(Found {
            observer,
            observed,
            conclusion,
        }) = unit.first().cloned()
        else {
            return Ok(true);
        };
        let session = conclusion.session.as_ref();
        let created: Vec<Conclusion> = unit.into_iter().map(|found| found.conclusion).collect();
        let erased = HashMap::new();
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let now = self.now();
            let representation = self
                .table
                .ensure_representation(workspace, &observer, &observed, now)
                .await?;
            let event = Event::Concluded {
                explicit: created.len() as u64,
                session: session.cloned(),
            };
            let Some(view) = self.view(&representation, &event).await? else {
                return Err(gone(workspace));
            };
            let (next, effects) = step(&representation.state, &self.timings, &view, &event, now);
            let recording = stating.recording.as_ref();
            let unit = Unit {
                workspace,
                representation: &representation,
                next: &next,
                created: &created,
                erased: &erased,
                reinforced: &[],
                session,
                part: None,
                recording: recording.map(|recording| (recording, stating.effect(stating.done + 1))),
            };
            match self.table.apply_unit(&unit, now).await? {
                Applied::Now | Applied::Before => {
                    let mut after = representation;
                    after.revision += 1;
                    self.perform(&after, &effects, Caller::Api).await;
                    return Ok(true);
                }
                Applied::Recorded => return Ok(false),
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

/// The conclusions that a request states: the same request makes the same ones.
fn stated(workspace: &Workspace, new: &[NewConclusion], stating: &Stating) -> Vec<Found> {
    let one = |(place, new): (usize, &NewConclusion)| {
        let representation = RepresentationId::of(&workspace.uid, &new.observer, &new.observed);
        let seed = [stating.seed.as_str(), &place.to_string()];
        let support = new.session.as_ref().map_or_else(Support::stated, |session| Support {
            session: session.uid.clone(),
            messages: Vec::new(),
        });
        Found {
            conclusion: Conclusion {
                id: ConclusionId::placed(&representation, stating.at, place, &seed),
                content: new.content.clone(),
                level: Level::Explicit,
                session: new.session.clone(),
                created_at: stating.at,
                event_at: stating.at,
                times_derived: 1,
                sources: Vec::new(),
                support: vec![support],
                pattern: None,
                origin: Origin::Api,
                embedding: None,
            },
            observer: new.observer.clone(),
            observed: new.observed.clone(),
        }
    };
    new.iter().enumerate().map(one).collect()
}

/// Splits what is stated into units, in order: each of one observer, observed peer and session.
fn in_units(found: &[Found]) -> Vec<Vec<Found>> {
    let mut all = Vec::new();
    let mut rest: Vec<&Found> = found.iter().collect();
    while let Some(first) = rest.first().copied() {
        let (same, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|found| {
            found.observer == first.observer
                && found.observed == first.observed
                && found.conclusion.session == first.conclusion.session
        });
        let chunks = units(&same, |found| found.conclusion.content.len());
        all.extend(chunks.into_iter().map(|chunk| chunk.iter().copied().cloned().collect()));
        rest = others;
    }
    all
}

fn gone(workspace: &Workspace) -> EngineError {
    EngineError::NotFound {
        what: "Workspace",
        name: workspace.name.to_string(),
    }
}
