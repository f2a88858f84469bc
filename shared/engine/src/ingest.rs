//! Ingest: messages past a session's cursor become conclusions (`design.md` section 5).
//!
//! One batch at a time: derive once, store the answer, apply it in units that are each one transaction, move the
//! cursor. Whatever stops half-way is gone on with by the next delivery, and a replay changes nothing: ids of
//! conclusions come from the batch and the place in it, and applied units are marked. What becomes of batches that fail
//! is in [`failing`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use reverie_aws::table::TableError;
use reverie_aws::table::failures::Parked;
use reverie_aws::table::members::Member;
use reverie_aws::table::messages::{Answer, Cursor};
use reverie_aws::table::sessions::{Session, SessionState};
use reverie_aws::table::units::{self, Part, Unit, units};
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{Conclusion, Level, Origin, SessionRef, Support, merge_support};
use reverie_core::dreaming::{Event, step};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, Seq, SessionName, SessionUid, WorkspaceName, digest};
use reverie_core::message::Message;
use reverie_core::reasoner::{DeriveRequest, Derived, Statement};
use reverie_core::run::Strength;
use reverie_core::settings::{Levels, has_own_instructions, observed};
use reverie_core::text::normalise;
use reverie_core::time::Time;

use crate::letters::{IngestLetter, parse};
use crate::machine::{self, Caller, pause};
use crate::{Engine, EngineError, Result};

mod failing;
mod summaries;

use failing::{ATTEMPTS, Next};
use summaries::Progress;

/// The most tokens of one batch; its first message always fits.
const BATCH_TOKENS: u32 = 1024;
/// The tokens for which a model is asked at once.
const ENOUGH_TOKENS: u32 = 512;
/// The most messages of one batch.
const BATCH_MESSAGES: u64 = 100;
/// How long one delivery works before it hands the rest on: well under the function's timeout.
const SLICE: Duration = Duration::from_secs(45);

/// Where ingest is at work.
struct Place<'a> {
    workspace: &'a Workspace,
    session: &'a Session,
}

impl<'a> Place<'a> {
    fn levels(&self) -> Levels<'a> {
        Levels {
            session: Some(&self.session.configuration),
            workspace: &self.workspace.configuration,
        }
    }
}

/// What is being tried.
#[derive(Clone, Copy)]
struct Try<'a> {
    /// Where the batch begins, and how often it has failed.
    cursor: &'a Cursor,
    /// The parked message, when it is that one and no batch.
    parked: Option<&'a Parked>,
}

