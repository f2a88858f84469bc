//! Undo: what takes a run's changes back, as far as nothing has touched them since (`design.md` section 6).

use std::collections::BTreeMap;

use crate::conclusion::{CardEntry, Conclusion};
use crate::id::ConclusionId;
use crate::run::{Change, Conflict, RemovalReason, Strength};
use crate::time::Time;
use crate::toolbox::{Desk, Step, pack, tombstone};

#[cfg(test)]
mod tests;

/// What an undo run is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoPlan {
    /// The changes that take the run back, restorations first. The shrink guard does not hold for them.
    pub steps: Vec<Step>,
    /// The changes that are left as they are, and what stood in the way.
    pub conflicts: Vec<Conflict>,
}

/// Plans to take back a run that was claimed at `claimed_at` and left this change record, in the order recorded.
///
/// What is already as it was before the run needs no change and is no conflict, so a second undo does nothing. `desk`
/// is the representation as it is now, with its tombstones.
pub fn plan(record: &[Change], claimed_at: Time, desk: &Desk) -> UndoPlan {
    let net = Net::of(record);
    let mut conflicts = Vec::new();
    let mut restored: Vec<Conclusion> = Vec::new();
    let mut weakened: Vec<Change> = Vec::new();
    let mut removed: BTreeMap<&ConclusionId, &Conclusion> = BTreeMap::new();
    for (id, course) in net.conclusions {
        let live = desk.get(id);
        let now = live.map(Strength::of);
        if course.before == course.after || now == course.before {
            continue;
        }
        if now != course.after {
            let since = if live.is_some() { "changed" } else { "removed" };
            conflicts.push(conflict(Some(id), &format!("it was {since} since")));
            continue;
        }
        match (course.before, now, live) {
            (None, _, Some(live)) => {
                removed.insert(id, live);
            }
            (Some(before), Some(now), _) => weakened.push(Change::Reinforced {
                id: id.clone(),
                before: now,
                after: before,
            }),
            (Some(before), None, _) => restored.extend(course.text.map(|text| {
                let mut conclusion = text.clone();
                before.put_on(&mut conclusion);
                conclusion
            })),
            (None, _, None) => {}
        }
    }

    restored.retain(|conclusion| {
        let obstacle = obstacle(conclusion, &removed, claimed_at, desk);
        conflicts.extend(obstacle.map(|reason| conflict(Some(&conclusion.id), reason)));
        obstacle.is_none()
    });

    let mut units = Vec::new();
    for conclusion in restored {
        // What says the same and is to go must go in the same step: there may be but one of them at a time.
        let makes_room: Vec<_> = equals(&conclusion, desk)
            .filter_map(|equal| removed.remove(&equal.id))
            .collect();
        let mut unit = vec![Change::Created { conclusion }];
        unit.extend(makes_room.into_iter().map(removal));
        units.push(unit);
    }
    units.extend(weakened.into_iter().map(|change| vec![change]));
    match net.card {
        Some((before, after)) if before != after && desk.card != *before => {
            if desk.card == *after {
                units.push(vec![Change::Card {
                    before: after.clone(),
                    after: before.clone(),
                }]);
            } else {
                conflicts.push(conflict(None, "the card was changed since"));
            }
        }
        _ => {}
    }
    units.extend(removed.into_values().map(|live| vec![removal(live)]));
    UndoPlan {
        steps: pack(units, desk),
        conflicts,
    }
}

/// What keeps a removed conclusion from being restored. That an equal one stood beside it before the run does not.
fn obstacle(
    conclusion: &Conclusion,
    removed: &BTreeMap<&ConclusionId, &Conclusion>,
    claimed_at: Time,
    desk: &Desk,
) -> Option<&'static str> {
    let erased_at = desk
        .tombstones
        .get(&tombstone(&desk.tombstone_key, &conclusion.content));
    if erased_at.is_some_and(|at| *at >= conclusion.created_at) {
        return Some("its text was erased");
    }
    equals(conclusion, desk)
        .any(|equal| equal.created_at >= claimed_at && !removed.contains_key(&equal.id))
        .then_some("an equal conclusion was made since")
}

fn equals<'a>(conclusion: &'a Conclusion, desk: &'a Desk) -> impl Iterator<Item = &'a Conclusion> {
    desk.equals(conclusion.level, conclusion.session.as_ref(), &conclusion.content)
}

fn removal(live: &Conclusion) -> Change {
    Change::Removed {
        conclusion: live.clone(),
        reason: RemovalReason::Other,
        replaced_by: None,
    }
}

fn conflict(conclusion: Option<&ConclusionId>, reason: &str) -> Conflict {
    Conflict {
        conclusion: conclusion.cloned(),
        reason: reason.to_owned(),
    }
}

type Card = Option<Vec<CardEntry>>;

/// A record folded: what the run as a whole made of each conclusion and of the card.
#[derive(Default)]
struct Net<'a> {
    conclusions: BTreeMap<&'a ConclusionId, Course<'a>>,
    /// Before its first change and after its last.
    card: Option<(&'a Card, &'a Card)>,
}

/// One conclusion's way through the run: its values before and after, `None` where it did not exist.
struct Course<'a> {
    before: Option<Strength>,
    after: Option<Strength>,
    /// The conclusion as the run last removed it.
    text: Option<&'a Conclusion>,
}

impl<'a> Net<'a> {
    fn of(record: &'a [Change]) -> Self {
        let mut net = Self::default();
        for change in record {
            match change {
                Change::Created { conclusion } => {
                    net.step(&conclusion.id, None, Some(Strength::of(conclusion)));
                }
                Change::Removed { conclusion, .. } => {
                    let course = net.step(&conclusion.id, Some(Strength::of(conclusion)), None);
                    course.text = Some(conclusion);
                }
                Change::Reinforced { id, before, after } => {
                    net.step(id, Some(before.clone()), Some(after.clone()));
                }
                Change::Card { before, after } => {
                    net.card = Some((net.card.map_or(before, |(first, _)| first), after));
                }
            }
        }
        net
    }

    fn step(&mut self, id: &'a ConclusionId, before: Option<Strength>, after: Option<Strength>) -> &mut Course<'a> {
        let course = self.conclusions.entry(id).or_insert(Course {
            before,
            after: None,
            text: None,
        });
        course.after = after;
        course
    }
}
