//! Deduction: duplicates, updates, contradictions, implications, and the card, found at once over a representation.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::attitude::{self, Attitude};
use super::fact::{self, Clash, Fact, Kind, Relation, Slot};
use super::{card, conflict, imply, merge, same};
use crate::conclusion::{Conclusion, Level};
use crate::id::ConclusionId;
use crate::reasoner::ThinkRequest;
use crate::run::RemovalReason;
use crate::time::Time;
use crate::toolbox::Operation;

/// Two plain statements of one conversation closer than this contradict each other rather than update.
const ONE_TALK: Duration = Duration::from_hours(1);
/// The most sources that a deduction names.
const MAX_SOURCES: usize = 16;

/// A conclusion with what was read from it.
pub(super) struct View<'a> {
    /// The conclusion.
    pub(super) conclusion: &'a Conclusion,
    /// The slots that it fills; empty for patterns and contradictions.
    pub(super) facts: Vec<Fact>,
    /// The attitude that it states.
    pub(super) attitude: Option<Attitude>,
}

/// A fact of one conclusion.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    /// The place of the conclusion among the views.
    pub(super) at: usize,
    /// The fact.
    pub(super) fact: &'a Fact,
}

/// What holds now, per slot: every fact that agrees with the newest one, the newest last.
pub(super) type Current<'a> = BTreeMap<&'a Slot, Vec<Held<'a>>>;

/// What deduction proposes for the representation as it stands.
pub(super) fn operations(request: &ThinkRequest<'_>) -> Vec<Operation> {
    let peer = request.observed.as_str();
    let views = views(peer, request.conclusions);
    let mut gone = vec![false; views.len()];
    let mut operations = merge::duplicates(peer, &views, &mut gone);
    let mut desk = Desk {
        peer,
        views: &views,
        gone,
        outdated: HashSet::new(),
        conflicts: Vec::new(),
        operations: Vec::new(),
    };
    let current = desk.update_slots();
    desk.update_attitudes();
    desk.deny(conflict::denials(&views, &desk.gone, peer));
    let Desk { conflicts, gone, .. } = &mut desk;
    conflicts.retain(|(a, b)| !gone[*a] && !gone[*b]);
    operations.append(&mut desk.operations);
    operations.extend(conflict::state(&views, &desk.gone, &desk.conflicts));
    operations.extend(desk.implications(&current));
    if request.card_allowed {
        let stays = |at: usize| !desk.gone[at] && !desk.outdated.contains(&at);
        operations.extend(card::operation(peer, &views, stays, &current, request.card));
    }
    operations
}

fn views<'a>(peer: &str, conclusions: &'a [Conclusion]) -> Vec<View<'a>> {
    let mut views: Vec<View<'a>> = conclusions
        .iter()
        .map(|conclusion| {
            let plain = matches!(conclusion.level, Level::Explicit | Level::Deductive);
            View {
                conclusion,
                facts: if plain {
                    fact::read(peer, &conclusion.content)
                } else {
                    Vec::new()
                },
                attitude: plain.then(|| attitude::read(peer, &conclusion.content)).flatten(),
            }
        })
        .collect();
    settle_moves(&mut views);
    views
}

/// Decides whether "moved to X" is about a home or an employer; drops it where that cannot be told.
fn settle_moves(views: &mut [View<'_>]) {
    let mut homes: HashSet<String> = HashSet::new();
    let mut employers: HashSet<String> = HashSet::new();
    for fact in views.iter().flat_map(|v| &v.facts).filter(|f| f.moved_from.is_none()) {
        match fact.slot {
            Slot::Home => homes.insert(fact.norm.clone()),
            Slot::Employer => employers.insert(fact.norm.clone()),
            _ => false,
        };
    }
    for view in views.iter_mut() {
        let content = view.conclusion.content.to_lowercase();
        view.facts.retain_mut(|fact| {
            let Some(from) = fact.moved_from.as_deref().map(str::to_lowercase) else {
                return true;
            };
            let known = |name: &str| fact::relation(name, name) == Relation::Within;
            let job = [" job", " role", " position", " team", " as a", " company"]
                .iter()
                .any(|word| content.contains(word));
            let home = known(&fact.value) || homes.contains(&from) || (!from.is_empty() && known(&from));
            let work = fact::is_company(&fact.value)
                || employers.contains(&from)
                || (!from.is_empty() && fact::is_company(&from))
                || (job && !home);
            if home && !work {
                true
            } else if work && !known(&fact.value) {
                fact.slot = Slot::Employer;
                true
            } else {
                !work && employers.is_empty()
            }
        });
    }
}

struct Desk<'a> {
    peer: &'a str,
    views: &'a [View<'a>],
    gone: Vec<bool>,
    /// Conclusions whose fact no longer holds, also those that stay because they say more.
    outdated: HashSet<usize>,
    conflicts: Vec<(usize, usize)>,
    operations: Vec<Operation>,
}

