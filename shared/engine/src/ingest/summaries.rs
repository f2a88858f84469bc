//! Summaries of a session, each made once the cursor has passed the message with which it ends.
//!
//! Which messages one covers follows from their sequence numbers and the settings alone, and it is stored together with
//! how far the session is summarised: a crash or another delivery makes it once. A summary that cannot be made holds up
//! nothing else. It waits on its own, in the due index; a reasoner that is there and gives no usable answer is not asked
//! for ever: then the offline rules quote what was said.

use std::time::Duration;

use reverie_aws::table::sessions::SessionState;
use reverie_aws::table::summaries::{LateSummary, StoredSummary, Summarised};
use reverie_core::id::Seq;
use reverie_core::offline;
use reverie_core::reasoner::{ReasonerError, SummaryRequest};
use reverie_core::settings::Agent;
use reverie_core::summary::{Kind, next_end, within};
use reverie_core::text::estimate_tokens;
use reverie_core::time::{Time, doubled};

use super::failing::unless_it_panics;
use super::{Place, SLICE};
use crate::{Engine, Result};

/// How long a reasoner may take for one summary: with a slice before it, less than the function's timeout.
const SUMMARISING: Duration = Duration::from_secs(30);
/// The wait after a summary's first failure; it doubles.
const FIRST_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait.
const MAX_BACKOFF: Duration = Duration::from_mins(10);
/// How often a reasoner may give no usable answer before the messages are quoted instead.
const UNUSABLE: u32 = 3;

/// How far the summaries of a session have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Those that are due are made, or wait.
    Done,
    /// There was no time for the next one.
    OutOfTime,
}

/// A stretch of messages to summarise.
struct Stretch {
    kind: Kind,
    /// The last message of the stretch before.
    after: Seq,
    end: Seq,
}

impl Engine {
    /// Makes the summaries that are due now that ingest has passed a message.
    pub(super) async fn summarise(
        &self,
        place: &Place<'_>,
        state: &mut SessionState,
        passed: Seq,
        started: Time,
    ) -> Result<Progress> {
        let settings = place.levels().summaries(self.config.defaults);
        if !settings.enabled.value {
            return Ok(Progress::Done);
        }
        for kind in Kind::ALL {
            loop {
                let after = state.summarised(kind);
                let end = next_end(after, kind.distance(&settings));
                if end > passed {
                    break;
                }
                if self.now().since(started) > SLICE {
                    return Ok(Progress::OutOfTime);
                }
                if !self
                    .summarise_stretch(place, state, &Stretch { kind, after, end })
                    .await?
                {
                    break;
                }
                match kind {
                    Kind::Short => state.short_summary = end,
                    Kind::Long => state.long_summary = end,
                }
            }
        }
        Ok(Progress::Done)
    }

    /// One summary. `false` when it waits, or is somebody else's.
    async fn summarise_stretch(&self, place: &Place<'_>, state: &SessionState, stretch: &Stretch) -> Result<bool> {
        let (workspace, uid) = (&place.workspace.uid, &place.session.uid);
        let late = self.table.late_summary(workspace, uid, stretch.kind).await?;
        if late.as_ref().is_some_and(|late| late.next_at > self.now()) {
            return Ok(false);
        }
        let summary = match self.make_summary(place, stretch, late.as_ref()).await? {
            Ok(summary) => summary,
            Err(error) => {
                self.put_summary_off(place, stretch, late, &error).await?;
                return Ok(false);
            }
        };
        let made = Summarised {
            end: stretch.end,
            kind: stretch.kind,
            summary: summary.as_ref(),
            was_late: late.is_some(),
        };
        Ok(self.table.store_summary(workspace, uid, state, &made).await?)
    }

    /// The summary of a stretch; `None` when nothing was said in it.
    async fn make_summary(
        &self,
        place: &Place<'_>,
        stretch: &Stretch,
        late: Option<&LateSummary>,
    ) -> Result<Result<Option<StoredSummary>, ReasonerError>> {
        let uid = &place.session.uid;
        let messages = self
            .table
            .posted_messages(uid, stretch.after.next(), stretch.end)
            .await?;
        if messages.iter().all(|message| message.content.trim().is_empty()) {
            return Ok(Ok(None));
        }
        let previous = self.table.summary(uid, stretch.kind).await?;
        let max_tokens = match stretch.kind {
            Kind::Short => self.config.short_summary_tokens,
            Kind::Long => self.config.long_summary_tokens,
        };
        let request = SummaryRequest {
            kind: stretch.kind,
            previous: previous.as_ref().map(|previous| previous.content.as_str()),
            messages: &messages,
            max_tokens,
            instructions: place.levels().instructions(Agent::Summariser).value,
        };
        let content = if late.is_some_and(|late| late.unusable >= UNUSABLE) {
            tracing::warn!(session.uid = %uid, kind = stretch.kind.as_str(), end = stretch.end.0, "the reasoner gives no usable summary; the messages are quoted");
            offline::extract(&request)
        } else {
            match self.ask_for_summary(request).await {
                Ok(content) => content,
                Err(error) => return Ok(Err(error)),
            }
        };
        // A reasoner may not keep to its bound.
        let content = within(&content, max_tokens).to_owned();
        Ok(Ok(Some(StoredSummary {
            kind: stretch.kind,
            tokens: estimate_tokens(&content),
            content,
            end: stretch.end,
            at: self.now(),
        })))
    }

    async fn ask_for_summary(&self, request: SummaryRequest<'_>) -> Result<String, ReasonerError> {
        let asked = unless_it_panics(self.reasoner.summarise(request));
        let summary = match tokio::time::timeout(SUMMARISING, asked).await {
            Ok(Some(summary)) => summary?,
            Ok(None) => return Err(ReasonerError::permanent("it panicked")),
            Err(_) => return Err(ReasonerError::transient("it took too long")),
        };
        if summary.content.trim().is_empty() {
            return Err(ReasonerError::permanent("the summary is blank"));
        }
        Ok(summary.content)
    }

    /// Notes that a summary could not be made; the due index brings the session back.
    async fn put_summary_off(
        &self,
        place: &Place<'_>,
        stretch: &Stretch,
        late: Option<LateSummary>,
        error: &ReasonerError,
    ) -> Result<()> {
        let (failures, unusable) = late.map_or((0, 0), |late| (late.failures, late.unusable));
        let told = error.retry_after(self.now()).unwrap_or_default();
        let wait = told.clamp(doubled(FIRST_BACKOFF, failures, MAX_BACKOFF), MAX_BACKOFF);
        tracing::warn!(
            session.uid = %place.session.uid,
            kind = stretch.kind.as_str(),
            end = stretch.end.0,
            failures = failures + 1,
            error = error as &dyn std::error::Error,
            "a summary could not be made"
        );
        let put_off = LateSummary {
            workspace: place.workspace.name.clone(),
            session: place.session.name.clone(),
            uid: place.session.uid.clone(),
            kind: stretch.kind,
            failures: failures.saturating_add(1),
            unusable: unusable + u32::from(error.is_permanent()),
            next_at: self.now() + wait,
        };
        Ok(self.table.put_off_summary(&place.workspace.uid, &put_off).await?)
    }
}