/// How an answer went.
enum Applied {
    /// Everything is written.
    All,
    /// Session or workspace went meanwhile.
    Gone,
    /// What these messages say cannot be embedded; nothing more was written.
    Without(Vec<Seq>),
}

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
        let place = Place {
            workspace: &workspace,
            session: &session,
        };
        let started = self.now();
        let mut noticed: (Seq, BTreeSet<PeerName>) = (Seq(0), BTreeSet::new());
        loop {
            let (state, cursor) = self.table.progress(uid).await?;
            let Some(mut state) = state.filter(|state| state.alive) else {
                return Ok(());
            };
            let lags = cursor.seq < state.last_seq;
            if !lags && self.summarise(&place, &mut state, cursor.seq, started).await? == Progress::OutOfTime {
                return self.hand_on(&place, &cursor, &state).await;
            }
            if !lags && state.retries == state.retried {
                if !state.queued || self.table.caught_up(&workspace.uid, uid, &state).await? {
                    return Ok(());
                }
                continue;
            }
            if self.now().since(started) > SLICE {
                return self.hand_on(&place, &cursor, &state).await;
            }
            if !lags {
                match self.retry_parked(&place, &state, started).await? {
                    Next::Again => continue,
                    Next::Wait => return Ok(()),
                }
            }
            let until = cursor.until.map_or(state.last_seq, |until| until.min(state.last_seq));
            let members = self.table.members(uid).await?;
            let batch = self.batch(&place, &members, cursor.seq.next(), until).await?;
            if noticed.0 < state.last_seq {
                noticed = (state.last_seq, BTreeSet::new());
            }
            self.notice_activity(&workspace, &members, &batch, &mut noticed.1)
                .await?;
            let last = batch.last().map_or(cursor.seq, |message| message.seq);
            if last == state.last_seq
                && let Some(at) = self.held_until(&cursor, &batch)
            {
                // What was passed before is summarised meanwhile; what there is no time for is due when the batch is.
                self.summarise(&place, &mut state, cursor.seq, started).await?;
                return Ok(self.table.postpone_session(&workspace.uid, uid, at).await?);
            }
            let tried = Try {
                cursor: &cursor,
                parked: None,
            };
            let applied = match self.answer(&place, &members, &batch, tried).await {
                // Another delivery has gone on meanwhile.
                Ok(None) => continue,
                Ok(Some(answer)) => self
                    .apply(&place, &members, &answer, &cursor)
                    .await
                    .map(|applied| (answer, applied)),
                Err(error) => Err(error),
            };
            match applied {
                Ok((answer, Applied::All)) => self.table.advance_cursor(uid, &cursor, &answer).await?,
                Ok((_, Applied::Gone)) => return Ok(()),
                Ok((_, Applied::Without(seqs))) => self.leave_out(&place, &cursor, &seqs).await?,
                Err(error) => match self.failed(&place, &cursor, last, error).await? {
                    Next::Again => {}
                    Next::Wait => return Ok(()),
                },
            }
        }
    }

    /// Has another delivery go on from where this one stands.
    async fn hand_on(&self, place: &Place<'_>, cursor: &Cursor, state: &SessionState) -> Result<()> {
        let Place { workspace, session } = place;
        let until = cursor.until.unwrap_or_default();
        let SessionState {
            retries,
            short_summary,
            long_summary,
            ..
        } = state;
        let at = format!("{}.{until}.{retries}.{short_summary}.{long_summary}", cursor.seq);
        self.wake_on(&workspace.name, &session.name, &session.uid, &at).await
    }

    /// The next batch: messages from `first`, at most 1,024 tokens, the first always; derived from under the same
    /// settings, so that one call serves all.
    async fn batch(&self, place: &Place<'_>, members: &[Member], first: Seq, last: Seq) -> Result<Vec<Message>> {
        let last = last.min(Seq(first.0 + BATCH_MESSAGES - 1));
        let mut tokens = 0_u32;
        let mut batch = self.table.posted_messages(&place.session.uid, first, last).await?;
        let fits = batch
            .iter()
            .take_while(|message| {
                let before = tokens;
                tokens = tokens.saturating_add(message.tokens);
                before == 0 || tokens <= BATCH_TOKENS
            })
            .count();
        batch.truncate(fits);
        let own_instructions = |message: &Message| message.configuration.as_ref().is_some_and(has_own_instructions);
        if batch.iter().any(own_instructions) {
            let reasoned = self.reasoned(place, members, &batch).await?;
            if let Some(other) = change_of_instructions(place.levels(), &reasoned) {
                batch.retain(|message| message.seq < other);
            }
        }
        Ok(batch)
    }

    /// Until when a batch that more messages may join is held back for them, so that not every short POST costs a model
    /// call; `None` when it is to be derived from now. What has failed before is not held.
    fn held_until(&self, cursor: &Cursor, batch: &[Message]) -> Option<Time> {
        if self.config.flush || !self.reasoner.wants_batches() || cursor.failures > 0 || cursor.until.is_some() {
            return None;
        }
        let tokens = batch
            .iter()
            .fold(0_u32, |sum, message| sum.saturating_add(message.tokens));
        let due = batch.first()?.arrived_at + self.config.max_age;
        (tokens < ENOUGH_TOKENS && self.now() < due).then_some(due)
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

    /// The batch's answer, or that of a try at a parked message: the stored one, or a new one, stored before anything is
    /// done with it. `None`: the batch, or the try, is over.
    async fn answer(
        &self,
        place: &Place<'_>,
        members: &[Member],
        batch: &[Message],
        tried: Try<'_>,
    ) -> Result<Option<Answer>> {
        let session = place.session;
        let retry = tried.parked.map_or(0, |parked| parked.retries);
        let (Some(first), Some(last)) = (batch.first().map(|m| m.seq), batch.last().map(|m| m.seq)) else {
            return Err(EngineError::NotFound {
                what: "batch of session",
                name: session.name.to_string(),
            });
        };
        if let Some(stored) = self.table.answer(&session.uid, first, retry).await? {
            return Ok(Some(stored));
        }
        let reasoned = self.reasoned(place, members, batch).await?;
        let mut senders: Vec<PeerName> = reasoned.iter().map(|message| message.peer.clone()).collect();
        senders.sort();
        senders.dedup();
        let derived = if reasoned.is_empty() {
            Derived::default()
        } else {
            let request = DeriveRequest {
                messages: &reasoned,
                observed: &senders,
                instructions: instructions_for(place.levels(), &reasoned),
            };
            self.derive(request, is_careful(tried.cursor)).await?
        };
        let answer = Answer {
            first,
            last,
            at: self.now(),
            derived,
            retry,
        };
        // Another delivery may have been faster: what is stored is what counts.
        Ok(self.table.store_answer(place.workspace, &session.uid, answer).await?)
    }

    /// The messages of the batch whose senders are observed and which are to be reasoned over.
    async fn reasoned(&self, place: &Place<'_>, members: &[Member], batch: &[Message]) -> Result<Vec<Message>> {
        let senders: BTreeSet<&PeerName> = batch.iter().map(|message| &message.peer).collect();
        let peers = self.table.find_peers(&place.workspace.uid, senders).await?;
        let levels = place.levels();
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

    /// Applies an answer for every observer.
    async fn apply(&self, place: &Place<'_>, members: &[Member], answer: &Answer, cursor: &Cursor) -> Result<Applied> {
        let mut by_peer: BTreeMap<&PeerName, Vec<(usize, &Statement)>> = BTreeMap::new();
        for (place, statement) in answer.derived.statements.iter().enumerate() {
            by_peer.entry(&statement.about).or_default().push((place, statement));
        }
        let arrivals = self.arrivals(&place.session.uid, answer).await?;
        for (about, statements) in by_peer {
            for observer in observers(members, about) {
                for (part, chunk) in units(&statements, |(_, statement)| statement.content.len())
                    .into_iter()
                    .enumerate()
                {
                    let mut unit = format!("{}.{part}", digest(&[observer.as_str(), about.as_str()]));
                    if answer.retry > 0 {
                        unit = format!("{unit}.r{}", answer.retry);
                    }
                    // The units are the same whatever is left out: their marks say so.
                    let kept: Vec<_> = chunk
                        .iter()
                        .copied()
                        .filter(|(_, statement)| !statement.messages.iter().all(|seq| cursor.left_out.contains(seq)))
                        .collect();
                    let careful = is_careful(cursor);
                    match self
                        .apply_unit(place, (answer, &arrivals), (observer, about), &unit, &kept, careful)
                        .await?
                    {
                        Applied::All => {}
                        other => return Ok(other),
                    }
                }
            }
        }
        Ok(Applied::All)
    }

    /// Applies one unit; `careful`, after failures, embeds its texts one by one to find those that cannot be.
    async fn apply_unit(
        &self,
        place: &Place<'_>,
        (answer, arrivals): (&Answer, &BTreeMap<Seq, Time>),
        (observer, about): (&PeerName, &PeerName),
        unit: &str,
        statements: &[(usize, &Statement)],
        careful: bool,
    ) -> Result<Applied> {
        let Place { workspace, session } = place;
        let session_ref = SessionRef {
            uid: session.uid.clone(),
            name: session.name.clone(),
        };
        let distinct = fold(statements);
        let texts: Vec<String> = distinct
            .iter()
            .map(|(_, statement)| statement.content.clone())
            .collect();
        for attempt in 0..machine::ATTEMPTS {
            pause(attempt).await;
            let representation = self
                .table
                .ensure_representation(workspace, observer, about, self.now())
                .await?;
            let known = self
                .table
                .known(&representation.id, &workspace.uid, &session.uid, &texts)
                .await?;
            let (mut created, mut without) = (Vec::new(), BTreeSet::new());
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
                    // Of a message that is tried again, what it has said before is there already.
                    if says_already(holder, &support) {
                        continue;
                    }
                    let before = Strength::of(holder);
                    let (_, after) = reinforced.entry(holder.id.clone()).or_insert((before.clone(), before));
                    after.times_derived += 1;
                    after.event_at = after.event_at.max(statement.event_at);
                    merge_support(&mut after.support, &support);
                    continue;
                }
                let mut seed = vec![session.uid.to_string(), answer.first.to_string(), origin.to_string()];
                if answer.retry > 0 {
                    seed.push(answer.retry.to_string());
                }
                let seed: Vec<_> = seed.iter().map(String::as_str).collect();
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
                return Ok(Applied::All);
            }
            let new: Vec<String> = created
                .iter()
                .map(|conclusion: &Conclusion| conclusion.content.clone())
                .collect();
            if careful {
                for (conclusion, embedding) in created.iter_mut().zip(self.embed_each(&new).await?) {
                    if embedding.is_none() {
                        without.extend(conclusion.support.iter().flat_map(|support| support.messages.clone()));
                    }
                    conclusion.embedding = embedding;
                }
            } else if !new.is_empty() {
                for (conclusion, embedding) in created.iter_mut().zip(self.embedder.embed(&new).await?) {
                    conclusion.embedding = Some(embedding);
                }
            }
            if !without.is_empty() {
                return Ok(Applied::Without(without.into_iter().collect()));
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
                return Ok(Applied::Gone);
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
                recording: None,
            };
            match self.table.apply_unit(&unit, now).await? {
                units::Applied::Now => {
                    self.perform(&representation, &effects, Caller::Handler).await;
                    return Ok(Applied::All);
                }
                units::Applied::Before => {
                    // The delivery that applied it may have died before it set the timer.
                    self.ensure_timer(&representation.id).await?;
                    return Ok(Applied::All);
                }
                units::Applied::Gone => return Ok(Applied::Gone),
                units::Applied::Stale | units::Applied::Recorded => {}
            }
        }
        Err(TableError::Conflict.into())
    }

    /// When the batch's messages arrived: tombstones ask.
    async fn arrivals(&self, session: &SessionUid, answer: &Answer) -> Result<BTreeMap<Seq, Time>> {
        let messages = self.table.posted_messages(session, answer.first, answer.last).await?;
        Ok(messages
            .into_iter()
            .map(|message| (message.seq, message.arrived_at))
            .collect())
    }
}

