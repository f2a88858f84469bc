//! Small representations, and arbitrary ones, for the tests of the toolbox and of undo.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{Desk, Limits, Operation, Place, plan, tombstone};
use crate::conclusion::{CardEntry, Conclusion, Level, Origin, SessionRef, Support};
use crate::id::{ConclusionId, PeerName, RepresentationId, RunId, Seq, SessionName, SessionUid, WorkspaceUid};
use crate::run::{Change, RemovalReason};
use crate::time::Time;

pub(crate) const LIMITS: Limits = Limits {
    shrink: 0.5,
    card_allowed: true,
};

fn representation(observed: &str) -> RepresentationId {
    let workspace = WorkspaceUid::trusted("w");
    RepresentationId::of(&workspace, &PeerName::trusted("maya"), &PeerName::trusted(observed))
}

/// The n-th conclusion of the fixture; it is on the desk only if it was put there.
pub(crate) fn id(n: u32) -> ConclusionId {
    ConclusionId::new(&representation("maya"), Time::from_seconds(n.into()), &["fixture"])
}

/// A conclusion of another representation.
pub(crate) fn foreign() -> ConclusionId {
    ConclusionId::new(&representation("omar"), Time::from_seconds(1), &["fixture"])
}

pub(crate) fn session(n: u32) -> SessionRef {
    SessionRef {
        uid: SessionUid::trusted(format!("uid{n}")),
        name: SessionName::trusted(format!("s{n}")),
    }
}

/// Said in message n of session 1 at second n, and received then.
pub(crate) fn explicit(n: u32, content: &str) -> Conclusion {
    Conclusion {
        id: id(n),
        content: content.to_owned(),
        level: Level::Explicit,
        session: Some(session(1)),
        created_at: Time::from_seconds(n.into()),
        event_at: Time::from_seconds(n.into()),
        times_derived: 1,
        sources: Vec::new(),
        support: vec![Support {
            session: session(1).uid,
            messages: vec![Seq(n.into())],
        }],
        pattern: None,
        origin: Origin::Deriver,
        embedding: None,
    }
}

/// The same, said in another session.
pub(crate) fn explicit_in(place: u32, n: u32, content: &str) -> Conclusion {
    let mut conclusion = explicit(n, content);
    conclusion.support[0].session = session(place).uid;
    conclusion.session = Some(session(place));
    conclusion
}

/// Concluded by an earlier dream at second n.
pub(crate) fn derived(n: u32, level: Level, content: &str, sources: &[u32]) -> Conclusion {
    Conclusion {
        level,
        session: None,
        sources: sources.iter().map(|n| id(*n)).collect(),
        support: Vec::new(),
        origin: Origin::Dream(place(0).run),
        ..explicit(n, content)
    }
}

pub(crate) fn entry(text: &str, conclusions: &[u32]) -> CardEntry {
    CardEntry {
        text: text.to_owned(),
        conclusions: conclusions.iter().map(|n| id(*n)).collect(),
    }
}

/// The first operation of the n-th run, which was claimed at second 10 000 n.
pub(crate) fn place(run: u32) -> Place {
    let at = Time::from_seconds(i64::from(run) * 10_000);
    Place {
        run: RunId::new(&representation("maya"), at, &["run"]),
        at,
        turn: 0,
        call: 0,
    }
}

pub(crate) fn create(level: Level, content: &str, sources: &[u32], replaces: &[(u32, RemovalReason)]) -> Operation {
    Operation::Create {
        level,
        content: content.to_owned(),
        sources: sources.iter().map(|n| id(*n)).collect(),
        pattern: None,
        replaces: replaces.iter().map(|(n, reason)| (id(*n), *reason)).collect(),
    }
}

pub(crate) fn merge(keep: u32, duplicates: impl IntoIterator<Item = u32>) -> Operation {
    Operation::Merge {
        keep: id(keep),
        duplicates: duplicates.into_iter().map(id).collect(),
    }
}

pub(crate) fn remove(ids: impl IntoIterator<Item = u32>, replaced_by: Option<u32>) -> Operation {
    Operation::Remove {
        ids: ids.into_iter().map(id).collect(),
        reason: RemovalReason::Superseded,
        replaced_by: replaced_by.map(id),
    }
}

/// Plans, applies, and gives the changes in order; none when the operation is refused.
pub(crate) fn carry_out(desk: &mut Desk, operation: &Operation, limits: &Limits, place: &Place) -> Vec<Change> {
    let steps = plan(operation, desk, limits, place).unwrap_or_default();
    for step in &steps {
        desk.apply_step(step);
    }
    steps.into_iter().flat_map(|step| step.changes).collect()
}

const LEVELS: [Level; 4] = [
    Level::Explicit,
    Level::Deductive,
    Level::Inductive,
    Level::Contradiction,
];
const TEXTS: [&str; 6] = [
    "Maya likes tea",
    "maya  LIKES tea",
    "Maya likes coffee",
    "马雅住在利马",
    "Maya moved",
    " \0 ",
];
const ENTRIES: [&str; 6] = [
    "IDENTITY: Maya",
    "IDENTITY:  maya",
    "ATTRIBUTE: likes tea",
    "RELATIONSHIP: sister of Omar",
    "likes tea",
    "ATTRIBUTE: ",
];

