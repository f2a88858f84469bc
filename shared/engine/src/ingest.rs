//! Ingest: messages past a session's cursor become conclusions (`design.md` section 5).
//!
//! One batch at a time: derive once, store the answer, apply it in units that are each one transaction, move the
//! cursor. Whatever stops half-way is gone on with by the next delivery, and a replay changes nothing: ids of
//! conclusions come from the batch and the place in it, and applied units are marked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::messages::{Answer, Cursor};
use reverie_aws::table::sessions::{Member, Session};
use reverie_aws::table::units::{Applied, Part, Unit, units};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{Conclusion, Level, Origin, SessionRef, Support, merge_support};
use reverie_core::dreaming::{Event, step};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, Seq, SessionName, SessionUid, WorkspaceName, digest};
use reverie_core::message::Message;
use reverie_core::reasoner::{DeriveRequest, Derived, Statement};
use reverie_core::run::Strength;
use reverie_core::settings::{Levels, observed};
use reverie_core::text::normalise;
use reverie_core::time::Time;

use crate::letters::{IngestLetter, parse};
use crate::machine::{ATTEMPTS, Caller, pause};
use crate::{Engine, EngineError, Result};

/// The most tokens of one batch; its first message always fits.
const BATCH_TOKENS: u32 = 1024;
/// The most messages of one batch.
const BATCH_MESSAGES: u64 = 100;
/// How long one delivery works before it hands the rest on: well under the function's timeout.
const SLICE: Duration = Duration::from_secs(45);
/// How often a failing batch is tried by redelivery, well under the queue's count of receives.
const QUEUE_ATTEMPTS: u32 = 4;
/// The wait after its first failure; it doubles.
const FIRST_BACKOFF: Duration = Duration::from_secs(2);
/// The longest wait between two attempts at a batch that fails.
const MAX_BACKOFF: Duration = Duration::from_mins(10);

impl Engine {
    /// Handles one message of the ingest queue. An error leaves everything in place for the next delivery.
    pub async fn handle_ingest(&self, body: &str) -> Result<()> {
        match parse(body)? {
            IngestLetter::Session {
                workspace,
                session,
                uid,
            } => self.ingest_session(&workspace, &session, &uid).await,
            IngestLetter::Representation { id } => self.ensure_timer(&id).await,
            IngestLetter::Erase { workspace, session } => Box::pin(self.erase(&workspace, session.as_ref())).await,
        }
    }

