//! Dreams as the answers show them (`design.md` section 6).

use reverie_aws::table::runs::Run;
use reverie_core::conclusion::{Conclusion, Confidence, Level, Pattern};
use reverie_core::id::{ConclusionId, PeerName, RunId};
use reverie_core::run::{Conflict, DreamType, Phase, Standing, Usage};
use reverie_engine::{CreatedDetail, DreamStatus, RemovedDetail, RunDetail, SourceDetail};
use serde::Serialize;

use crate::wire::{At, card_texts};

/// A run without what it changed.
#[derive(Debug, Serialize)]
pub(crate) struct RunBody {
    id: RunId,
    dream_type: &'static str,
    trigger: &'static str,
    status: &'static str,
    observer: PeerName,
    observed: PeerName,
    created_at: At,
    started_at: Option<At>,
    ended_at: Option<At>,
    created_count: u32,
    removed_count: u32,
    reinforced_count: u32,
    peer_card_updated: bool,
    pruned_at: Option<At>,
    usage: Usage,
    error: Option<String>,
    dry_run: bool,
    undo_of: Option<RunId>,
}

impl From<Run> for RunBody {
    fn from(run: Run) -> Self {
        Self {
            id: run.id,
            dream_type: run.dream_type.as_str(),
            trigger: run.trigger.as_str(),
            status: run.status.as_str(),
            observer: run.observer,
            observed: run.observed,
            created_at: At(run.created_at),
            started_at: run.started_at.map(At),
            ended_at: run.ended_at.map(At),
            created_count: run.created_count,
            removed_count: run.removed_count,
            reinforced_count: run.reinforced_count,
            peer_card_updated: run.peer_card_updated,
            pruned_at: run.pruned_at.map(At),
            usage: run.usage,
            error: (!run.errors.is_empty()).then(|| run.errors.join("; ")),
            dry_run: run.dream_type == DreamType::DryRun,
            undo_of: run.undo_of,
        }
    }
}

/// A run with everything that it changed.
#[derive(Debug, Serialize)]
pub(crate) struct DetailBody {
    #[serde(flatten)]
    run: RunBody,
    created: Vec<CreatedBody>,
    removed: Vec<RemovedBody>,
    peer_card: Option<CardChangeBody>,
    /// What an undo had to leave as it is.
    conflicts: Vec<Conflict>,
}

#[derive(Debug, Serialize)]
struct CreatedBody {
    conclusion: CreatedConclusionBody,
    sources: Vec<SourceBody>,
}

/// A created conclusion as it stands now. What a dry run would create is `planned`.
#[derive(Debug, Serialize)]
struct CreatedConclusionBody {
    id: ConclusionId,
    content: Option<String>,
    level: Level,
    status: &'static str,
    removed_in_run: Option<RunId>,
    confidence: Option<&'static str>,
    pattern: Option<&'static str>,
    source_ids: Vec<ConclusionId>,
    created_at: Option<At>,
}

#[derive(Debug, Serialize)]
struct SourceBody {
    id: ConclusionId,
    content: Option<String>,
    status: &'static str,
    removed_in_run: Option<RunId>,
}

#[derive(Debug, Serialize)]
struct RemovedBody {
    id: ConclusionId,
    content: Option<String>,
    level: Level,
    reason: &'static str,
    replaced_by: Option<ConclusionId>,
}

#[derive(Debug, Serialize)]
struct CardChangeBody {
    before: Option<Vec<String>>,
    after: Option<Vec<String>>,
}

/// How a conclusion stands, taken apart: text, word, and the run that removed it.
fn standing(standing: Standing) -> (Option<String>, &'static str, Option<RunId>) {
    match standing {
        Standing::Current { content, .. } => (Some(content), "current", None),
        Standing::Removed {
            content,
            removed_in_run,
            ..
        } => (Some(content), "removed", Some(removed_in_run)),
        Standing::Unavailable => (None, "unavailable", None),
    }
}

impl From<RunDetail> for DetailBody {
    fn from(detail: RunDetail) -> Self {
        Self {
            conflicts: detail.run.conflicts.clone(),
            run: detail.run.into(),
            created: detail.created.into_iter().map(CreatedBody::from).collect(),
            removed: detail.removed.into_iter().map(RemovedBody::from).collect(),
            peer_card: detail.card.map(|card| CardChangeBody {
                before: card.before.map(card_texts),
                after: card.after.map(card_texts),
            }),
        }
    }
}