/// An operation whose conclusions are numbers, of which some come to lie outside the desk.
#[derive(Clone, Debug)]
pub(crate) enum Draft {
    Create(usize, usize, Vec<usize>, Vec<usize>),
    Merge(usize, Vec<usize>),
    Remove(Vec<usize>, Option<usize>),
    Card(Vec<(usize, Vec<usize>)>),
}

impl Draft {
    /// The operation on the desk as it is now.
    pub(crate) fn on(&self, desk: &Desk) -> Operation {
        let known: Vec<_> = desk.conclusions().keys().cloned().collect();
        let pick = |n: &usize| match n % (known.len() + 2) {
            n if n < known.len() => known[n].clone(),
            n if n == known.len() => id(9_999),
            _ => foreign(),
        };
        let all = |ns: &[usize]| ns.iter().map(pick).collect::<Vec<_>>();
        match self {
            Self::Create(level, text, sources, replaces) => Operation::Create {
                level: LEVELS[*level],
                content: TEXTS[*text].to_owned(),
                sources: all(sources),
                pattern: None,
                replaces: all(replaces)
                    .into_iter()
                    .map(|id| (id, RemovalReason::Superseded))
                    .collect(),
            },
            Self::Merge(keep, duplicates) => Operation::Merge {
                keep: pick(keep),
                duplicates: all(duplicates),
            },
            Self::Remove(ids, replaced_by) => Operation::Remove {
                ids: all(ids),
                reason: RemovalReason::Other,
                replaced_by: replaced_by.as_ref().map(pick),
            },
            Self::Card(entries) => Operation::Card {
                entries: entries
                    .iter()
                    .map(|(text, conclusions)| CardEntry {
                        text: ENTRIES[*text].to_owned(),
                        conclusions: all(conclusions),
                    })
                    .collect(),
            },
        }
    }
}

pub(crate) fn any_draft() -> impl Strategy<Value = Draft> {
    let few = || vec(0..60_usize, 0..5);
    let many = || prop_oneof![3 => vec(0..60_usize, 0..5), 1 => vec(0..60_usize, 20..50)];
    prop_oneof![
        4 => (0..4_usize, 0..TEXTS.len(), few(), many()).prop_map(|(l, t, s, r)| Draft::Create(l, t, s, r)),
        2 => (0..60_usize, many()).prop_map(|(keep, duplicates)| Draft::Merge(keep, duplicates)),
        2 => (many(), option::of(0..60_usize)).prop_map(|(ids, by)| Draft::Remove(ids, by)),
        1 => vec((0..ENTRIES.len(), few()), 0..4).prop_map(Draft::Card),
    ]
}

pub(crate) fn any_limits() -> impl Strategy<Value = Limits> {
    (prop::sample::select(vec![0.0, 0.29, 0.5, 1.0]), any::<bool>())
        .prop_map(|(shrink, card_allowed)| Limits { shrink, card_allowed })
}

/// A desk of up to 45 conclusions, often all of one level, with equal texts among them, a card, and tombstones of texts
/// that are not on it.
pub(crate) fn any_desk() -> impl Strategy<Value = Desk> {
    let levels = prop_oneof![vec(0..4_usize, 45), (0..4_usize).prop_map(|level| vec![level; 45])];
    let rows = vec((0..5_usize, 1..3_u32, vec(0..45_u32, 0..4), 1..4_u32), 0..45);
    let card = option::of(vec((0..ENTRIES.len(), vec(0..45_u32, 0..3)), 0..3));
    let erased = vec((0..5_usize, 0..60_u32), 0..3);
    (levels, rows, card, erased).prop_map(|(levels, rows, card, erased)| {
        let conclusions: Vec<_> = (0..)
            .zip(rows.iter().zip(levels))
            .map(|(n, ((text, place, sources, times_derived), level))| {
                let sources: Vec<_> = sources.iter().copied().filter(|source| *source < n).collect();
                let mut conclusion = match LEVELS[level] {
                    Level::Explicit => explicit_in(*place, n, TEXTS[*text]),
                    level => derived(n, level, TEXTS[*text], &sources),
                };
                conclusion.times_derived = *times_derived;
                conclusion
            })
            .collect();
        let mut desk = Desk::new(conclusions);
        desk.card = card.map(|entries| entries.iter().map(|(text, on)| entry(ENTRIES[*text], on)).collect());
        for (text, at) in erased {
            if LEVELS.iter().all(|level| {
                desk.texts
                    .keys()
                    .all(|key| *key != (*level, crate::text::normalise(TEXTS[text])))
            }) {
                let stone = tombstone(&desk.tombstone_key, TEXTS[text]);
                desk.tombstones.insert(stone, Time::from_seconds(at.into()));
            }
        }
        desk
    })
}
