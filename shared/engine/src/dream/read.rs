//! Reading dreams: the list, and everything that one of them changed.

use std::collections::{HashMap, HashSet};

use reverie_aws::table::conclusions::Remains;
use reverie_aws::table::lists::{Page, Paging};
use reverie_aws::table::representations::Representation;
use reverie_aws::table::runs::{Row, Run};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{CardEntry, Conclusion, Level};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, RunId};
use reverie_core::run::{DreamType, RemovalReason, Standing, Strength};

use crate::{Engine, Result};

/// Everything that a run changed, as it resolves now.
#[derive(Clone, Debug)]
pub struct RunDetail {
    /// The run.
    pub run: Run,
    /// What it created, in order.
    pub created: Vec<CreatedDetail>,
    /// What it removed, in order.
    pub removed: Vec<RemovedDetail>,
    /// What it reinforced: before the first and after the last change.
    pub reinforced: Vec<(ConclusionId, Strength, Strength)>,
    /// The card before the first change and after the last; `None` when it was not touched.
    pub card: Option<CardChange>,
}

/// A card before and after; `None` is no card.
#[derive(Clone, Debug)]
pub struct CardChange {
    /// Before the run's first change.
    pub before: Option<Vec<CardEntry>>,
    /// After its last.
    pub after: Option<Vec<CardEntry>>,
}

/// A conclusion that a run created.
#[derive(Clone, Debug)]
pub struct CreatedDetail {
    /// Which.
    pub id: ConclusionId,
    /// Its level.
    pub level: Level,
    /// How it stands now; `None` for what a dry run would create.
    pub standing: Option<Standing>,
    /// The conclusion itself, while it can be had.
    pub conclusion: Option<Conclusion>,
    /// What it follows from.
    pub sources: Vec<SourceDetail>,
}

/// A conclusion that another one follows from.
#[derive(Clone, Debug)]
pub struct SourceDetail {
    /// Which.
    pub id: ConclusionId,
    /// How it stands now.
    pub standing: Standing,
}

/// A conclusion that a run removed.
#[derive(Clone, Debug)]
pub struct RemovedDetail {
    /// Which.
    pub id: ConclusionId,
    /// Its level.
    pub level: Level,
    /// Its text as it read; `None` once it was erased.
    pub content: Option<String>,
    /// Why it was removed.
    pub reason: RemovalReason,
    /// What stands in its place.
    pub replaced_by: Option<ConclusionId>,
}

impl Engine {
    /// The dreams of a workspace, newest first; of one observer, one observed peer, or one representation.
    pub async fn dreams(
        &self,
        workspace: &Workspace,
        observer: Option<&PeerName>,
        observed: Option<&PeerName>,
        paging: Paging,
    ) -> Result<Page<Run>> {
        let representations = if let (Some(observer), Some(observed)) = (observer, observed) {
            vec![RepresentationId::of(&workspace.uid, observer, observed)]
        } else {
            let all = self.table.representations(&workspace.uid, observed).await?;
            let wanted = |found: &&Representation| observer.is_none_or(|observer| found.observer == *observer);
            all.iter().filter(wanted).map(|found| found.id.clone()).collect()
        };
        let mut runs = Vec::new();
        for id in representations {
            runs.extend(self.table.runs(&id, None).await?);
        }
        let mut runs = self.without_empty(runs).await?;
        // Ids hold the time at which they were made after the representation's part.
        runs.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        Ok(paging.of(runs))
    }

    /// Runs as they are to be seen now: past retention they say so, and one of which nothing is left is gone, whether
    /// the reconciler has come by or not.
    async fn without_empty(&self, runs: Vec<Run>) -> Result<Vec<Run>> {
        let now = self.now();
        let mut seen = Vec::with_capacity(runs.len());
        for mut run in runs {
            let Some(at) = run.pruned(now) else {
                seen.push(run);
                continue;
            };
            let created = if run.pruned_at.is_some() {
                run.kept.clone()
            } else {
                created_by(&self.table.rows(&run.id).await?)
            };
            if !self.table.conclusions_by_id(&created).await?.is_empty() {
                run.pruned_at = Some(at);
                seen.push(run);
            }
        }
        Ok(seen)
    }

