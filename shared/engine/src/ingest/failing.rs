//! What becomes of batches that fail (`design.md` section 5, "Failure").
//!
//! A transient failure moves nothing: the batch waits and is tried again, for as long as an outage lasts. A batch that
//! fails for good, or that keeps failing while the reasoner works for others, is halved until one message is left. That
//! one is parked, everything else is derived as usual, and somebody may ask for another try at it.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use reverie_aws::table::failures::{FailureKind, Parked};
use reverie_aws::table::messages::Cursor;
use reverie_aws::table::sessions::{Session, SessionState};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::Embedding;
use reverie_core::id::{PeerName, Seq};
use reverie_core::message::Message;
use reverie_core::reasoner::{DeriveRequest, Derived, EmbedError, ReasonerError};
use reverie_core::time::{Time, doubled};

use super::{Applied, Place, SLICE, Try};
use crate::{Engine, EngineError, Result};

/// How often a failing batch is tried by redelivery, well under the queue's count of receives.
const QUEUE_ATTEMPTS: u32 = 4;
/// How often a batch may fail for reasons that may pass before one of its messages is looked for as the cause.
pub(super) const ATTEMPTS: u32 = 6;
/// How often a message alone may have no usable answer before it is parked: a model may do better when it is asked again.
const ATTEMPTS_ALONE: u32 = 3;
/// The wait after its first failure; it doubles.
const FIRST_BACKOFF: Duration = Duration::from_secs(2);
/// The longest wait between two attempts at a batch that fails.
const MAX_BACKOFF: Duration = Duration::from_mins(10);
/// How long one derivation may take: with a slice before it, or three in a row, less than the function's timeout.
const DERIVATION: Duration = Duration::from_secs(30);
/// The most messages parked in one transaction.
const PARKED_AT_ONCE: usize = 50;

/// What is next after a failure was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Look again: there is something else to try.
    Again,
    /// Nothing now; the due index brings the session back.
    Wait,
}

impl Engine {
    /// Derives. `careful`, after failures, tells a passing failure from one that is the messages' fault.
    pub(super) async fn derive(&self, request: DeriveRequest<'_>, careful: bool) -> Result<Derived> {
        // From now on, not from when the call began: an error without a wait names the time at which it came.
        let blameless = |error: &ReasonerError| error.retry_after(self.now()).is_some_and(|wait| !wait.is_zero());
        let error = match self.derive_once(request.clone()).await {
            // Told to come back later: it is the traffic's fault, though something smaller may pass.
            Err(error) if blameless(&error) => error,
            Err(ReasonerError::Transient { .. }) if careful && self.reasoner_works().await => {
                // The outage may have ended in between, so that only another failure says something.
                match self.derive_once(request).await {
                    Err(error) if blameless(&error) => error,
                    Err(source @ ReasonerError::Transient { .. }) => {
                        let kind = FailureKind::ReasonerUnavailable;
                        return Err(EngineError::AtFault { kind, source });
                    }
                    Err(error) => error,
                    Ok(derived) => return Ok(derived),
                }
            }
            Err(error) => error,
            Ok(derived) => return Ok(derived),
        };
        Err(match error {
            source @ ReasonerError::Permanent { .. } => EngineError::AtFault {
                kind: FailureKind::Reasoner,
                source,
            },
            // An outage, or a key that is refused, is no message's fault.
            passing @ (ReasonerError::Transient { .. } | ReasonerError::Setup { .. }) => passing.into(),
        })
    }

    /// Derives within a time limit. A reasoner that panics has given no usable answer: the message that makes it panic
    /// must not hold up its session.
    async fn derive_once(&self, request: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        let derivation = unless_it_panics(self.reasoner.derive(request));
        match tokio::time::timeout(DERIVATION, derivation).await {
            Ok(Some(derived)) => derived,
            Ok(None) => Err(ReasonerError::permanent("it panicked".to_owned())),
            Err(_) => Err(ReasonerError::transient("it took too long".to_owned())),
        }
    }

    /// Deals with a batch after the cursor, up to `last`, that could not be derived from or applied.
    pub(super) async fn failed(
        &self,
        place: &Place<'_>,
        cursor: &Cursor,
        last: Seq,
        error: EngineError,
    ) -> Result<Next> {
        let EngineError::AtFault { kind, .. } = error else {
            return self.back_off(place, cursor, error).await;
        };
        tracing::warn!(
            session.uid = %place.session.uid,
            batch.first = cursor.seq.0 + 1,
            batch.last = last.0,
            kind = kind.as_str(),
            error = &error as &dyn std::error::Error,
            "a batch keeps failing"
        );
        let uid = &place.session.uid;
        if let Some(narrowed) = cursor.narrowed(last) {
            self.table.save_cursor(uid, cursor, &narrowed).await?;
        } else if cursor.failures + 1 < ATTEMPTS_ALONE {
            self.table.save_cursor(uid, cursor, &cursor.failed()).await?;
        } else if kind == FailureKind::Reasoner && !self.reasoner_works().await {
            // It answers nothing well, whatever is said: its configuration is to blame, and no message.
            return self.back_off(place, cursor, error).await;
        } else {
            let parked = self.parked(place, last, kind, cursor.failures + 1);
            self.table
                .park(&place.workspace.uid, uid, cursor, &Cursor::at(last), &[parked])
                .await?;
        }
        Ok(Next::Again)
    }

