//! Induction: what recurs over several statements of several occasions.
//!
//! The text of a pattern depends on its topic alone, so that more evidence reinforces it instead of making a near copy,
//! and a pattern is proposed again only when there is evidence that it does not name yet.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::activity::{self, ACTIVITIES, Trait};
use super::lexicon::{NEGATION, word_set};
use super::token::tokens;
use super::{attitude, topic};
use crate::conclusion::{Conclusion, Level, Pattern};
use crate::id::ConclusionId;
use crate::reasoner::ThinkRequest;
use crate::toolbox::Operation;

/// The most sources that a pattern names.
const MAX_SOURCES: usize = 16;
/// Sources and occasions that an activity, a liking or a mood needs.
const LEAST: usize = 2;

/// Up to this many statements two sources make a pattern; with more, chance does, and it takes three.
const FEW: usize = 40;

word_set! {
    /// Words of wishes, plans and the past that is over: what is not done.
    NOT_DONE = "wants want hopes hope plans planning plan will would wishes wish might considering thinking if could
        should used ex dreams dream interested asks someday eventually"
}

word_set! {
    /// Moods that say something about a person when they recur.
    MOOD = "stressed anxious tired overwhelmed nervous lonely exhausted frustrated homesick burned-out insecure sleepless"
}

word_set! {
    /// What people do something for.
    RELIEF = "relax relaxing relaxes relaxed unwind unwinds destress de-stress calm calms calming stress-relief
        therapeutic"
}

/// A statement as induction sees it.
pub(super) struct Said<'a> {
    /// The conclusion.
    pub(super) conclusion: &'a Conclusion,
    /// Its words after the name, as written.
    pub(super) words: Vec<String>,
    /// The same in lower case.
    pub(super) lower: Vec<String>,
}

/// A pattern that the statements support.
pub(super) struct Found {
    /// Its whole text.
    pub(super) content: String,
    /// Its kind.
    pub(super) pattern: Pattern,
    /// The statements, as places, oldest first.
    pub(super) sources: Vec<usize>,
    /// Kinds in the order of their worth.
    pub(super) rank: u8,
}

/// The patterns to create or to reinforce.
pub(super) fn operations(request: &ThinkRequest<'_>) -> Vec<Operation> {
    let peer = request.observed.as_str();
    let said: Vec<Said<'_>> = request
        .conclusions
        .iter()
        .filter(|c| c.level == Level::Explicit)
        .filter_map(|conclusion| read(peer, conclusion))
        .collect();
    let mut found = activities(peer, &said);
    found.extend(likings(peer, &said));
    found.extend(moods(peer, &said));
    let existing: Vec<&Conclusion> = request
        .conclusions
        .iter()
        .filter(|c| c.level == Level::Inductive)
        .collect();
    found.extend(topic::recurring(peer, &said, &existing));
    let least = if said.len() > FEW { LEAST + 1 } else { LEAST };
    found.retain(|f| is_recurring(&said, &f.sources, LEAST) && f.sources.len() >= least);
    found.sort_by(|a, b| (a.rank, b.sources.len(), &a.content).cmp(&(b.rank, a.sources.len(), &b.content)));
    let most = 6 + (said.len() / 40).min(18);
    let mut room = most.saturating_sub(existing.len());
    let mut operations = Vec::new();
    for pattern in found {
        let known = existing.iter().find(|c| c.content == pattern.content);
        let known_sources: HashSet<&ConclusionId> = known.iter().flat_map(|c| &c.sources).collect();
        if known.is_none() {
            if room == 0 {
                continue;
            }
            room -= 1;
        }
        let space = MAX_SOURCES.saturating_sub(known_sources.len());
        let fresh: Vec<usize> = pattern
            .sources
            .iter()
            .copied()
            .filter(|at| !known_sources.contains(&said[*at].conclusion.id))
            .collect();
        let fresh = &fresh[fresh.len().saturating_sub(space)..];
        if fresh.is_empty() {
            continue;
        }
        let mut sources: Vec<ConclusionId> = pattern
            .sources
            .iter()
            .filter(|at| known_sources.contains(&said[**at].conclusion.id) || fresh.contains(at))
            .map(|at| said[*at].conclusion.id.clone())
            .collect();
        sources.dedup();
        if sources.len() < Level::Inductive.min_sources() {
            continue;
        }
        operations.push(Operation::Create {
            level: Level::Inductive,
            content: pattern.content,
            sources,
            pattern: Some(pattern.pattern),
            replaces: Vec::new(),
        });
    }
    operations
}

