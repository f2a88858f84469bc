//! Messages coming in: one atomic write, a wake-up for ingest, and the answer (`design.md` section 5).

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::activity::Activity;
use reverie_aws::table::idempotency::{Effect, KeyedRequest, Record, Recording};
use reverie_aws::table::members::{Member, MemberConfig};
use reverie_aws::table::messages::{Append, Posting};
use reverie_aws::table::sessions::{GivenSession, Session};
use reverie_aws::table::workspaces::{Given, Workspace};
use reverie_core::id::{PeerName, Seq, SessionName, WorkspaceName};
use reverie_core::message::Message;
use reverie_core::text::estimate_tokens;
use reverie_core::time::Time;
use serde_json::{Map, Value};

use crate::letters::WAKE_LIMIT;
use crate::machine::pause;
use crate::{Engine, EngineError, Result};

/// The most bytes of the echoed answer, as JSON: what Lambda lets through, with room for its envelope.
const ECHO_BYTES: usize = 5_500_000;
/// How often a POST is tried again when another writer of the session was faster.
const ATTEMPTS: u32 = 30;

/// A message as a client sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// Who said it.
    pub peer: PeerName,
    /// What was said.
    pub content: String,
    /// Users' metadata.
    pub metadata: Map<String, Value>,
    /// Users' settings of this message.
    pub configuration: Option<Map<String, Value>>,
    /// When it was said; now, when absent.
    pub created_at: Option<Time>,
}

/// Messages as they were stored.
#[derive(Clone, Debug)]
pub struct Posted {
    /// The workspace.
    pub workspace: Workspace,
    /// The session.
    pub session: Session,
    /// The messages, in the order in which they were sent.
    pub messages: Vec<Message>,
}