/// The deriver's instructions for messages that share them.
fn instructions_for<'a>(levels: Levels<'a>, messages: &'a [Message]) -> Option<&'a str> {
    let first = messages.first()?;
    levels.deriver_instructions(first.configuration.as_ref()).value
}

/// The first message for which the deriver has other instructions than for those before it.
fn change_of_instructions(levels: Levels<'_>, messages: &[Message]) -> Option<Seq> {
    let first = instructions_for(levels, messages);
    let of = |message: &Message| levels.deriver_instructions(message.configuration.as_ref()).value == first;
    messages.iter().find(|message| !of(message)).map(|message| message.seq)
}

/// Who observes a peer: itself, and the members who observe others.
fn observers<'a>(members: &'a [Member], observed: &'a PeerName) -> Vec<&'a PeerName> {
    let others = members
        .iter()
        .filter(|member| member.observes_others() && member.peer != *observed)
        .map(|member| &member.peer);
    std::iter::once(observed).chain(others).collect()
}

/// Whether a batch has failed so often that a message in it may be at fault.
fn is_careful(cursor: &Cursor) -> bool {
    cursor.failures + 1 >= ATTEMPTS
}

/// Whether a conclusion rests on all these messages already.
fn says_already(conclusion: &Conclusion, support: &[Support]) -> bool {
    support.iter().all(|support| {
        let there = conclusion.support.iter().find(|there| there.session == support.session);
        there.is_some_and(|there| support.messages.iter().all(|seq| there.messages.contains(seq)))
    })
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
