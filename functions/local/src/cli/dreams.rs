//! Dreams as a client of the API sees them: ask for one, wait for its end, read what it changed.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::waiting::{Look, spinner, until};
use crate::api::{Api, ApiError};

/// A dream takes seconds offline; with a model it may take minutes.
const PATIENCE: Duration = Duration::from_mins(15);

/// A run in a list.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) dream_type: String,
    pub(super) trigger: String,
    pub(super) status: String,
    pub(super) started_at: Option<String>,
    pub(super) ended_at: Option<String>,
    pub(super) created_count: usize,
    pub(super) removed_count: usize,
    pub(super) reinforced_count: usize,
    pub(super) error: Option<serde_json::Value>,
}

impl Run {
    pub(super) fn is_final(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }

    /// How long it ran, in seconds.
    pub(super) fn seconds(&self) -> Option<f64> {
        let time = |text: &Option<String>| reverie_core::time::Time::parse(text.as_deref()?).ok();
        Some(time(&self.ended_at)?.since(time(&self.started_at)?).as_secs_f64())
    }
}

/// A run with its changes.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Detail {
    pub(super) created: Vec<Created>,
    pub(super) removed: Vec<Removed>,
    pub(super) peer_card: Option<CardChange>,
    /// What an undo had to leave as it is.
    #[serde(default)]
    pub(super) conflicts: Vec<serde_json::Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Created {
    pub(super) conclusion: Conclusion,
    #[serde(default)]
    pub(super) sources: Vec<Source>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Conclusion {
    pub(super) content: Option<String>,
    pub(super) level: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Source {
    pub(super) content: Option<String>,
    pub(super) status: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Removed {
    pub(super) content: Option<String>,
    pub(super) reason: String,
    pub(super) replaced_by: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CardChange {
    pub(super) before: Option<Vec<String>>,
    pub(super) after: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Page<T> {
    items: Vec<T>,
    total: usize,
}

impl Detail {
    /// How many of the created have this level.
    pub(super) fn created_at_level(&self, level: &str) -> usize {
        let is = |created: &&Created| created.conclusion.level.as_deref() == Some(level);
        self.created.iter().filter(is).count()
    }

    /// How many were removed for this reason.
    pub(super) fn removed_for(&self, reason: &str) -> usize {
        self.removed.iter().filter(|removed| removed.reason == reason).count()
    }
}

/// The representation of a peer in its own eyes.
pub(super) struct OwnView<'a> {
    pub(super) api: &'a Api,
    pub(super) peer: &'a str,
}

impl OwnView<'_> {
    /// How many conclusions there are.
    pub(super) fn conclusions(&self) -> Result<usize, ApiError> {
        Ok(self.page::<serde_json::Value>(1)?.total)
    }

    /// All conclusions, newest first.
    pub(super) fn all_conclusions<T: serde::de::DeserializeOwned>(&self) -> Result<Vec<T>, ApiError> {
        let mut items = Vec::new();
        for page in 1.. {
            let next = self.paged::<T>(page, 100)?;
            let end = next.items.is_empty();
            items.extend(next.items);
            if end || items.len() >= next.total {
                break;
            }
        }
        Ok(items)
    }

    fn page<T: serde::de::DeserializeOwned>(&self, size: usize) -> Result<Page<T>, ApiError> {
        self.paged(1, size)
    }

    fn paged<T: serde::de::DeserializeOwned>(&self, page: usize, size: usize) -> Result<Page<T>, ApiError> {
        let filters = json!({ "filters": { "observer_id": self.peer, "observed_id": self.peer } });
        self.api
            .post(&format!("/conclusions/list?page={page}&size={size}"), &filters)
    }

    /// The peer card; `None` when there is none.
    pub(super) fn card(&self) -> Result<Option<Vec<String>>, ApiError> {
        #[derive(Deserialize)]
        struct Card {
            peer_card: Option<Vec<String>>,
        }
        let card: Card = self.api.get(&format!("/peers/{}/card", self.peer))?;
        Ok(card.peer_card)
    }

    /// Why it dreams or does not.
    pub(super) fn status<T: serde::de::DeserializeOwned>(&self) -> Result<T, ApiError> {
        self.api
            .get(&format!("/dreams/status?observer={0}&observed={0}", self.peer))
    }

    /// The newest run.
    pub(super) fn newest(&self) -> Result<Option<Run>, ApiError> {
        let page: Page<Run> = self
            .api
            .get(&format!("/dreams?observer={0}&observed={0}&size=1", self.peer))?;
        Ok(page.items.into_iter().next())
    }

    /// What a run changed.
    pub(super) fn detail(&self, run: &str) -> Result<Detail, ApiError> {
        self.api.get(&format!("/dreams/{run}"))
    }

    /// Asks for a dream, whatever the timers say.
    pub(super) fn schedule(&self) -> Result<(), ApiError> {
        let body = json!({ "observer": self.peer, "observed": self.peer, "dream_type": "omni" });
        self.api.post::<serde_json::Value>("/schedule_dream", &body).map(drop)
    }

    /// Waits until the newest run is another one than `before` and at its end.
    pub(super) fn until_dreamt(&self, what: &str, before: Option<&Run>) -> anyhow::Result<Run> {
        // One that was under way already is as good.
        let known = before.filter(|run| run.is_final()).map(|run| run.id.clone());
        let mut last = None;
        until(&spinner(what), PATIENCE, || {
            let Some(run) = self.newest()?.filter(|run| Some(&run.id) != known.as_ref()) else {
                return Ok(Look::Waiting);
            };
            if run.is_final() {
                return Ok(Look::Done(run));
            }
            let state = (run.status, run.created_count, run.removed_count, run.reinforced_count);
            let moved = last.replace(state.clone()) != Some(state);
            Ok(if moved { Look::Moving } else { Look::Waiting })
        })
    }
}