impl Engine {
    /// Stores messages of one session in order, all or none. Workspace, session, peers and memberships are created as
    /// needed. Concurrent writers neither lose nor reorder a message within a batch.
    ///
    /// A request with an idempotency key is done once: the same request again has the same answer, and another one under
    /// its key is refused.
    pub async fn post_messages(
        &self,
        workspace: &WorkspaceName,
        session: &SessionName,
        new: Vec<NewMessage>,
        request: Option<&KeyedRequest>,
    ) -> Result<Posted> {
        let arrived_at = self.now();
        let mut echo = 0_usize;
        for message in &new {
            let metadata = serde_json::to_string(&message.metadata).map_or(0, |text| text.len());
            echo = echo.saturating_add(message.content.len() + metadata + 1024);
        }
        if echo > ECHO_BYTES {
            return Err(EngineError::TooLarge("the message batch"));
        }
        let senders: HashSet<PeerName> = new.iter().map(|message| message.peer.clone()).collect();
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let mut posting = self.table.posting(workspace, session, &senders, request).await?;
            if let (Some(request), Some(record)) = (request, &posting.record)
                && record.counts(arrived_at)
            {
                return self.posted_before(&posting, request, record).await;
            }
            let complete = posting.session.is_some()
                && posting.state.is_some()
                && senders
                    .iter()
                    .all(|sender| posting.members.get(sender).is_some_and(Member::is_active));
            if !complete {
                self.prepare(workspace, session, &senders, arrived_at).await?;
                posting = self.table.posting(workspace, session, &senders, request).await?;
            }
            let (Some(workspace), Some(session), Some(state)) = (posting.workspace, posting.session, posting.state)
            else {
                continue;
            };
            let recording = request.map(|request| Recording {
                workspace: workspace.uid.clone(),
                request: request.clone(),
                over: posting.record.clone().filter(|record| !record.counts(arrived_at)),
                at: arrived_at,
            });
            if !state.alive {
                return Err(EngineError::SessionGone(session.name.to_string()));
            }
            let mut seq = state.last_seq;
            let messages: Vec<Message> = new
                .iter()
                .map(|message| {
                    seq = seq.next();
                    Message {
                        seq,
                        peer: message.peer.clone(),
                        content: message.content.clone(),
                        metadata: message.metadata.clone(),
                        configuration: message.configuration.clone(),
                        created_at: message.created_at.unwrap_or(arrived_at),
                        arrived_at,
                        tokens: estimate_tokens(&message.content),
                    }
                })
                .collect();
            let activity = self.activity(&messages, &session, &posting.activity, arrived_at);
            let append = Append {
                workspace: &workspace,
                session: &session,
                state: &state,
                messages: &messages,
                activity: &activity,
                recording,
            };
            match self.table.append(append, arrived_at).await {
                Ok(()) => {
                    self.wake_or_leave(&workspace, &session, seq).await;
                    return Ok(Posted {
                        workspace,
                        session,
                        messages,
                    });
                }
                Err(TableError::Condition(_)) => {}
                Err(TableError::TooLarge(what)) => return Err(EngineError::TooLarge(what)),
                Err(error) => return Err(error.into()),
            }
        }
        Err(TableError::Conflict.into())
    }

    /// The answer that the same request was given before: the messages as they were posted.
    async fn posted_before(&self, posting: &Posting, request: &KeyedRequest, record: &Record) -> Result<Posted> {
        let Some(workspace) = &posting.workspace else {
            return Err(EngineError::AnswerGone);
        };
        if !record.is_of(&workspace.uid, request) {
            return Err(EngineError::KeyReused);
        }
        let (Some(session), Some(state)) = (&posting.session, &posting.state) else {
            return Err(EngineError::AnswerGone);
        };
        let Effect::Messages {
            session: uid,
            first,
            last,
        } = &record.effect
        else {
            return Err(EngineError::AnswerGone);
        };
        if session.uid != *uid || !state.alive {
            return Err(EngineError::AnswerGone);
        }
        let messages = self.table.posted_messages(uid, *first, *last).await?;
        // The first request may have died before it sent its wake-up.
        if state.queued {
            self.wake_or_leave(workspace, session, state.last_seq).await;
        }
        Ok(Posted {
            workspace: workspace.clone(),
            session: session.clone(),
            messages,
        })
    }

    /// Creates what a first message needs: workspace, session, peers, memberships.
    async fn prepare(
        &self,
        workspace: &WorkspaceName,
        session: &SessionName,
        senders: &HashSet<PeerName>,
        now: Time,
    ) -> Result<()> {
        let (workspace, _) = self
            .table
            .get_or_create_workspace(workspace, Given::default(), &*self.ids, now)
            .await?;
        let members: BTreeMap<_, _> = senders
            .iter()
            .map(|sender| (sender.clone(), MemberConfig::default()))
            .collect();
        let given = GivenSession {
            given: Given::default(),
            members,
        };
        self.table
            .get_or_create_session(&workspace, session, given, &*self.ids, now)
            .await?;
        Ok(())
    }

    /// The senders' activity that is worth writing: the last one written is older than the step.
    fn activity(
        &self,
        messages: &[Message],
        session: &Session,
        written: &std::collections::HashMap<PeerName, Activity>,
        now: Time,
    ) -> BTreeMap<PeerName, Activity> {
        let step = Duration::from_secs(5).min(self.timings.idle / 20);
        let mut latest: BTreeMap<PeerName, Seq> = BTreeMap::new();
        for message in messages {
            latest.insert(message.peer.clone(), message.seq);
        }
        latest
            .into_iter()
            .filter(|(peer, _)| written.get(peer).is_none_or(|activity| now.since(activity.at) >= step))
            .map(|(peer, seq)| {
                (
                    peer,
                    Activity {
                        at: now,
                        session: session.uid.clone(),
                        seq,
                    },
                )
            })
            .collect()
    }

    /// After its commit a POST never fails: a wake-up that does not go out is logged, and the due index makes it good.
    async fn wake_or_leave(&self, workspace: &Workspace, session: &Session, last: Seq) {
        let wake = self.wake(&workspace.name, &session.name, &session.uid, last, None);
        match tokio::time::timeout(WAKE_LIMIT, wake).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(session.uid = %session.uid, error = &error as &dyn std::error::Error, "wake-up not sent; the reconciler will");
            }
            Err(_) => tracing::warn!(session.uid = %session.uid, "wake-up timed out; the reconciler will send it"),
        }
    }
}