/// What the peer does again and again by these statements, commonest first, with their places.
pub(super) fn habits(peer: &str, statements: &[(usize, &Conclusion)]) -> Vec<(&'static str, Vec<usize>)> {
    let read: Vec<(usize, Said<'_>)> = statements
        .iter()
        .filter_map(|(at, conclusion)| Some((*at, read(peer, conclusion)?)))
        .collect();
    let (places, said): (Vec<usize>, Vec<Said<'_>>) = read.into_iter().unzip();
    let least = if said.len() > FEW { LEAST + 1 } else { LEAST };
    let mut found: Vec<(&'static str, Vec<usize>)> = done(&said)
        .into_iter()
        .filter(|(_, sources)| sources.len() >= least && is_recurring(&said, sources, LEAST))
        .map(|(activity, sources)| {
            let at = sources.into_iter().map(|source| places[source]).collect();
            (ACTIVITIES[activity].does, at)
        })
        .collect();
    found.sort_by_key(|(_, sources)| std::cmp::Reverse(sources.len()));
    found
}

/// The statements of each activity that is done, as places in `said`.
fn done(said: &[Said<'_>]) -> BTreeMap<usize, Vec<usize>> {
    let mut by_activity: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, one) in said.iter().enumerate().filter(|(_, one)| is_done(one)) {
        let words: Vec<&str> = one.lower.iter().map(String::as_str).collect();
        for activity in activity::mentioned(&words) {
            by_activity.entry(activity).or_default().push(at);
        }
    }
    by_activity
}

fn read<'a>(peer: &str, conclusion: &'a Conclusion) -> Option<Said<'a>> {
    let content = conclusion.content.as_str();
    let rest = content
        .strip_prefix(peer)
        .filter(|rest| rest.starts_with([' ', '\'', ':']))
        .or_else(|| content.contains(peer).then_some(content))?;
    let all = tokens(rest);
    let words = all.iter().filter(|t| t.is_word());
    Some(Said {
        conclusion,
        words: words.clone().map(|t| t.text.to_owned()).collect(),
        lower: words.map(|t| t.lower.clone()).collect(),
    })
}

/// Whether the statements are several, of several sessions or of several days.
pub(super) fn is_recurring(said: &[Said<'_>], sources: &[usize], least: usize) -> bool {
    let days: BTreeSet<String> = sources
        .iter()
        .map(|at| said[*at].conclusion.event_at.to_date())
        .collect();
    let sessions: BTreeSet<&str> = sources
        .iter()
        .filter_map(|at| said[*at].conclusion.session.as_ref())
        .map(|session| session.uid.as_str())
        .collect();
    sources.len() >= least && days.len().max(sessions.len()) >= least
}

/// Whether the statement tells what is done or liked, not what is wished, planned or denied.
fn is_done(said: &Said<'_>) -> bool {
    !said
        .lower
        .iter()
        .any(|w| NOT_DONE.contains(w.as_str()) || NEGATION.contains(w.as_str()))
}

fn activities(peer: &str, said: &[Said<'_>]) -> Vec<Found> {
    let by_activity = done(said);
    let relief = |at: &usize| said[*at].lower.iter().any(|w| RELIEF.contains(w.as_str()));
    let mut for_relief: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (activity, sources) in &by_activity {
        let sources: Vec<usize> = sources.iter().copied().filter(relief).collect();
        if !sources.is_empty() {
            for_relief.insert(*activity, sources);
        }
    }
    let mut found: Vec<Found> = Vec::new();
    for kind in [Trait::Creative, Trait::Active, Trait::Caring] {
        let of_kind = by_activity
            .iter()
            .filter(|(place, sources)| ACTIVITIES[**place].of == kind && is_recurring(said, sources, LEAST));
        let several = of_kind.clone().count() >= 2;
        let sources: BTreeSet<usize> = of_kind.flat_map(|(_, sources)| sources.iter().copied()).collect();
        if several && sources.len() >= 4 {
            found.push(Found {
                content: match kind {
                    Trait::Creative => format!("{peer} is a creative person."),
                    Trait::Active => format!("{peer} is physically active."),
                    Trait::Caring | Trait::Plain => format!("{peer} likes to help others."),
                },
                pattern: Pattern::Personality,
                sources: sources.into_iter().collect(),
                rank: 1,
            });
        }
    }
    for (place, sources) in for_relief {
        found.push(Found {
            content: format!("When in need of rest, {peer} turns to {}.", ACTIVITIES[place].doing),
            pattern: Pattern::Correlation,
            sources,
            rank: 1,
        });
    }
    for (place, sources) in by_activity {
        found.push(Found {
            content: format!("{peer} often {}.", ACTIVITIES[place].does),
            pattern: Pattern::Behavior,
            sources,
            rank: 0,
        });
    }
    found
}

/// Likes and dislikes that are stated again and again in different words.
fn likings(peer: &str, said: &[Said<'_>]) -> Vec<Found> {
    let mut by_word: BTreeMap<(String, bool), Vec<usize>> = BTreeMap::new();
    for (at, one) in said.iter().enumerate() {
        let content = &one.conclusion.content;
        let prefers = content
            .strip_prefix(peer)
            .and_then(|rest| rest.strip_prefix(" prefers "))
            .map(|rest| (rest.split([',', '.']).next().unwrap_or("").to_lowercase(), true));
        let attitude = attitude::read(peer, content).map(|a| (a.shown.to_lowercase(), a.likes));
        let Some((object, likes)) = attitude.or(prefers) else {
            continue;
        };
        let words: BTreeSet<String> = tokens(&object)
            .iter()
            .filter(|t| t.is_word())
            .take_while(|t| !matches!(t.lower.as_str(), "because" | "over" | "than" | "with" | "when"))
            .filter(|t| topic::is_telling(&t.lower))
            .map(|t| t.lower.clone())
            .collect();
        for word in words {
            by_word.entry((word, likes)).or_default().push(at);
        }
    }
    by_word
        .into_iter()
        .map(|((word, likes), sources)| Found {
            content: format!(
                "{peer} consistently {} {word}.",
                if likes { "likes" } else { "dislikes" }
            ),
            pattern: Pattern::Preference,
            sources,
            rank: 0,
        })
        .collect()
}

fn moods(peer: &str, said: &[Said<'_>]) -> Vec<Found> {
    let mut by_mood: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, one) in said.iter().enumerate() {
        let feels = one
            .lower
            .iter()
            .take(2)
            .any(|w| matches!(w.as_str(), "is" | "was" | "feels" | "felt" | "gets" | "got" | "has"));
        if !feels || one.lower.iter().any(|w| NEGATION.contains(w.as_str())) {
            continue;
        }
        if let Some(mood) = one.lower.iter().take(5).find_map(|w| MOOD.get(w.as_str())) {
            by_mood.entry(mood).or_default().push(at);
        }
    }
    by_mood
        .into_iter()
        .map(|(mood, sources)| Found {
            content: format!("{peer} is often {mood}."),
            pattern: Pattern::Tendency,
            sources,
            rank: 1,
        })
        .collect()
}
