//! Topics that recur in any language: words, and in scripts without spaces runs of characters, that several statements
//! of several occasions share and most do not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::induce::{Found, Said, is_recurring};
use super::lexicon::{DETERMINER, STOP, TEMPORAL, is_adverb, stem, word_set};
use super::screen::GENERIC;
use super::token::{is_ideographic, is_unspaced};
use super::{activity, tongue};
use crate::conclusion::{Conclusion, Pattern};

/// Statements that must share a topic.
const LEAST_STATEMENTS: usize = 4;
/// Occasions on which they must have been said.
const LEAST_OCCASIONS: usize = 3;
/// The largest share of all statements that may mention it, as one in so many.
const ONE_IN: usize = 4;

word_set! {
    /// English words that are no topic by themselves.
    COMMON = "able act advice again aim amount area bit break care career case chance change changes choice class close
        connection couple course deal decision difference difficult dream effort end event everyday example experience
        experiences eye face fact feedback feeling feelings focus form friend friends future general goal goals group
        hand head heart help hello home hour house idea ideas impact inspiration inspired interest issue item job joy
        journey kind lesson level life line list love matter meaning member memories memory mind minute moment moments
        motivation name night note number opportunities opportunity option part passion past path peace people person
        photo picture pictures photos piece place places plan plans point positive possibilities power present pride
        problem process progress project projects purpose question reason recent reminder result rest self sense set
        side sign situation skill skills something sort space special spot start state step steps story stories
        strength stress stuff style success support talk team tip topic trip try turn type value view voice ways week
        word words work world beautiful amazing awesome creative different favorite favourite important little long
        new next old own other small big whole young better best first last few many others everyone everything
        someone thing things day days year years month months today tomorrow yesterday user please"
}

/// Characters of Han script that hold sentences together.
const HAN_STOP: &str = "的了是我你您他她它们在有和就不人都一上也很到说说要去会着没看好自己这那个把被让给对从与及或而但因为所以如果还又再只可以能想用做吗呢吧啊呀将已于之其为";

/// Whether a lower-case English or foreign word can be a topic.
pub(super) fn is_telling(word: &str) -> bool {
    let long = if word.is_ascii() {
        word.len() >= 4
    } else {
        word.chars().count() >= 2
    };
    let plain = word.strip_suffix('s').unwrap_or(word);
    long && !word.chars().any(char::is_numeric)
        && !STOP.contains(word)
        && !GENERIC.contains(word)
        && !COMMON.contains(word)
        && !COMMON.contains(plain)
        && !TEMPORAL.contains(word)
        && !tongue::OTHER_LATIN.contains(word)
        && !tongue::FIRST_LATIN.contains(word)
        && !is_adverb(word)
}