    async fn ingest_session(&self, workspace: &WorkspaceName, name: &SessionName, uid: &SessionUid) -> Result<()> {
        let Some(workspace) = self.table.workspace(workspace).await? else {
            return Ok(());
        };
        let Some(session) = self
            .table
            .session(&workspace.uid, name)
            .await?
            .filter(|session| session.uid == *uid)
        else {
            return Ok(());
        };
        let started = self.now();
        let mut noticed: (Seq, BTreeSet<PeerName>) = (Seq(0), BTreeSet::new());
        loop {
            let Some(state) = self.table.session_state(uid).await?.filter(|state| state.alive) else {
                return Ok(());
            };
            let cursor = self.table.cursor(uid).await?;
            if cursor.seq >= state.last_seq {
                if !state.queued || self.table.caught_up(&workspace.uid, uid, state.last_seq).await? {
                    return Ok(());
                }
                continue;
            }
            if self.now().since(started) > SLICE {
                return self.wake_on(&workspace.name, name, uid, cursor.seq).await;
            }
            let batch = self.batch(uid, cursor.seq.next(), state.last_seq).await?;
            let members = self.table.members(uid).await?;
            if noticed.0 < state.last_seq {
                noticed = (state.last_seq, BTreeSet::new());
            }
            self.notice_activity(&workspace, &members, &batch, &mut noticed.1)
                .await?;
            let answer = match self.answer(&workspace, &session, &members, &batch).await {
                Ok(answer) => answer,
                Err(error) => return self.back_off(&workspace, uid, &cursor, error).await,
            };
            match self.apply(&workspace, &session, &members, &answer).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => return self.back_off(&workspace, uid, &cursor, error).await,
            }
            self.table.advance_cursor(uid, &answer).await?;
        }
    }

    /// The next batch: messages from `first`, at most 1,024 tokens, the first always.
    async fn batch(&self, session: &SessionUid, first: Seq, last: Seq) -> Result<Vec<Message>> {
        let last = last.min(Seq(first.0 + BATCH_MESSAGES - 1));
        let mut tokens = 0_u32;
        let mut batch = self.table.messages(session, first, last).await?;
        let fits = batch
            .iter()
            .take_while(|message| {
                let before = tokens;
                tokens = tokens.saturating_add(message.tokens);
                before == 0 || tokens <= BATCH_TOKENS
            })
            .count();
        batch.truncate(fits);
        Ok(batch)
    }

    /// Activity of a peer, whatever its session's settings, puts off the dreams about it (rule 3). Timers of observers
    /// who are not in the session look when they fire.
    async fn notice_activity(
        &self,
        workspace: &Workspace,
        members: &[Member],
        batch: &[Message],
        noticed: &mut BTreeSet<PeerName>,
    ) -> Result<()> {
        let senders: BTreeSet<&PeerName> = batch.iter().map(|message| &message.peer).collect();
        for sender in senders {
            if !noticed.insert(sender.clone()) {
                continue;
            }
            for observer in observers(members, sender) {
                let id = RepresentationId::of(&workspace.uid, observer, sender);
                if self
                    .table
                    .representation(&id)
                    .await?
                    .is_some_and(|found| found.state.timer.is_some() || found.state.idle_waiting)
                {
                    self.advance(&id, &Event::Activity, &[], Caller::Handler).await?;
                }
            }
        }
        Ok(())
    }

    /// The batch's answer: the stored one, or a new one, stored before anything is done with it.
    async fn answer(
        &self,
        workspace: &Workspace,
        session: &Session,
        members: &[Member],
        batch: &[Message],
    ) -> Result<Answer> {
        let (Some(first), Some(last)) = (batch.first().map(|m| m.seq), batch.last().map(|m| m.seq)) else {
            return Err(EngineError::NotFound {
                what: "batch of session",
                name: session.name.to_string(),
            });
        };
        if let Some(stored) = self.table.answer(&session.uid, first).await? {
            return Ok(stored);
        }
        let reasoned = self.reasoned(workspace, session, members, batch).await?;
        let mut senders: Vec<PeerName> = reasoned.iter().map(|message| message.peer.clone()).collect();
        senders.sort();
        senders.dedup();
        let derived = if reasoned.is_empty() {
            Derived::default()
        } else {
            self.reasoner
                .derive(DeriveRequest {
                    messages: &reasoned,
                    observed: &senders,
                })
                .await?
        };
        let answer = Answer {
            first,
            last,
            at: self.now(),
            derived,
        };
        self.table.store_answer(&session.uid, &answer).await?;
        // Another delivery may have been faster: what is stored is what counts.
        Ok(self.table.answer(&session.uid, first).await?.unwrap_or(answer))
    }

    /// The messages of the batch whose senders are observed and which are to be reasoned over.
    async fn reasoned(
        &self,
        workspace: &Workspace,
        session: &Session,
        members: &[Member],
        batch: &[Message],
    ) -> Result<Vec<Message>> {
        let senders: BTreeSet<&PeerName> = batch.iter().map(|message| &message.peer).collect();
        let peers = self.table.find_peers(&workspace.uid, senders).await?;
        let levels = Levels {
            session: Some(&session.configuration),
            workspace: &workspace.configuration,
        };
        let wanted = |message: &&Message| {
            let peer = peers
                .get(&message.peer)
                .and_then(reverie_aws::table::peers::Peer::observe_me);
            let member = members
                .iter()
                .find(|member| member.peer == message.peer)
                .and_then(|member| member.config.observe_me);
            observed(member, peer)
                && levels
                    .reasoning(message.configuration.as_ref(), peer, self.config.defaults)
                    .value
        };
        Ok(batch.iter().filter(wanted).cloned().collect())
    }

    /// Applies an answer for every observer. `false` when session or workspace went meanwhile.
    async fn apply(
        &self,
        workspace: &Workspace,
        session: &Session,
        members: &[Member],
        answer: &Answer,
    ) -> Result<bool> {
        let mut by_peer: BTreeMap<&PeerName, Vec<(usize, &Statement)>> = BTreeMap::new();
        for (place, statement) in answer.derived.statements.iter().enumerate() {
            by_peer.entry(&statement.about).or_default().push((place, statement));
        }
        let arrivals = self.arrivals(&session.uid, answer).await?;
        for (about, statements) in by_peer {
            for observer in observers(members, about) {
                for (part, chunk) in units(&statements, |(_, statement)| statement.content.len())
                    .into_iter()
                    .enumerate()
                {
                    let unit = format!("{}.{part}", digest(&[observer.as_str(), about.as_str()]));
                    if !self
                        .apply_unit(workspace, session, (answer, &arrivals), (observer, about), &unit, chunk)
                        .await?
                    {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    async fn apply_unit(
        &self,
        workspace: &Workspace,
        session: &Session,
        (answer, arrivals): (&Answer, &BTreeMap<Seq, Time>),
        (observer, about): (&PeerName, &PeerName),
        unit: &str,
        statements: &[(usize, &Statement)],
    ) -> Result<bool> {
        let session_ref = SessionRef {
            uid: session.uid.clone(),
            name: session.name.clone(),
        };
        let distinct = fold(statements);
        let texts: Vec<String> = distinct
            .iter()
            .map(|(_, statement)| statement.content.clone())
            .collect();
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let representation = self
                .table
                .ensure_representation(workspace, observer, about, self.now())
                .await?;
            let known = self
                .table
                .known(&representation.id, &workspace.uid, &session.uid, &texts)
                .await?;
            let mut created = Vec::new();
            // Several texts may be held by one conclusion, which a transaction can touch only once.
            let mut reinforced: BTreeMap<ConclusionId, (Strength, Strength)> = BTreeMap::new();
            let mut erased = HashMap::new();
            for (place, (origin, statement)) in distinct.iter().enumerate() {
                let support = vec![Support {
                    session: session.uid.clone(),
                    messages: statement.messages.clone(),
                }];
                let heard = statement.messages.iter().filter_map(|seq| arrivals.get(seq)).max();
                if known
                    .erased
                    .get(&place)
                    .is_some_and(|erased| heard.is_none_or(|heard| heard <= erased))
                {
                    continue;
                }
                if let Some(holder) = known.holders.get(&place) {
                    let before = Strength::of(holder);
                    let (_, after) = reinforced.entry(holder.id.clone()).or_insert((before.clone(), before));
                    after.times_derived += 1;
                    after.event_at = after.event_at.max(statement.event_at);
                    merge_support(&mut after.support, &support);
                    continue;
                }
                let seed = [session.uid.as_str(), &answer.first.to_string(), &origin.to_string()];
                let id = ConclusionId::placed(&representation.id, answer.at, *origin, &seed);
                if let Some(at) = known.erased.get(&place) {
                    erased.insert(id.clone(), *at);
                }
                created.push(Conclusion {
                    id,
                    content: statement.content.clone(),
                    level: Level::Explicit,
                    session: Some(session_ref.clone()),
                    created_at: answer.at,
                    event_at: statement.event_at,
                    times_derived: 1,
                    sources: Vec::new(),
                    support,
                    pattern: None,
                    origin: Origin::Deriver,
                    embedding: None,
                });
            }
            if created.is_empty() && reinforced.is_empty() {
                return Ok(true);
            }
            let new: Vec<String> = created
                .iter()
                .map(|conclusion: &Conclusion| conclusion.content.clone())
                .collect();
            if !new.is_empty() {
                for (conclusion, embedding) in created.iter_mut().zip(self.embedder.embed(&new).await?) {
                    conclusion.embedding = Some(embedding);
                }
            }
            let reinforced: Vec<_> = reinforced
                .into_iter()
                .map(|(id, (before, after))| (id, before, after))
                .collect();
            let event = Event::Concluded {
                explicit: created.len() as u64,
                session: Some(session_ref.clone()),
            };
            let Some(view) = self.view(&representation, &event).await? else {
                return Ok(false);
            };
            let now = self.now();
            let (next, effects) = step(&representation.state, &self.timings, &view, &event, now);
            let part = Some(Part {
                first: answer.first,
                unit,
            });
            let unit = Unit {
                workspace,
                representation: &representation,
                next: &next,
                created: &created,
                erased: &erased,
                reinforced: &reinforced,
                session: Some(&session_ref),
                part,
            };
            match self.table.apply_unit(&unit, now).await? {
                Applied::Now => {
                    self.perform(&representation, &effects, Caller::Handler).await;
                    return Ok(true);
                }
                Applied::Before => {
                    // The delivery that applied it may have died before it set the timer.
                    self.ensure_timer(&representation.id).await?;
                    return Ok(true);
                }
                Applied::Gone => return Ok(false),
                Applied::Stale => {}
            }
        }
        Err(TableError::Conflict.into())
    }

    /// When the batch's messages arrived: tombstones ask.
    async fn arrivals(&self, session: &SessionUid, answer: &Answer) -> Result<BTreeMap<Seq, Time>> {
        let messages = self.table.messages(session, answer.first, answer.last).await?;
        Ok(messages
            .into_iter()
            .map(|message| (message.seq, message.arrived_at))
            .collect())
    }

    /// Notes that the batch after the cursor failed; nothing else moves. The first attempts come from the queue; after
    /// those the due index brings the session back, so that an outage fills no dead-letter queue.
    async fn back_off(
        &self,
        workspace: &Workspace,
        session: &SessionUid,
        cursor: &Cursor,
        error: EngineError,
    ) -> Result<()> {
        let failures = cursor.failures.saturating_add(1);
        tracing::warn!(
            session.uid = %session,
            batch.first = cursor.seq.0 + 1,
            failures,
            error = &error as &dyn std::error::Error,
            "a batch failed"
        );
        if self.table.note_failure(session, cursor).await.is_err() {
            return Err(error);
        }
        let wait = FIRST_BACKOFF
            .saturating_mul(1 << cursor.failures.min(10))
            .min(MAX_BACKOFF);
        if failures < QUEUE_ATTEMPTS {
            return Err(EngineError::Later(wait));
        }
        Ok(self
            .table
            .postpone_session(&workspace.uid, session, self.now() + wait)
            .await?)
    }
}

/// Who observes a peer: itself, and the members who observe others.
fn observers<'a>(members: &'a [Member], observed: &'a PeerName) -> Vec<&'a PeerName> {
    let others = members
        .iter()
        .filter(|member| member.observes_others() && member.peer != *observed)
        .map(|member| &member.peer);
    std::iter::once(observed).chain(others).collect()
}

/// Statements with equal normalised text as one, with the messages of all; each with the place of the first.
fn fold(statements: &[(usize, &Statement)]) -> Vec<(usize, Statement)> {
    let mut folded: Vec<(usize, Statement)> = Vec::new();
    let mut by_text: BTreeMap<String, usize> = BTreeMap::new();
    for (place, statement) in statements {
        let text = normalise(&statement.content);
        if let Some(at) = by_text.get(&text) {
            let first = &mut folded[*at].1;
            first.messages.extend(&statement.messages);
            first.messages.sort_unstable();
            first.messages.dedup();
            first.event_at = first.event_at.max(statement.event_at);
        } else {
            by_text.insert(text, folded.len());
            folded.push((*place, (*statement).clone()));
        }
    }
    folded
}