impl From<CreatedDetail> for CreatedBody {
    fn from(created: CreatedDetail) -> Self {
        let known = created.conclusion.as_ref();
        let (content, status, removed_in_run) = match created.standing {
            Some(stands) => standing(stands),
            None => (known.map(|conclusion| conclusion.content.clone()), "planned", None),
        };
        Self {
            conclusion: CreatedConclusionBody {
                content,
                level: created.level,
                status,
                removed_in_run,
                confidence: known.and_then(Conclusion::confidence).map(Confidence::as_str),
                pattern: known.and_then(|conclusion| conclusion.pattern).map(Pattern::as_str),
                source_ids: created.sources.iter().map(|source| source.id.clone()).collect(),
                created_at: known.map(|conclusion| At(conclusion.created_at)),
                id: created.id,
            },
            sources: created.sources.into_iter().map(SourceBody::from).collect(),
        }
    }
}

impl From<SourceDetail> for SourceBody {
    fn from(source: SourceDetail) -> Self {
        let (content, status, removed_in_run) = standing(source.standing);
        Self {
            id: source.id,
            content,
            status,
            removed_in_run,
        }
    }
}

impl From<RemovedDetail> for RemovedBody {
    fn from(removed: RemovedDetail) -> Self {
        Self {
            id: removed.id,
            content: removed.content,
            level: removed.level,
            reason: removed.reason.as_str(),
            replaced_by: removed.replaced_by,
        }
    }
}

/// Why a representation dreams or does not: every gate, and the one that counts.
#[derive(Debug, Serialize)]
pub(crate) struct StatusBody {
    observer: PeerName,
    observed: PeerName,
    verdict: &'static str,
    sentence: String,
    enabled: bool,
    decided_by: &'static str,
    new_conclusions: u64,
    threshold: u64,
    cooldown_until: Option<At>,
    back_off_until: Option<At>,
    last_activity: Option<At>,
    timer_due_at: Option<At>,
    ingest_lagging: bool,
    pending: Vec<PendingBody>,
    running: Option<RunningBody>,
    last_run: Option<RunBody>,
}

#[derive(Debug, Serialize)]
struct PendingBody {
    id: RunId,
    dream_type: &'static str,
}

#[derive(Debug, Serialize)]
struct RunningBody {
    id: RunId,
    dream_type: &'static str,
    trigger: &'static str,
    started_at: At,
    phase: Option<&'static str>,
    turn: Option<u32>,
}

impl StatusBody {
    pub(crate) fn of(status: DreamStatus, observer: PeerName, observed: PeerName) -> Self {
        let why_not = status.why_not;
        let (phase, turn) = status.running_at.unzip();
        Self {
            observer,
            observed,
            verdict: why_not.verdict.as_str(),
            sentence: why_not.sentence,
            enabled: why_not.enabled,
            decided_by: why_not.decided_by.as_str(),
            new_conclusions: why_not.new_conclusions,
            threshold: why_not.threshold,
            cooldown_until: why_not.cooldown_until.map(At),
            back_off_until: why_not.back_off_until.map(At),
            last_activity: why_not.last_activity.map(At),
            timer_due_at: why_not.timer_due_at.map(At),
            ingest_lagging: why_not.ingest_lagging,
            pending: why_not
                .pending
                .into_iter()
                .map(|(dream_type, id)| PendingBody {
                    id,
                    dream_type: dream_type.as_str(),
                })
                .collect(),
            running: why_not.running.map(|running| RunningBody {
                id: running.run,
                dream_type: running.dream_type.as_str(),
                trigger: running.trigger.as_str(),
                started_at: At(running.claimed_at),
                phase: phase.map(Phase::as_str),
                turn,
            }),
            last_run: status.last_run.map(RunBody::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> ConclusionId {
        ConclusionId::trusted(text)
    }

    #[test]
    fn h27_h28_h29_every_status_has_its_text_or_none() {
        let removed = Standing::Removed {
            content: "was".to_owned(),
            level: Level::Explicit,
            removed_in_run: RunId::trusted("later"),
        };
        let current = Standing::Current {
            content: "is".to_owned(),
            level: Level::Explicit,
        };
        let created = CreatedDetail {
            id: id("new"),
            level: Level::Deductive,
            standing: Some(current),
            conclusion: None,
            sources: vec![
                SourceDetail {
                    id: id("old"),
                    standing: removed,
                },
                SourceDetail {
                    id: id("gone"),
                    standing: Standing::Unavailable,
                },
            ],
        };
        assert_eq!(
            serde_json::to_value(CreatedBody::from(created)).unwrap_or_default(),
            json!({
                "conclusion": {"id": "new", "content": "is", "level": "deductive", "status": "current",
                    "removed_in_run": null, "confidence": null, "pattern": null, "source_ids": ["old", "gone"],
                    "created_at": null},
                "sources": [
                    {"id": "old", "content": "was", "status": "removed", "removed_in_run": "later"},
                    {"id": "gone", "content": null, "status": "unavailable", "removed_in_run": null},
                ],
            })
        );
    }
}