/// The topics that recur.
pub(super) fn recurring(peer: &str, said: &[Said<'_>], existing: &[&Conclusion]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let most = (said.len() / ONE_IN).max(LEAST_STATEMENTS);
    let topics: Vec<(String, Vec<usize>)> = words(peer, said).into_iter().chain(runs(said)).collect();
    let pairs: Vec<String> = topics
        .iter()
        .filter(|(shown, _)| shown.contains(' '))
        .map(|(shown, _)| shown.clone())
        .collect();
    for (shown, sources) in topics {
        let part = pairs
            .iter()
            .any(|pair| pair.split(' ').any(|word| stem(word) == stem(&shown)));
        if part && existing.iter().all(|c| !names_topic(&c.content, peer, &shown)) {
            continue;
        }
        let known = existing.iter().find(|c| names_topic(&c.content, peer, &shown));
        let enough =
            sources.len() >= LEAST_STATEMENTS && sources.len() <= most && is_recurring(said, &sources, LEAST_OCCASIONS);
        if known.is_some() || enough {
            found.push(Found {
                content: known.map_or_else(|| format!("{peer} often talks about {shown}."), |c| c.content.clone()),
                pattern: Pattern::Tendency,
                sources,
                rank: 2,
            });
        }
    }
    found
}

/// Whether an existing pattern is about the same topic in another form of the word.
fn names_topic(content: &str, peer: &str, shown: &str) -> bool {
    content
        .strip_prefix(peer)
        .and_then(|rest| rest.strip_prefix(" often talks about "))
        .and_then(|rest| rest.strip_suffix('.'))
        .is_some_and(|topic| topic == shown || stem(&topic.to_lowercase()) == stem(&shown.to_lowercase()))
}

/// Topics of scripts with spaces: by stem, shown in their commonest form.
fn words(peer: &str, said: &[Said<'_>]) -> Vec<(String, Vec<usize>)> {
    #[derive(Default)]
    struct Seen {
        statements: Vec<usize>,
        forms: BTreeMap<String, usize>,
        next: BTreeMap<String, usize>,
        as_noun: usize,
        as_verb: usize,
    }
    let mut by_stem: BTreeMap<String, Seen> = BTreeMap::new();
    for (at, one) in said.iter().enumerate() {
        for (place, word) in one.lower.iter().enumerate() {
            let dense = word.chars().any(|c| is_ideographic(c) || is_unspaced(c));
            if dense || word.starts_with(&peer.to_lowercase()) || !is_telling(word) || activity::is_activity(word) {
                continue;
            }
            let before = place.checked_sub(1).map_or("", |p| one.lower[p].as_str());
            let noun = DETERMINER.contains(before)
                || matches!(before, "of" | "in" | "with" | "for" | "about" | "at" | "from" | "on");
            let verb = place == 0 || before == "to" || word.ends_with("ing") || word.ends_with("ed");
            let seen = by_stem.entry(stem(word)).or_default();
            if seen.statements.last() != Some(&at) {
                seen.statements.push(at);
            }
            let next = one
                .lower
                .get(place + 1)
                .filter(|w| !STOP.contains(w.as_str()) && !TEMPORAL.contains(w.as_str()) && !is_adverb(w));
            if let Some(next) = next {
                *seen.next.entry(next.clone()).or_default() += 1;
            }
            // The form keeps its capital where every mention has one: a name.
            *seen.forms.entry(one.words[place].clone()).or_default() += 1;
            seen.as_noun += usize::from(noun || !word.is_ascii());
            seen.as_verb += usize::from(verb);
        }
    }
    by_stem
        .into_values()
        .filter(|seen| {
            let all: usize = seen.forms.values().sum();
            seen.statements.len() >= LEAST_STATEMENTS.min(2)
                && seen.as_noun * 10 >= all * 4
                && seen.as_verb * 10 <= all * 3
        })
        .filter_map(|seen| {
            let plural = |form: &str| Some(format!("{form}s")).filter(|more| seen.forms.contains_key(more));
            let (form, _) = seen
                .forms
                .iter()
                .max_by_key(|(form, count)| (**count, std::cmp::Reverse((*form).clone())))?;
            let form = &plural(form).unwrap_or_else(|| form.clone());
            let all: usize = seen.forms.values().sum();
            let modifies: usize = seen.next.values().sum();
            let name = form.chars().next().is_some_and(char::is_uppercase);
            let pair = seen.next.iter().find(|(_, count)| **count * 10 >= all * 7);
            match pair {
                Some((next, _)) if !name && form.is_ascii() => Some((format!("{form} {next}"), seen.statements)),
                // A word that mostly qualifies others is no topic: "local", "online".
                _ if modifies * 10 >= all * 6 && !name && form.is_ascii() => None,
                _ => Some((form.clone(), seen.statements)),
            }
        })
        .collect()
}

/// Topics of scripts without spaces: the longest runs of two to eight characters that recur with different neighbours.
fn runs(said: &[Said<'_>]) -> Vec<(String, Vec<usize>)> {
    #[derive(Default)]
    struct Seen {
        statements: BTreeSet<usize>,
        before: BTreeSet<char>,
        after: BTreeSet<char>,
    }
    let mut grams: HashMap<String, Seen> = HashMap::new();
    for (at, one) in said.iter().enumerate() {
        let content: Vec<char> = one.conclusion.content.chars().collect();
        let dense = |c: char| is_ideographic(c) || is_unspaced(c);
        for from in 0..content.len() {
            let least = if is_ideographic(content[from]) { 2 } else { 4 };
            for to in from + least..=(from + 8).min(content.len()) {
                let run = &content[from..to];
                if !run.iter().all(|c| dense(*c) && !HAN_STOP.contains(*c)) {
                    break;
                }
                let seen = grams.entry(run.iter().collect()).or_default();
                seen.statements.insert(at);
                seen.before.insert(from.checked_sub(1).map_or('^', |p| content[p]));
                seen.after.insert(content.get(to).copied().unwrap_or('$'));
            }
        }
    }
    let mut kept: Vec<(String, Vec<usize>)> = grams
        .into_iter()
        .filter(|(_, seen)| seen.statements.len() >= 3 && seen.before.len() >= 2 && seen.after.len() >= 2)
        .map(|(run, seen)| (run, seen.statements.into_iter().collect()))
        .collect();
    kept.sort_by(|a, b| (b.0.chars().count(), &a.0).cmp(&(a.0.chars().count(), &b.0)));
    let mut longest: Vec<(String, Vec<usize>)> = Vec::new();
    for (run, statements) in kept {
        if !longest.iter().any(|(known, _)| known.contains(run.as_str())) {
            longest.push((run, statements));
        }
    }
    longest
}