    /// Whether the reasoner answers to something harmless: an outage is no message's fault.
    async fn reasoner_works(&self) -> bool {
        let now = self.now();
        let sender = PeerName::trusted("somebody");
        let message = Message {
            seq: Seq(1),
            peer: sender.clone(),
            content: "Hello.".to_owned(),
            metadata: serde_json::Map::new(),
            configuration: None,
            created_at: now,
            arrived_at: now,
            tokens: 2,
        };
        let request = DeriveRequest {
            messages: &[message],
            observed: &[sender],
            instructions: None,
        };
        self.derive_once(request).await.is_ok()
    }

    /// Embeds texts one by one; those that cannot be embedded, while others can, are `None`.
    pub(crate) async fn embed_each(&self, texts: &[String]) -> Result<Vec<Option<Embedding>>, EmbedError> {
        let mut embedded = Vec::new();
        for text in texts {
            match self.embedder.embed(std::slice::from_ref(text)).await {
                Ok(embedding) => embedded.push(embedding.into_iter().next()),
                Err(error) => {
                    if error.busy || self.embedder.embed(&["Hello.".to_owned()]).await.is_err() {
                        return Err(error);
                    }
                    // The outage may have ended in between.
                    match self.embedder.embed(std::slice::from_ref(text)).await {
                        Err(error) if error.busy => return Err(error),
                        again => embedded.push(again.ok().and_then(|embedding| embedding.into_iter().next())),
                    }
                }
            }
        }
        Ok(embedded)
    }

    /// Parks messages of the next batch of which something cannot be embedded; the batch is applied without them.
    pub(super) async fn leave_out(&self, place: &Place<'_>, cursor: &Cursor, seqs: &[Seq]) -> Result<()> {
        let seqs = &seqs[..seqs.len().min(PARKED_AT_ONCE)];
        let mut next = cursor.clone();
        next.left_out.extend(seqs);
        let parked: Vec<_> = seqs
            .iter()
            .map(|seq| self.parked(place, *seq, FailureKind::Embedding, cursor.failures + 1))
            .collect();
        tracing::warn!(
            session.uid = %place.session.uid,
            messages = seqs.len(),
            "what was derived from some messages cannot be embedded"
        );
        Ok(self
            .table
            .park(&place.workspace.uid, &place.session.uid, cursor, &next, &parked)
            .await?)
    }

    fn parked(&self, place: &Place<'_>, seq: Seq, error: FailureKind, attempts: u32) -> Parked {
        Parked {
            session: place.session.name.clone(),
            uid: place.session.uid.clone(),
            seq,
            error,
            at: self.now(),
            attempts,
            retries: 0,
            queued: false,
        }
    }

    /// Notes that the batch after the cursor failed; nothing else moves.
    async fn back_off(&self, place: &Place<'_>, cursor: &Cursor, error: EngineError) -> Result<Next> {
        let noted = cursor.failed();
        let failures = noted.failures;
        tracing::warn!(
            session.uid = %place.session.uid,
            batch.first = cursor.seq.0 + 1,
            failures,
            error = &error as &dyn std::error::Error,
            "a batch failed"
        );
        if self
            .table
            .save_cursor(&place.session.uid, cursor, &noted)
            .await
            .is_err()
        {
            return Err(error);
        }
        self.wait(place, failures, self.told(&error)).await
    }

