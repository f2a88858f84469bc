//! Tests of the whole reasoner, over a representation in memory.

mod deduction;
mod deriving;
mod hints;
mod induction;
mod pairs;
mod quality;
mod stability;
mod summarising;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::Offline;
use crate::conclusion::{CardEntry, Conclusion, Level, Origin, Pattern, SessionRef, Support, merge_support};
use crate::id::{ConclusionId, PeerName, RepresentationId, RunId, Seq, SessionName, SessionUid, WorkspaceUid};
use crate::message::Message;
use crate::reasoner::{DeriveRequest, NoSources, Reasoner as _, Statement, ThinkRequest, Thought};
use crate::run::{Phase, RemovalReason};
use crate::time::Time;
use crate::toolbox::Operation;

/// The result of a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the offline reasoner never waits"),
    }
}

/// Noon of a day in 2024, counted from 1.
fn day(number: u64) -> Time {
    Time::from_seconds(1_704_110_400) + Duration::from_hours(24 * (number - 1))
}

fn message(seq: u64, peer: &str, content: &str, at: Time) -> Message {
    Message {
        seq: Seq(seq),
        peer: PeerName::trusted(peer),
        content: content.to_owned(),
        metadata: serde_json::Map::new(),
        configuration: None,
        created_at: at,
        arrived_at: at,
        tokens: 0,
    }
}

/// The statements that a batch of (sender, text) said on day 1 yields about the named peers.
fn derive(said: &[(&str, &str)], observed: &[&str]) -> Vec<Statement> {
    let messages: Vec<Message> = (1_u64..)
        .zip(said)
        .map(|(seq, (peer, content))| message(seq, peer, content, day(1)))
        .collect();
    let observed: Vec<PeerName> = observed.iter().map(|name| PeerName::trusted(*name)).collect();
    now(Offline.derive(DeriveRequest {
        messages: &messages,
        observed: &observed,
        instructions: None,
    }))
    .expect("deriving never fails")
    .statements
}

/// What maya's one message yields.
fn said_by_maya(content: &str) -> Vec<String> {
    derive(&[("maya", content)], &["maya"])
        .into_iter()
        .map(|s| s.content)
        .collect()
}

/// A removed conclusion: its text, why, and the text in its place.
type Removed = (String, RemovalReason, Option<String>);

/// A representation of maya, and the little of the toolbox that dreaming over it needs.
#[derive(Clone, Debug)]
struct World {
    peer: PeerName,
    representation: RepresentationId,
    conclusions: Vec<Conclusion>,
    card: Option<Vec<CardEntry>>,
    made: u32,
    removed: Vec<Removed>,
}

impl World {
    fn new() -> Self {
        let peer = PeerName::trusted("maya");
        Self {
            representation: RepresentationId::of(&WorkspaceUid::trusted("w"), &peer, &peer),
            peer,
            conclusions: Vec::new(),
            card: None,
            made: 0,
            removed: Vec::new(),
        }
    }

    /// A world in which maya said each statement in a session of its own on the given day.
    fn stating(statements: &[(u64, &str)]) -> Self {
        let mut world = Self::new();
        for (number, content) in statements {
            world.state(*number, content);
        }
        world
    }

    fn state(&mut self, number: u64, content: &str) -> ConclusionId {
        self.add(
            content,
            Level::Explicit,
            Some(&format!("s{number}")),
            day(number),
            Vec::new(),
            None,
        )
    }

    /// Derives what maya says in a session and keeps it.
    fn hear(&mut self, number: u64, said: &[&str]) {
        let messages: Vec<Message> = (1_u64..)
            .zip(said)
            .map(|(seq, content)| message(seq, "maya", content, day(number) + Duration::from_secs(seq)))
            .collect();
        let observed = [self.peer.clone()];
        let derived = now(Offline.derive(DeriveRequest {
            messages: &messages,
            observed: &observed,
            instructions: None,
        }))
        .expect("deriving never fails");
        for statement in derived.statements {
            self.add(
                &statement.content,
                Level::Explicit,
                Some(&format!("s{number}")),
                statement.event_at,
                Vec::new(),
                None,
            );
        }
    }

    fn add(
        &mut self,
        content: &str,
        level: Level,
        session: Option<&str>,
        at: Time,
        sources: Vec<ConclusionId>,
        pattern: Option<Pattern>,
    ) -> ConclusionId {
        self.made += 1;
        let id = ConclusionId::new(&self.representation, at, &[&self.made.to_string()]);
        let uid = |name: &str| SessionUid::trusted(name);
        self.conclusions.push(Conclusion {
            id: id.clone(),
            content: content.to_owned(),
            level,
            session: session.map(|name| SessionRef {
                uid: uid(name),
                name: SessionName::trusted(name),
            }),
            created_at: at,
            event_at: at,
            times_derived: 1,
            sources,
            support: session
                .map(|name| Support {
                    session: uid(name),
                    messages: vec![Seq(1)],
                })
                .into_iter()
                .collect(),
            pattern,
            origin: if level == Level::Explicit {
                Origin::Deriver
            } else {
                Origin::Dream(RunId::trusted("run"))
            },
            embedding: None,
        });
        self.conclusions.sort_by_key(|c| (c.created_at, c.id.clone()));
        id
    }