    /// Everything that one dream changed; `None` when there is no such run in the workspace, or nothing is left of it.
    pub async fn dream(&self, workspace: &Workspace, id: &RunId) -> Result<Option<RunDetail>> {
        let Some(run) = self.run_in(workspace, id).await? else {
            return Ok(None);
        };
        let Some(run) = self.without_empty(vec![run]).await?.pop() else {
            return Ok(None);
        };
        let mut rows = self.table.rows(id).await?;
        if run.pruned_at.is_some() {
            let live = self.table.conclusions_by_id(&created_by(&rows)).await?;
            rows.retain(|row| matches!(row, Row::Created { id, .. } if live.contains_key(id)));
        }
        let ids: Vec<ConclusionId> = rows
            .iter()
            .flat_map(|row| match row {
                Row::Created { id, strength, .. } => std::iter::once(id).chain(&strength.sources).cloned().collect(),
                Row::Removed { id, .. } => vec![id.clone()],
                Row::Reinforced { .. } | Row::Card { .. } => Vec::new(),
            })
            .collect();
        let remains = self.table.remains(&ids).await?;
        let standings = self.standings(&remains).await?;
        let known = remains
            .into_iter()
            .map(|(id, remains)| (id, remains.into_conclusion()))
            .collect();
        Ok(Some(resolve(run, rows, &standings, &known)))
    }

    /// How conclusions stand: what a dream past retention removed is unavailable.
    async fn standings(&self, remains: &HashMap<ConclusionId, Remains>) -> Result<HashMap<ConclusionId, Standing>> {
        let now = self.now();
        let mut standings: HashMap<_, _> = remains
            .iter()
            .map(|(id, remains)| (id.clone(), remains.standing()))
            .collect();
        let by: HashSet<RunId> = standings
            .values()
            .filter_map(|standing| match standing {
                Standing::Removed { removed_in_run, .. } => Some(removed_in_run.clone()),
                Standing::Current { .. } | Standing::Unavailable => None,
            })
            .collect();
        let runs = self.table.runs_by_id(&by).await?;
        for standing in standings.values_mut() {
            if let Standing::Removed { removed_in_run, .. } = standing
                && runs.get(removed_in_run).is_none_or(|run| run.pruned(now).is_some())
            {
                *standing = Standing::Unavailable;
            }
        }
        Ok(standings)
    }
}

/// The conclusions that rows say were created.
fn created_by(rows: &[Row]) -> Vec<ConclusionId> {
    rows.iter()
        .filter_map(|row| match row {
            Row::Created { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

fn resolve(
    run: Run,
    rows: Vec<Row>,
    standings: &HashMap<ConclusionId, Standing>,
    known: &HashMap<ConclusionId, Conclusion>,
) -> RunDetail {
    let dry = run.dream_type == DreamType::DryRun;
    let planned: HashMap<ConclusionId, Conclusion> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Created {
                id,
                planned: Some(planned),
                ..
            } => Some((id.clone(), (**planned).clone())),
            _ => None,
        })
        .collect();
    let standing = |id: &ConclusionId| match (standings.get(id), planned.get(id)) {
        (Some(Standing::Unavailable) | None, Some(planned)) => Standing::Current {
            content: planned.content.clone(),
            level: planned.level,
        },
        (found, _) => found.cloned().unwrap_or(Standing::Unavailable),
    };
    let mut detail = RunDetail {
        run,
        created: Vec::new(),
        removed: Vec::new(),
        reinforced: Vec::new(),
        card: None,
    };
    for row in rows {
        match row {
            Row::Created {
                id,
                level,
                strength,
                planned,
            } => detail.created.push(CreatedDetail {
                // What a dry run planned is as planned, unless it was erased.
                standing: (!dry || planned.is_none()).then(|| standing(&id)),
                conclusion: planned.map(|planned| *planned).or_else(|| known.get(&id).cloned()),
                sources: strength
                    .sources
                    .into_iter()
                    .map(|id| SourceDetail {
                        standing: standing(&id),
                        id,
                    })
                    .collect(),
                id,
                level,
            }),
            Row::Removed {
                id,
                level,
                reason,
                replaced_by,
                ..
            } => {
                let content = match standing(&id) {
                    Standing::Current { content, .. } | Standing::Removed { content, .. } => Some(content),
                    Standing::Unavailable => None,
                };
                detail.removed.push(RemovedDetail {
                    id,
                    level,
                    content,
                    reason,
                    replaced_by,
                });
            }
            Row::Reinforced { id, before, after } => {
                match detail.reinforced.iter_mut().find(|(known, ..)| *known == id) {
                    Some((_, _, last)) => *last = after,
                    None => detail.reinforced.push((id, before, after)),
                }
            }
            Row::Card { before, after } => {
                let before = detail.card.take().map_or(before, |first| first.before);
                detail.card = Some(CardChange { before, after });
            }
        }
    }
    detail
}