impl<'a> Desk<'a> {
    fn conclusion(&self, at: usize) -> &'a Conclusion {
        self.views[at].conclusion
    }

    fn id(&self, at: usize) -> ConclusionId {
        self.conclusion(at).id.clone()
    }

    fn event(&self, at: usize) -> Time {
        self.conclusion(at).event_at
    }

    /// Supersedes what newer values of single-valued slots replace; returns what holds now.
    fn update_slots(&mut self) -> Current<'a> {
        let mut slots: Current<'a> = BTreeMap::new();
        for (at, view) in self.views.iter().enumerate().filter(|(at, _)| !self.gone[*at]) {
            for fact in &view.facts {
                slots.entry(&fact.slot).or_default().push(Held { at, fact });
            }
        }
        for held in slots.values_mut() {
            // A conclusion of several facts may have gone with another slot.
            held.retain(|h| !self.gone[h.at]);
            held.sort_by_key(|h| {
                let conclusion = self.conclusion(h.at);
                (
                    conclusion.event_at,
                    h.fact.kind == Kind::Change,
                    conclusion.created_at,
                    conclusion.id.clone(),
                )
            });
            self.end_facts(held);
            held.retain(|h| h.fact.kind != Kind::End && !self.outdated.contains(&h.at));
            self.update_slot(held);
        }
        slots.retain(|_, held| !held.is_empty());
        slots
    }

    /// "no longer works at Intel" ends every earlier "works at Intel".
    fn end_facts(&mut self, held: &[Held<'a>]) {
        for (place, end) in held.iter().enumerate().filter(|(_, h)| h.fact.kind == Kind::End) {
            let ended: Vec<Held<'a>> = held[..place]
                .iter()
                .filter(|h| {
                    h.fact.kind != Kind::End && h.fact.norm == end.fact.norm && self.event(h.at) < self.event(end.at)
                })
                .filter(|h| !self.outdated.contains(&h.at))
                .copied()
                .collect();
            if !ended.is_empty() {
                let removable = self.retire(&ended, |_| true);
                self.replace_by(removable, end.at, RemovalReason::Superseded);
            }
        }
    }

    /// Leaves in `held` what agrees with the newest fact.
    fn update_slot(&mut self, held: &mut Vec<Held<'a>>) {
        let Some(newest) = held.iter().rfind(|h| !h.fact.beside).copied() else {
            return;
        };
        let mut outdated: Vec<Held<'a>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for old in held.iter().filter(|h| h.at != newest.at) {
            match fact::clash(old.fact, newest.fact) {
                Clash::No => {}
                Clash::Yes if self.is_update(*old, newest) => outdated.push(*old),
                Clash::Yes | Clash::Unsure => {
                    open.push(old.at);
                    let explicit = |at: usize| self.conclusion(at).level == Level::Explicit;
                    if explicit(old.at) && explicit(newest.at) {
                        self.conflicts.push((old.at, newest.at));
                    }
                }
            }
        }
        if !outdated.is_empty() {
            self.supersede(held, newest, &outdated);
        }
        held.retain(|h| !self.outdated.contains(&h.at) && !open.contains(&h.at) && !h.fact.beside);
        held.retain(|h| h.at == newest.at || fact::clash(h.fact, newest.fact) == Clash::No);
    }

    /// Whether the newer fact comes after the older one, and not merely later in the same talk.
    fn is_update(&self, old: Held<'_>, new: Held<'_>) -> bool {
        let (before, after) = (self.conclusion(old.at), self.conclusion(new.at));
        let stated = new.fact.kind == Kind::Change;
        if before.event_at == after.event_at {
            return stated && old.fact.kind == Kind::State;
        }
        let same_talk = before.session.is_some()
            && before.session.as_ref().map(|s| &s.uid) == after.session.as_ref().map(|s| &s.uid)
            && after.event_at.since(before.event_at) < ONE_TALK;
        stated || !same_talk
    }

    fn supersede(&mut self, held: &[Held<'a>], newest: Held<'a>, outdated: &[Held<'a>]) {
        let slot = &newest.fact.slot;
        if *slot == Slot::Status && matches!(newest.fact.norm.as_str(), "engaged" | "married") {
            self.carry_partner(outdated);
        }
        let removable = self.retire(outdated, |implied| {
            !fact::read(self.peer, implied)
                .iter()
                .any(|f| f.slot == *slot && fact::clash(f, newest.fact) == Clash::No)
        });
        // A deduction that states the current value already takes the place of what goes.
        let stated = held.iter().rfind(|h| {
            self.conclusion(h.at).level == Level::Deductive
                && h.fact.norm == newest.fact.norm
                && h.fact.kind == Kind::Change
        });
        if let Some(stated) = stated {
            self.replace_by(removable, stated.at, RemovalReason::Superseded);
            return;
        }
        let Some(last) = outdated.iter().max_by_key(|h| self.event(h.at)) else {
            return;
        };
        let mut sources = vec![self.id(newest.at)];
        for old in outdated.iter().rev().take(MAX_SOURCES) {
            sources.push(self.id(old.at));
        }
        self.operations.push(Operation::Create {
            level: Level::Deductive,
            content: fact::restate(self.peer, newest.fact, last.fact),
            sources,
            pattern: None,
            replaces: removable
                .into_iter()
                .map(|at| (self.id(at), RemovalReason::Superseded))
                .collect(),
        });
    }

    /// "is engaged to Tom" goes when they marry, Tom does not: the partner is stated by itself first.
    fn carry_partner(&mut self, outdated: &[Held<'a>]) {
        for old in outdated.iter().filter(|h| h.fact.whole) {
            let Some(partner) = self.views[old.at].facts.iter().find(|f| f.slot == Slot::Partner) else {
                continue;
            };
            let elsewhere = self.views.iter().enumerate().any(|(at, view)| {
                let known = |f: &Fact| {
                    f.slot == Slot::Partner && (f.norm == partner.norm || self.event(at) > self.event(old.at))
                };
                at != old.at && !self.gone[at] && view.facts.iter().any(known)
            });
            let content = format!("{}'s partner is {}.", self.peer, partner.value);
            let said = self
                .operations
                .iter()
                .any(|o| matches!(o, Operation::Create { content: known, .. } if *known == content));
            if !elsewhere && !said {
                self.operations.push(Operation::Create {
                    level: Level::Deductive,
                    content,
                    sources: vec![self.id(old.at)],
                    pattern: None,
                    replaces: Vec::new(),
                });
            }
        }
    }

    /// Marks facts as no longer true; returns the conclusions to remove: those that say nothing else, and deductions
    /// that followed from nothing but them.
    fn retire(&mut self, facts: &[Held<'a>], may_go: impl Fn(&str) -> bool) -> Vec<usize> {
        let mut removable: Vec<usize> = Vec::new();
        for held in facts {
            self.outdated.insert(held.at);
            if held.fact.whole {
                removable.push(held.at);
            }
        }
        let implied: HashSet<String> = facts
            .iter()
            .flat_map(|h| imply::of(self.peer, &self.conclusion(h.at).content, std::slice::from_ref(h.fact)))
            .filter(|text| may_go(text))
            .collect();
        if !implied.is_empty() {
            let mut still: HashSet<String> = HashSet::new();
            for (at, view) in self.views.iter().enumerate() {
                if !self.outdated.contains(&at) && !self.gone[at] {
                    still.extend(imply::of(self.peer, &view.conclusion.content, &view.facts));
                }
            }
            for (at, view) in self.views.iter().enumerate() {
                let conclusion = view.conclusion;
                let follows = conclusion.level == Level::Deductive && implied.contains(&conclusion.content);
                if follows && !still.contains(&conclusion.content) && !self.gone[at] && !removable.contains(&at) {
                    self.outdated.insert(at);
                    removable.push(at);
                }
            }
        }
        for at in &removable {
            self.gone[*at] = true;
        }
        removable
    }

    fn replace_by(&mut self, removable: Vec<usize>, by: usize, reason: RemovalReason) {
        if removable.is_empty() {
            return;
        }
        self.operations.push(Operation::Remove {
            ids: removable.into_iter().map(|at| self.id(at)).collect(),
            reason,
            replaced_by: Some(self.id(by)),
        });
    }

    /// The newest attitude towards a thing removes earlier opposite ones (report 16).
    fn update_attitudes(&mut self) {
        let mut towards: HashMap<&str, Vec<(usize, bool)>> = HashMap::new();
        let mut order: Vec<&str> = Vec::new();
        for (at, view) in self.views.iter().enumerate().filter(|(at, _)| !self.gone[*at]) {
            if let Some(attitude) = &view.attitude {
                let held = towards.entry(attitude.object.as_str()).or_default();
                if held.is_empty() {
                    order.push(attitude.object.as_str());
                }
                held.push((at, attitude.likes));
            }
        }
        for object in order {
            let held = &towards[object];
            let newest = held
                .iter()
                .max_by_key(|(at, _)| (self.event(*at), self.conclusion(*at).created_at, self.id(*at)));
            let Some((newest, likes)) = newest.copied() else {
                continue;
            };
            let opposite: Vec<usize> = held
                .iter()
                .filter(|(_, other)| *other != likes)
                .map(|(at, _)| *at)
                .collect();
            let (earlier, equal): (Vec<usize>, Vec<usize>) = opposite
                .into_iter()
                .partition(|at| self.event(*at) < self.event(newest));
            for at in &earlier {
                self.gone[*at] = true;
            }
            self.replace_by(earlier, newest, RemovalReason::Contradicted);
            self.conflicts.extend(equal.into_iter().map(|at| (at, newest)));
        }
    }

    /// "does not drink coffee anymore" ends an earlier "drinks coffee"; other denials contradict.
    fn deny(&mut self, pairs: Vec<(usize, usize)>) {
        for (stated, denial) in pairs {
            let text = &self.conclusion(denial).content;
            let ends = text.contains("anymore") || text.contains(" no longer ") || text.contains("any more");
            if ends && self.event(stated) < self.event(denial) && !self.gone[stated] {
                self.gone[stated] = true;
                self.replace_by(vec![stated], denial, RemovalReason::Superseded);
            } else {
                self.conflicts.push((stated, denial));
            }
        }
    }

    /// What follows from what holds and is not yet said.
    fn implications(&self, current: &Current<'a>) -> Vec<Operation> {
        let said: HashSet<String> = self
            .views
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.gone[*at])
            .map(|(_, view)| same::key(&view.conclusion.content))
            .collect();
        let mut found: Vec<(String, Vec<usize>)> = Vec::new();
        for (at, view) in self.views.iter().enumerate() {
            let plain = matches!(view.conclusion.level, Level::Explicit | Level::Deductive);
            if self.gone[at] || self.outdated.contains(&at) || !plain {
                continue;
            }
            for text in imply::of(self.peer, &view.conclusion.content, &view.facts) {
                if said.contains(&same::key(&text)) || self.is_overtaken(&text, at, current) {
                    continue;
                }
                match found.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, premises)) => premises.push(at),
                    None => found.push((text, vec![at])),
                }
            }
        }
        found
            .into_iter()
            .map(|(content, premises)| Operation::Create {
                level: Level::Deductive,
                content,
                sources: premises
                    .into_iter()
                    .rev()
                    .take(MAX_SOURCES)
                    .map(|at| self.id(at))
                    .collect(),
                pattern: None,
                replaces: Vec::new(),
            })
            .collect()
    }

    /// Whether something that holds now speaks against what a premise implies.
    fn is_overtaken(&self, text: &str, premise: usize, current: &Current<'a>) -> bool {
        fact::read(self.peer, text).iter().any(|implied| {
            current
                .get(&implied.slot)
                .and_then(|held| held.last())
                .is_some_and(|newest| {
                    newest.at != premise
                        && fact::clash(implied, newest.fact) != Clash::No
                        && self.event(newest.at) >= self.event(premise)
                })
        })
    }
}