    fn find(&self, id: &ConclusionId) -> &Conclusion {
        self.conclusions.iter().find(|c| c.id == *id).expect("the id is live")
    }

    fn think(&self, phase: Phase, turn: u32) -> Thought {
        now(Offline.think(ThinkRequest {
            phase,
            turn,
            observer: &self.peer,
            observed: &self.peer,
            conclusions: &self.conclusions,
            card: self.card.as_deref(),
            card_allowed: true,
            instructions: None,
            card_instructions: None,
            last_dream_at: None,
            nothing_new: false,
            earlier: &[],
            outcomes: &[],
            messages: &NoSources,
        }))
        .expect("thinking never fails")
    }

    /// Applies one operation as the toolbox would: equal text of a level is reinforced, never doubled.
    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create {
                level,
                content,
                sources,
                pattern,
                replaces,
            } => {
                assert!(
                    *level != Level::Explicit && sources.len() >= level.min_sources(),
                    "{operation:?}"
                );
                let at = sources
                    .iter()
                    .map(|id| self.find(id).event_at)
                    .max()
                    .expect("it has sources");
                let key = crate::text::normalise(content);
                let known = self
                    .conclusions
                    .iter_mut()
                    .find(|c| c.level == *level && crate::text::normalise(&c.content) == key);
                if let Some(known) = known {
                    let before = known.sources.len();
                    for source in sources {
                        if !known.sources.contains(source) {
                            known.sources.push(source.clone());
                        }
                    }
                    assert!(
                        known.sources.len() > before || !replaces.is_empty(),
                        "nothing new in {operation:?}"
                    );
                } else {
                    self.add(content, *level, None, at, sources.clone(), *pattern);
                }
                for (id, reason) in replaces {
                    self.remove(id, *reason, Some(content.clone()));
                }
            }
            Operation::Merge { keep, duplicates } => {
                let (kept, level) = (self.find(keep).content.clone(), self.find(keep).level);
                for id in duplicates {
                    assert!(id != keep && self.find(id).level == level, "{operation:?}");
                    let support = self.find(id).support.clone();
                    let into = self.conclusions.iter_mut().find(|c| c.id == *keep).expect("it is live");
                    merge_support(&mut into.support, &support);
                    into.times_derived += 1;
                    self.remove(id, RemovalReason::Duplicate, Some(kept.clone()));
                }
            }
            Operation::Remove {
                ids,
                reason,
                replaced_by,
            } => {
                let by = replaced_by.as_ref().map(|id| self.find(id).content.clone());
                for id in ids {
                    self.remove(id, *reason, by.clone());
                }
            }
            Operation::Card { entries } => {
                assert!(!entries.is_empty() && entries.len() <= 40);
                for entry in entries {
                    assert!(entry.text.chars().count() <= 200, "{entry:?}");
                    entry.conclusions.iter().for_each(|id| _ = self.find(id));
                }
                self.card = Some(entries.clone());
            }
        }
    }

    fn remove(&mut self, id: &ConclusionId, reason: RemovalReason, by: Option<String>) {
        let place = self
            .conclusions
            .iter()
            .position(|c| c.id == *id)
            .expect("the id is live");
        let gone = self.conclusions.remove(place);
        self.removed.push((gone.content, reason, by));
    }

    /// A whole dream; returns the operations.
    fn dream(&mut self) -> Vec<Operation> {
        let mut all = Vec::new();
        for phase in [Phase::Deduction, Phase::Induction] {
            for turn in 0.. {
                assert!(turn < super::MAX_TURNS, "the phase does not end: {all:?}");
                let thought = self.think(phase, turn);
                for operation in &thought.operations {
                    self.apply(operation);
                }
                all.extend(thought.operations);
                if thought.done {
                    break;
                }
            }
        }
        all
    }

    /// A dream, after which a second one must have nothing to do.
    fn dream_to_rest(&mut self) {
        self.dream();
        let again = self.clone().dream();
        assert_eq!(again, Vec::new(), "a second dream over the same changes nothing");
    }

    fn texts(&self, level: Level) -> Vec<&str> {
        self.conclusions
            .iter()
            .filter(|c| c.level == level)
            .map(|c| c.content.as_str())
            .collect()
    }

    fn holds(&self, content: &str) -> bool {
        self.conclusions.iter().any(|c| c.content == content)
    }

    fn card(&self) -> Vec<&str> {
        self.card.iter().flatten().map(|e| e.text.as_str()).collect()
    }
}