    /// How long the provider said to wait.
    fn told(&self, error: &EngineError) -> Duration {
        match error {
            EngineError::Reasoner(error) => error.retry_after(self.now()).unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// Waits after so many failures, at least as long as the provider said. The first attempts come from the queue;
    /// after those the due index brings the session back, so that an outage fills no dead-letter queue.
    async fn wait(&self, place: &Place<'_>, failures: u32, told: Duration) -> Result<Next> {
        let wait = told.clamp(
            doubled(FIRST_BACKOFF, failures.saturating_sub(1), MAX_BACKOFF),
            MAX_BACKOFF,
        );
        if failures < QUEUE_ATTEMPTS {
            return Err(EngineError::Later(wait));
        }
        self.table
            .postpone_session(&place.workspace.uid, &place.session.uid, self.now() + wait)
            .await?;
        Ok(Next::Wait)
    }

    /// Tries again the parked messages of a session that somebody asked it for, each on its own. Those that fail once
    /// more are parked as before.
    pub(super) async fn retry_parked(&self, place: &Place<'_>, state: &SessionState, started: Time) -> Result<Next> {
        let uid = &place.session.uid;
        let asked = self.table.parked(&place.workspace.uid, Some(uid)).await?;
        let mut waiting = None;
        for parked in asked.into_iter().filter(|parked| parked.queued) {
            if self.now().since(started) > SLICE {
                // The caller hands the rest on.
                return Ok(Next::Again);
            }
            let tried = match self.retry(place, &parked).await {
                Ok(tried) => tried,
                Err(EngineError::AtFault { kind, .. }) => Tried::Failed(kind),
                Err(error @ (EngineError::Reasoner(_) | EngineError::Embed(_))) => Tried::Wait(error),
                Err(error) => return Err(error),
            };
            let again = Parked {
                at: self.now(),
                attempts: parked.attempts + 1,
                ..parked.clone()
            };
            let next = match tried {
                Tried::Gone => return Ok(Next::Wait),
                Tried::Over => continue,
                Tried::Done => None,
                Tried::Failed(error) => Some(Parked {
                    error,
                    queued: false,
                    ..again
                }),
                Tried::Wait(error) => {
                    tracing::warn!(session.uid = %uid, error = &error as &dyn std::error::Error, "a message failed again");
                    let told = waiting.map_or(Duration::ZERO, |(_, told)| told).max(self.told(&error));
                    waiting = Some((again.attempts, told)).max(waiting);
                    Some(again)
                }
            };
            self.table
                .settle_retry(&place.workspace.uid, &parked, next.as_ref())
                .await?;
        }
        if let Some((attempts, told)) = waiting {
            return self.wait(place, attempts, told).await;
        }
        self.table.retries_made(uid, state).await?;
        Ok(Next::Again)
    }

    async fn retry(&self, place: &Place<'_>, parked: &Parked) -> Result<Tried> {
        let Some(message) = self.table.message(&place.session.uid, parked.seq).await? else {
            return Ok(Tried::Done);
        };
        let members = self.table.members(&place.session.uid).await?;
        // As a batch of its own, that has failed as often.
        let alone = Cursor {
            failures: parked.attempts,
            ..Cursor::default()
        };
        let tried = Try {
            cursor: &alone,
            parked: Some(parked),
        };
        let Some(answer) = self.answer(place, &members, &[message], tried).await? else {
            return Ok(Tried::Over);
        };
        Ok(match self.apply(place, &members, &answer, &alone).await? {
            Applied::All => Tried::Done,
            Applied::Gone => Tried::Gone,
            Applied::Without(_) => Tried::Failed(FailureKind::Embedding),
        })
    }

    /// Asks for another try at a parked message. `false`: it is not parked.
    pub async fn retry_message(&self, workspace: &Workspace, session: &Session, seq: Seq) -> Result<bool> {
        loop {
            let Some(parked) = self.table.parked_message(&workspace.uid, &session.uid, seq).await? else {
                return Ok(false);
            };
            let Some(state) = self
                .table
                .session_state(&session.uid)
                .await?
                .filter(|state| state.alive)
            else {
                return Err(EngineError::SessionGone(session.name.to_string()));
            };
            if parked.queued {
                self.wake_for_retry(workspace, session, &state, &parked).await;
                return Ok(true);
            }
            let place = (&workspace.name, &workspace.uid);
            if self.table.ask_retry(place, &parked, &state, self.now()).await? {
                self.wake_for_retry(workspace, session, &state, &parked).await;
                return Ok(true);
            }
        }
    }

    /// A wake-up that does not go out is logged, and the due index makes it good.
    async fn wake_for_retry(&self, workspace: &Workspace, session: &Session, state: &SessionState, parked: &Parked) {
        let again = format!("r{}.{}", parked.seq, parked.retries);
        let woken = self
            .wake(
                &workspace.name,
                &session.name,
                &session.uid,
                state.last_seq,
                Some(&again),
            )
            .await;
        if let Err(error) = woken {
            tracing::warn!(session.uid = %session.uid, error = &error as &dyn std::error::Error, "wake-up not sent; the reconciler will");
        }
    }
}

/// How a try at a parked message went.
enum Tried {
    /// It was derived from, or is not there any more.
    Done,
    /// Session or workspace are gone.
    Gone,
    /// Another delivery has ended it.
    Over,
    /// It fails for good.
    Failed(FailureKind),
    /// It may do better later.
    Wait(EngineError),
}

/// What a future gives; `None` when it panics.
pub(super) async fn unless_it_panics<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // The future is dropped, never polled again, and what it shares is behind locks that notice.
        catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
            .map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}
