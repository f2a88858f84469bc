//! Stating a new conclusion, or reinforcing the one that already says it.

use std::collections::BTreeSet;

use super::{Desk, Place, Rejection, Step, pack};
use crate::conclusion::{Conclusion, Level, Origin, Pattern, merge_support};
use crate::id::{ConclusionId, digest};
use crate::run::{Change, RemovalReason, Strength};
use crate::text::{normalise, without_nul};
use crate::time::Time;

/// The longest content of a conclusion, in characters (`contracts/honcho.md` section 2).
pub const MAX_CONTENT_CHARS: usize = 65_535;

/// What remains of an erased text: a digest of its normal form under the workspace's key. It holds no text, and without
/// the key no guess at the text can be checked.
pub fn tombstone(key: &str, text: &str) -> String {
    digest(&[key, &normalise(text)])
}

pub(super) fn plan(
    level: Level,
    content: &str,
    sources: &[ConclusionId],
    pattern: Option<Pattern>,
    replaces: &[(ConclusionId, RemovalReason)],
    desk: &Desk,
    place: &Place,
) -> Result<Vec<Step>, Rejection> {
    if level == Level::Explicit {
        return Err(Rejection::Explicit);
    }
    let content = clean(content)?;
    let existing = existing(level, &content, replaces, desk)?;
    let sources = distinct_sources(sources, existing, desk);
    if sources.len() < level.min_sources() {
        return Err(Rejection::Sources {
            needed: level.min_sources(),
            found: sources.len(),
        });
    }
    let live: Vec<&Conclusion> = sources.iter().filter_map(|id| desk.get(id)).collect();
    let (standing, written) = if let Some(existing) = existing {
        (existing.id.clone(), reinforced(existing, &live))
    } else {
        let conclusion = stated(level, content, &live, pattern, desk, place)?;
        (conclusion.id.clone(), Some(Change::Created { conclusion }))
    };
    let mut seen = BTreeSet::new();
    let removed = replaces
        .iter()
        .filter(|(id, _)| seen.insert(id))
        .filter_map(|(id, reason)| {
            Some(Change::Removed {
                conclusion: desk.get(id)?.clone(),
                reason: *reason,
                replaced_by: Some(standing.clone()),
            })
        });
    Ok(pack(
        written.into_iter().chain(removed).map(|change| vec![change]),
        desk,
    ))
}

fn clean(content: &str) -> Result<String, Rejection> {
    let content = without_nul(content).trim().to_owned();
    let chars = content.chars().count();
    if (1..=MAX_CONTENT_CHARS).contains(&chars) {
        Ok(content)
    } else {
        Err(Rejection::Content {
            chars,
            max: MAX_CONTENT_CHARS,
        })
    }
}

/// The conclusion that already says so at this level, if there is one that is not to be replaced.
fn existing<'a>(
    level: Level,
    content: &str,
    replaces: &[(ConclusionId, RemovalReason)],
    desk: &'a Desk,
) -> Result<Option<&'a Conclusion>, Rejection> {
    let equals: Vec<_> = desk.equals(level, None, content).collect();
    let stays = equals.iter().find(|c| replaces.iter().all(|(id, _)| *id != c.id));
    match (stays, equals.first()) {
        (None, Some(replaced)) => Err(Rejection::Itself(replaced.id.to_string())),
        (stays, _) => Ok(stays.copied()),
    }
}

/// The distinct sources that exist here, in the order given. A source that the existing conclusion already rests on
/// counts although it was removed since: the first step of this very operation may have replaced it.
fn distinct_sources<'a>(
    sources: &'a [ConclusionId],
    existing: Option<&Conclusion>,
    desk: &Desk,
) -> Vec<&'a ConclusionId> {
    let mut seen = BTreeSet::new();
    sources
        .iter()
        .filter(|id| existing.is_none_or(|e| e.id != **id))
        .filter(|id| desk.get(id).is_some() || existing.is_some_and(|e| e.sources.contains(id)))
        .filter(|id| seen.insert(*id))
        .collect()
}

/// The existing conclusion's reinforcement by sources that are new to it; none when all are known.
fn reinforced(existing: &Conclusion, sources: &[&Conclusion]) -> Option<Change> {
    let before = Strength::of(existing);
    let mut after = before.clone();
    for source in sources {
        if !after.sources.contains(&source.id) {
            after.sources.push(source.id.clone());
        }
        merge_support(&mut after.support, &source.support);
        after.event_at = after.event_at.max(source.event_at);
    }
    after.times_derived = after.times_derived.saturating_add(1);
    (after.sources.len() > before.sources.len()).then(|| Change::Reinforced {
        id: existing.id.clone(),
        before,
        after,
    })
}

/// The id of what an operation creates at its place.
pub(super) fn id_at(place: &Place) -> ConclusionId {
    let seed = [place.run.as_str(), &place.turn.to_string(), &place.call.to_string()];
    ConclusionId::new(&place.run.representation(), place.at, &seed)
}

/// The new conclusion.
fn stated(
    level: Level,
    content: String,
    sources: &[&Conclusion],
    pattern: Option<Pattern>,
    desk: &Desk,
    place: &Place,
) -> Result<Conclusion, Rejection> {
    if let Some(erased_at) = desk.tombstones.get(&tombstone(&desk.tombstone_key, &content))
        && !heard_after(*erased_at, sources, desk)
    {
        return Err(Rejection::Erased);
    }
    let id = id_at(place);
    if desk.get(&id).is_some() {
        return Err(Rejection::Taken(id.to_string()));
    }
    let mut support = Vec::new();
    for source in sources {
        merge_support(&mut support, &source.support);
    }
    Ok(Conclusion {
        id,
        content,
        level,
        session: None,
        created_at: place.at,
        event_at: sources.iter().map(|s| s.event_at).max().unwrap_or(place.at),
        times_derived: 1,
        sources: sources.iter().map(|s| s.id.clone()).collect(),
        support,
        pattern: pattern.filter(|_| level == Level::Inductive),
        origin: Origin::Dream(place.run.clone()),
        embedding: None,
    })
}

/// Whether anything that the sources go back to arrived after `erased_at`. What a dream concluded arrived when its own
/// sources did: the dream's date would let an erased text return by way of a second conclusion.
fn heard_after(erased_at: Time, sources: &[&Conclusion], desk: &Desk) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = sources.to_vec();
    while let Some(conclusion) = open.pop() {
        if !seen.insert(&conclusion.id) {
            continue;
        }
        match conclusion.origin {
            Origin::Dream(_) => open.extend(conclusion.sources.iter().filter_map(|id| desk.get(id))),
            Origin::Deriver | Origin::Api if conclusion.created_at > erased_at => return true,
            Origin::Deriver | Origin::Api => {}
        }
    }
    false
}
