//! A representation in memory that is derived and dreamt over as the engine does it, through the real toolbox, and the
//! score of labelled cases. Used by the command beside it and by the crate's own test of the bars.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::Deserialize;

use super::host::conclusion::{Conclusion, Level, Origin, SessionRef, Support};
use super::host::id::{ConclusionId, PeerName, RepresentationId, RunId, Seq, SessionName, SessionUid, WorkspaceUid};
use super::host::message::Message;
use super::host::offline::Offline;
use super::host::reasoner::{DeriveRequest, NoSources, Reasoner, ThinkRequest};
use super::host::run::{Change, Phase, RemovalReason};
use super::host::time::Time;
use super::host::toolbox::{Desk, Limits, Operation, Outcome, Place, plan};

const LIMITS: Limits = Limits {
    shrink: 0.5,
    card_allowed: true,
};

/// The result of a future that never waits, as all of the offline reasoner's.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("the offline reasoner never waits"),
    }
}

/// Noon of the n-th day of a year.
pub(crate) fn day(number: u64) -> Time {
    Time::from_seconds(1_704_110_400) + Duration::from_hours(24 * number)
}

/// A message of `peer`.
pub(crate) fn message(seq: u64, peer: &str, content: &str, at: Time) -> Message {
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

/// What the offline reasoner derives from messages about `peer`.
pub(crate) fn derived(messages: &[Message], peer: &str) -> Vec<super::host::reasoner::Statement> {
    let observed = [PeerName::trusted(peer)];
    let request = DeriveRequest {
        messages,
        observed: &observed,
        instructions: None,
    };
    now(Offline.derive(request)).map(|d| d.statements).unwrap_or_default()
}

/// What one dream did.
#[derive(Default)]
pub(crate) struct Dream {
    /// The operations that changed something, with the changes.
    pub(crate) done: Vec<(Operation, Vec<Change>)>,
    /// How many operations the toolbox refused.
    pub(crate) refused: usize,
}

/// What one peer is known by, and everything that ever was.
#[derive(Clone)]
pub(crate) struct World {
    peer: PeerName,
    representation: RepresentationId,
    /// What holds.
    pub(crate) desk: Desk,
    /// Every conclusion that there ever was.
    pub(crate) history: BTreeMap<ConclusionId, Conclusion>,
    runs: u32,
}

impl World {
    /// Nothing is known of the peer.
    pub(crate) fn new(peer: &str) -> Self {
        let peer = PeerName::trusted(peer);
        Self {
            representation: RepresentationId::of(&WorkspaceUid::trusted("w"), &peer, &peer),
            peer,
            desk: Desk::default(),
            history: BTreeMap::new(),
            runs: 0,
        }
    }

    /// Derives from the messages of a session and keeps what they say; returns the statements.
    pub(crate) fn hear(&mut self, session: &str, messages: &[Message]) -> Vec<String> {
        let session = SessionRef {
            uid: SessionUid::trusted(session),
            name: SessionName::trusted(session),
        };
        let statements = derived(messages, self.peer.as_str());
        for statement in &statements {
            let made = self.history.len().to_string();
            let conclusion = Conclusion {
                id: ConclusionId::new(&self.representation, statement.event_at, &[&made]),
                content: statement.content.clone(),
                level: Level::Explicit,
                session: Some(session.clone()),
                created_at: statement.event_at,
                event_at: statement.event_at,
                times_derived: 1,
                sources: Vec::new(),
                support: vec![Support {
                    session: session.uid.clone(),
                    messages: statement.messages.clone(),
                }],
                pattern: None,
                origin: Origin::Deriver,
                embedding: None,
            };
            self.history.insert(conclusion.id.clone(), conclusion.clone());
            self.desk.apply(&Change::Created { conclusion });
        }
        statements.into_iter().map(|s| s.content).collect()
    }

    /// One whole dream.
    pub(crate) fn dream(&mut self) -> Dream {
        self.runs += 1;
        self.desk.total_at_claim = self.desk.conclusions().len() as u64;
        self.desk.removed_unreplaced = 0;
        let last = self.desk.conclusions().values().map(|c| c.created_at).max();
        let mut place = Place {
            run: RunId::trusted(format!("run{}", self.runs)),
            at: last.unwrap_or_default() + Duration::from_hours(24),
            turn: 0,
            call: 0,
        };
        let mut dream = Dream::default();
        for phase in [Phase::Deduction, Phase::Induction] {
            let mut outcomes: Vec<Outcome> = Vec::new();
            for turn in 0..20 {
                let conclusions: Vec<Conclusion> = self.desk.conclusions().values().cloned().collect();
                let thought = now(Offline.think(ThinkRequest {
                    phase,
                    turn,
                    observer: &self.peer,
                    observed: &self.peer,
                    conclusions: &conclusions,
                    card: self.desk.card.as_deref(),
                    card_allowed: true,
                    instructions: None,
                    card_instructions: None,
                    last_dream_at: None,
                    nothing_new: false,
                    earlier: &[],
                    outcomes: &outcomes,
                    messages: &NoSources,
                }))
                .unwrap_or_default();
                outcomes.clear();
                for (call, operation) in (0..).zip(thought.operations) {
                    place.call = call;
                    match plan(&operation, &self.desk, &LIMITS, &place) {
                        Ok(steps) => {
                            let changes: Vec<Change> = steps.into_iter().flat_map(|s| s.changes).collect();
                            for change in &changes {
                                self.desk.apply(change);
                                if let Change::Created { conclusion } = change {
                                    self.history.insert(conclusion.id.clone(), conclusion.clone());
                                }
                            }
                            if !changes.is_empty() {
                                dream.done.push((operation, changes));
                            }
                            outcomes.push(Outcome::Done);
                        }
                        Err(why) => outcomes.push(Outcome::Refused(why)),
                    }
                }
                dream.refused += outcomes.iter().filter(|o| matches!(o, Outcome::Refused(_))).count();
                place.turn += 1;
                if thought.done {
                    break;
                }
            }
        }
        dream
    }

    /// How many derived conclusions rest on nothing, or on sources that do not support them.
    ///
    /// Support is judged by replay: the sources alone, dreamt over, must yield the conclusion again; failing that, every
    /// number and name in it must stand in a source. Patterns must come from several statements of several occasions.
    pub(crate) fn unsupported(&self) -> Vec<&Conclusion> {
        let derived = self.desk.conclusions().values().filter(|c| c.level != Level::Explicit);
        derived.filter(|c| !self.is_supported(c)).collect()
    }

    fn is_supported(&self, conclusion: &Conclusion) -> bool {
        let sources: Option<Vec<&Conclusion>> = conclusion.sources.iter().map(|id| self.history.get(id)).collect();
        let Some(sources) = sources.filter(|s| s.len() >= conclusion.level.min_sources()) else {
            return false;
        };
        let occasions: BTreeSet<String> = sources
            .iter()
            .map(|c| {
                c.session
                    .as_ref()
                    .map_or_else(|| c.event_at.to_date(), |s| s.uid.as_str().to_owned())
            })
            .collect();
        match conclusion.level {
            Level::Inductive => occasions.len() >= 2,
            Level::Contradiction => sources
                .iter()
                .all(|s| conclusion.content.contains(s.content.trim_end_matches('.'))),
            _ => {
                let mut replay = Self::new(self.peer.as_str());
                replay.desk = Desk::new(sources.iter().map(|c| (*c).clone()));
                replay.dream();
                replay.history.values().any(|c| c.content == conclusion.content) || {
                    let said: Vec<String> = sources.iter().flat_map(|s| names(&s.content)).collect();
                    let named: Vec<String> = names(&conclusion.content)
                        .into_iter()
                        .filter(|n| *n != self.peer.as_str().to_lowercase())
                        .collect();
                    !named.is_empty() && named.iter().all(|n| said.contains(n))
                }
            }
        }
    }

    /// The pairs that a dream merged although, by a second opinion, they differ in something that matters.
    pub(crate) fn suspect_merges(&self, dream: &Dream) -> Vec<(String, String)> {
        let changes = dream.done.iter().flat_map(|(_, changes)| changes);
        changes
            .filter_map(|change| match change {
                Change::Removed {
                    conclusion,
                    reason: RemovalReason::Duplicate,
                    replaced_by: Some(by),
                } => Some((conclusion.content.clone(), self.history.get(by)?.content.clone())),
                _ => None,
            })
            .filter(|(a, b)| differ(a, b))
            .collect()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Names and numbers of a text, in lower case.
fn names(text: &str) -> Vec<String> {
    words(text)
        .into_iter()
        .skip(1)
        .filter(|w| w.chars().next().is_some_and(|c| c.is_uppercase() || c.is_numeric()))
        .map(|w| w.trim_end_matches("'s").to_lowercase())
        .collect()
}

/// The second opinion on a merge, which shares nothing with the rules: names, numbers and denials must be the same, and
/// no more than two other words may differ.
fn differ(a: &str, b: &str) -> bool {
    let number = |w: &str| {
        let small = [
            "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        ];
        let place = small.iter().position(|s| *s == w);
        let tens = ["twenty", "thirty", "forty", "fifty"].iter().position(|s| *s == w);
        let value = place.map(|p| p + 1).or(tens.map(|p| p * 10 + 20));
        value.map_or_else(|| w.to_owned(), |v| v.to_string())
    };
    let bag = |text: &str| {
        let mut all: Vec<String> = words(text)
            .iter()
            .map(|w| number(&w.to_lowercase().replace("n't", " not").replace("cannot", "can not")))
            .flat_map(|w| w.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        all.sort_unstable();
        all
    };
    let (a, b) = (bag(a), bag(b));
    let surplus =
        |a: &[String], b: &[String]| -> Vec<String> { a.iter().filter(|w| !b.contains(w)).cloned().collect() };
    let rest = [surplus(&a, &b), surplus(&b, &a)].concat();
    let grave = |w: &String| {
        w.chars().any(|c| c.is_numeric() || !c.is_ascii())
            || ["no", "not", "never", "without", "only", "almost", "before", "after"].contains(&w.as_str())
    };
    rest.iter().any(grave) || rest.len() > 4
}

/// A labelled case; the format is described in `shared/core/quality/README.md`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) id: String,
    /// Day, speaker, text.
    pub(crate) said: Vec<(u64, String, String)>,
    /// Messages that are no longer true at the end.
    #[serde(default)]
    pub(crate) gone: Vec<u64>,
    /// Where such a message says more than what is outdated: a statement is stale only with one of these words.
    #[serde(default)]
    pub(crate) stale: Vec<String>,
    /// Groups of messages that say the same.
    #[serde(default)]
    pub(crate) same: Vec<Vec<u64>>,
    /// Messages that cannot both be right, where it cannot be told which is.
    #[serde(default)]
    pub(crate) clash: Vec<u64>,
    /// Whether resolving the clash in favour of one side is accepted, too.
    #[serde(default)]
    pub(crate) loose: bool,
    /// All that should be derived: the peer, and words that the statement must have.
    pub(crate) finds: Option<Vec<Vec<String>>>,
    /// What the card must have: words that one entry must have. Empty: there must be none.
    pub(crate) card: Option<Vec<Vec<String>>>,
}

/// The score over cases.
#[derive(Debug, Default)]
pub(crate) struct Score {
    /// Single-valued facts that changed, and how many of them were superseded.
    pub(crate) updates: (usize, usize),
    /// Outdated facts that were never derived: neither stale nor superseded.
    pub(crate) unheard: usize,
    /// Outdated facts left.
    pub(crate) stale: usize,
    /// Duplicates in the cases, and how many went.
    pub(crate) duplicates: (usize, usize),
    /// Merges of what is not the same.
    pub(crate) wrong_merges: usize,
    /// Removals, other than merges, of what still holds.
    pub(crate) wrong_supersessions: usize,
    /// Contradictions in the cases, and how many were found.
    pub(crate) contradictions: (usize, usize),
    /// Contradictions stated where there is none.
    pub(crate) false_contradictions: usize,
    /// Statements expected of the cases of extraction, and how many were derived.
    pub(crate) expected: (usize, usize),
    /// Statements derived there, and how many of them were expected.
    pub(crate) statements: (usize, usize),
    /// Card entries expected, and found.
    pub(crate) card: (usize, usize),
    /// Cards that should have been empty.
    pub(crate) false_cards: usize,
    /// Derived conclusions, and how many of them rest on sources that support them.
    pub(crate) evidence: (usize, usize),
    /// Operations of second dreams, and refused ones.
    pub(crate) second: usize,
    /// What went wrong, in words.
    pub(crate) failures: Vec<String>,
}

impl Score {
    /// Judges a case.
    pub(crate) fn add(&mut self, case: &Case) {
        if let Some(finds) = &case.finds {
            self.extraction(case, finds);
            return;
        }
        let (mut world, mut previous) = (World::new("maya"), 0);
        let mut session: Vec<Message> = Vec::new();
        for (seq, (number, speaker, text)) in (1_u64..).zip(&case.said) {
            if *number != previous && !session.is_empty() {
                world.hear(&format!("day {previous}"), &std::mem::take(&mut session));
            }
            previous = *number;
            session.push(message(
                seq,
                speaker,
                text,
                day(*number) + Duration::from_secs(20 * seq),
            ));
        }
        world.hear(&format!("day {previous}"), &session);
        let heard: BTreeSet<u64> = world.desk.conclusions().values().flat_map(messages_of).collect();
        let dream = world.dream();
        let second = world.clone().dream();
        self.second += second.done.len() + second.refused + dream.refused;
        if !second.done.is_empty() || dream.refused > 0 {
            self.fail(
                case,
                format!("a second dream goes on: {:?}, {} refused", second.done, dream.refused),
            );
        }
        let derived = world
            .desk
            .conclusions()
            .values()
            .filter(|c| c.level != Level::Explicit)
            .count();
        let unsupported: Vec<String> = world.unsupported().iter().map(|c| c.content.clone()).collect();
        self.evidence.0 += derived;
        self.evidence.1 += derived - unsupported.len();
        if !unsupported.is_empty() {
            self.fail(case, format!("without evidence: {unsupported:?}"));
        }
        let before = self.failures.len();
        self.removals(case, &world, &dream, &heard);
        self.clashes(case, &world);
        self.card(case, &world);
        let left: Vec<&str> = world.desk.conclusions().values().map(|c| c.content.as_str()).collect();
        if self.failures.len() > before {
            self.fail(case, format!("in the end: {left:?}"));
        }
    }

    fn fail(&mut self, case: &Case, what: impl std::fmt::Display) {
        self.failures.push(format!("{}: {what}", case.id));
    }

    fn removals(&mut self, case: &Case, world: &World, dream: &Dream, heard: &BTreeSet<u64>) {
        let explicit = || world.desk.conclusions().values().filter(|c| c.level == Level::Explicit);
        for seq in &case.gone {
            self.updates.0 += 1;
            let stale = |text: &str| case.stale.is_empty() || case.stale.iter().any(|word| text.contains(word));
            if explicit().any(|c| messages_of(c).any(|of| of == *seq) && stale(&c.content)) {
                self.stale += 1;
                self.fail(case, format!("message {seq} is stale and left"));
            } else if heard.contains(seq) {
                self.updates.1 += 1;
            } else {
                self.unheard += 1;
                self.fail(case, format!("message {seq} was not derived"));
            }
        }
        for group in &case.same {
            self.duplicates.0 += group.len() - 1;
            let left = explicit()
                .filter(|c| messages_of(c).any(|seq| group.contains(&seq)))
                .count();
            if group.iter().all(|seq| heard.contains(seq)) {
                self.duplicates.1 += group.len() - left;
            }
            if left != 1 || !group.iter().all(|seq| heard.contains(seq)) {
                self.fail(case, "duplicates left");
            }
        }
        for change in dream.done.iter().flat_map(|(_, changes)| changes) {
            let Change::Removed {
                conclusion,
                reason,
                replaced_by,
            } = change
            else {
                continue;
            };
            if conclusion.level != Level::Explicit {
                continue;
            }
            let by = replaced_by.as_ref().and_then(|id| world.history.get(id));
            let of: Vec<u64> = messages_of(conclusion).collect();
            let note = format!("{reason:?}: {} by {:?}", conclusion.content, by.map(|c| &c.content));
            if *reason == RemovalReason::Duplicate {
                let with: Vec<u64> = by.into_iter().flat_map(messages_of).collect();
                let right = |seq: &u64| {
                    case.same
                        .iter()
                        .any(|g| g.contains(seq) && with.iter().all(|w| g.contains(w)))
                };
                if !of.iter().all(right) {
                    self.wrong_merges += 1;
                    self.fail(case, note);
                }
            } else if !of
                .iter()
                .all(|seq| case.gone.contains(seq) || (case.loose && case.clash.contains(seq)))
            {
                self.wrong_supersessions += 1;
                self.fail(case, note);
            }
        }
    }

    fn clashes(&mut self, case: &Case, world: &World) {
        let stated = world
            .desk
            .conclusions()
            .values()
            .filter(|c| c.level == Level::Contradiction);
        let stated: Vec<BTreeSet<u64>> = stated
            .map(|c| {
                c.sources
                    .iter()
                    .filter_map(|id| world.history.get(id))
                    .flat_map(messages_of)
                    .collect()
            })
            .collect();
        let wanted: BTreeSet<u64> = case.clash.iter().copied().collect();
        if !wanted.is_empty() {
            self.contradictions.0 += 1;
            let live: BTreeSet<u64> = world.desk.conclusions().values().flat_map(messages_of).collect();
            let resolved = case.loose && live.intersection(&wanted).count() == 1;
            if resolved || stated.contains(&wanted) {
                self.contradictions.1 += 1;
            } else {
                self.fail(case, "contradiction missed");
            }
        }
        for other in stated.iter().filter(|s| **s != wanted) {
            self.false_contradictions += 1;
            self.fail(case, format!("no contradiction: {other:?}"));
        }
    }

    fn card(&mut self, case: &Case, world: &World) {
        let Some(wanted) = &case.card else { return };
        let card: Vec<&str> = world.desk.card.iter().flatten().map(|e| e.text.as_str()).collect();
        for parts in wanted {
            self.card.0 += 1;
            if card.iter().any(|entry| has_all(entry, parts)) {
                self.card.1 += 1;
            } else {
                self.fail(case, format!("card lacks {parts:?}: {card:?}"));
            }
        }
        if wanted.is_empty() && !card.is_empty() {
            self.false_cards += 1;
            self.fail(case, format!("card should be empty: {card:?}"));
        }
    }

    fn extraction(&mut self, case: &Case, finds: &[Vec<String>]) {
        let messages: Vec<Message> = (1_u64..)
            .zip(&case.said)
            .map(|(seq, (number, speaker, text))| message(seq, speaker, text, day(*number)))
            .collect();
        let peers: BTreeSet<&String> = case.said.iter().map(|(_, speaker, _)| speaker).collect();
        let statements: Vec<(&String, String)> = peers
            .into_iter()
            .flat_map(|peer| derived(&messages, peer).into_iter().map(move |s| (peer, s.content)))
            .collect();
        let fits = |find: &[String], (peer, text): &(&String, String)| {
            find.split_first()
                .is_some_and(|(who, parts)| who == *peer && has_all(text, parts))
        };
        for find in finds {
            self.expected.0 += 1;
            if statements.iter().any(|s| fits(find, s)) {
                self.expected.1 += 1;
            } else {
                self.fail(case, format!("not derived: {find:?} {statements:?}"));
            }
        }
        for statement in &statements {
            self.statements.0 += 1;
            if finds.iter().any(|find| fits(find, statement)) {
                self.statements.1 += 1;
            } else {
                self.fail(case, format!("derived: {}", statement.1));
            }
        }
    }
}

fn has_all(text: &str, parts: &[String]) -> bool {
    let text = text.to_lowercase();
    parts.iter().all(|part| text.contains(&part.to_lowercase()))
}

fn messages_of(conclusion: &Conclusion) -> impl Iterator<Item = u64> {
    conclusion
        .support
        .iter()
        .flat_map(|s| s.messages.iter().map(|seq| seq.0))
}

/// The score of the cases of a JSON-lines file.
pub(crate) fn score(lines: &str) -> serde_json::Result<Score> {
    let mut score = Score::default();
    for line in lines.lines() {
        score.add(&serde_json::from_str(line)?);
    }
    Ok(score)
}
