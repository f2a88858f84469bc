//! What of a person lasts beside the slots: family, pets, instruments, languages, origin, aims, habits. For the card.

use std::collections::BTreeMap;

use super::deduce::View;
use super::fact::is_occupation;
use super::induce;
use super::lexicon::{NEGATION, word_set};
use super::token::{Token, tokens};
use crate::conclusion::{CardKind, Level};

/// An entry without its kind's prefix, and the places of the statements that it rests on, oldest first.
pub(super) type Entry = (CardKind, String, Vec<usize>);

/// The most habits that a card names.
const MAX_HABITS: usize = 6;

word_set! {
    /// Family and pets that not everybody has.
    KIN = "husband wife girlfriend boyfriend fiancé fiancée fiance fiancee son sons daughter daughters kid kids child
        children twins brother brothers sister sisters grandson granddaughter grandkids grandchildren niece nephew
        dog dogs cat cats puppy pup kitten kitty parrot rabbit rabbits hamster horse turtle turtles tortoise guinea-pig"
}

word_set! {
    /// Adjectives and counts between a determiner and one of the family.
    LITTLE = "little young younger older youngest oldest eldest baby new second third rescue old twin beautiful lovely
        small one two three four five six adult teenage step"
}

word_set! {
    /// Other people whose "their" it may be.
    OTHERS = "friend friends neighbor neighbour neighbors neighbours parent parents couple people student students
        customer customers family families colleague colleagues woman women man men client clients mentor team group
        veteran veterans someone somebody everyone guys folks who they residents owner owners"
}

word_set! {
    /// Instruments.
    INSTRUMENT = "guitar piano violin cello clarinet flute trumpet saxophone sax drums bass harp ukulele banjo accordion
        trombone oboe viola keyboard harmonica mandolin organ tuba bassoon fiddle sitar tabla"
}

word_set! {
    /// Languages that people say they learn.
    LANGUAGE = "english spanish french german italian portuguese dutch swedish norwegian danish finnish polish czech
        hungarian greek turkish russian ukrainian arabic hebrew hindi urdu bengali tamil chinese mandarin cantonese
        japanese korean vietnamese thai indonesian swahili latin irish welsh catalan romanian persian farsi"
}

/// The words after the peer's name where the peer is the subject; whether it is the owner instead.
fn of_peer<'a>(peer: &str, content: &'a str) -> Option<(bool, Vec<Token<'a>>)> {
    let rest = content.strip_prefix(peer).or_else(|| {
        let (lead, rest) = content.split_once(&format!(" {peer} "))?;
        let timely = lead.split(' ').count() <= 4 && !lead.contains(['"', '\'']);
        timely.then(|| &content[content.len() - rest.len() - 1..])
    })?;
    let rest = rest.strip_prefix(" and others").unwrap_or(rest);
    let owned = ["'s ", "' ", "’s "].iter().find_map(|mark| rest.strip_prefix(mark));
    match owned {
        Some(owned) => Some((true, tokens(owned))),
        None => rest.starts_with(' ').then(|| (false, tokens(rest))),
    }
}

/// The entries that the statements support.
pub(super) fn entries(peer: &str, views: &[View<'_>], stays: &impl Fn(usize) -> bool) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut kin: BTreeMap<String, (Option<String>, Vec<usize>)> = BTreeMap::new();
    let mut lost: Vec<String> = Vec::new();
    let explicit = || {
        let said = views.iter().enumerate();
        said.filter(|(at, view)| stays(*at) && view.conclusion.level == Level::Explicit)
    };
    for (at, view) in explicit() {
        let Some((owned, found_tokens)) = of_peer(peer, &view.conclusion.content) else {
            continue;
        };
        let words: Vec<&str> = found_tokens.iter().map(|t| t.lower.as_str()).collect();
        let over = |w: &&str| {
            matches!(
                *w,
                "died" | "passed" | "late" | "lost" | "ex" | "dead" | "divorced" | "funeral"
            )
        };
        if words.iter().any(over) {
            lost.extend(words.iter().filter(|w| KIN.contains(**w)).map(|w| plain(w)));
            continue;
        }
        for (whom, named) in family(owned, &found_tokens, &words) {
            let known = kin.entry(whom).or_default();
            if known.0.is_none() || named.is_some() {
                known.0 = named.or(known.0.take());
            }
            known.1.push(at);
        }
        if owned && let ["goal" | "dream" | "aim", "is", "to", aim @ ..] = words.as_slice() {
            let short = aim.len() <= 12 && !aim.iter().any(|w| matches!(*w, "it" | "this" | "that" | "them"));
            if let Some(text) = text_of(&view.conclusion.content, &found_tokens, 3).filter(|_| short) {
                found.push((CardKind::Attribute, format!("Goal: {text}"), vec![at]));
            }
        }
        if !owned && let Some((kind, text)) = lasting(&found_tokens, &words) {
            found.push((kind, text, vec![at]));
        }
    }
    // "Has kids" says less than "Has a daughter".
    let has_child = kin.keys().any(|w| w.starts_with("daughter") || w.starts_with("son"));
    for (whom, (named, at)) in kin {
        let implied = whom == "kids" && has_child;
        let article = if whom.ends_with('s') { "" } else { "a " };
        if !implied && !lost.contains(&whom) {
            let shown = named.unwrap_or_else(|| format!("Has {article}{whom}"));
            found.push((CardKind::Relationship, shown, at));
        }
    }
    let statements: Vec<_> = explicit().map(|(at, view)| (at, view.conclusion)).collect();
    for (does, sources) in induce::habits(peer, &statements).into_iter().take(MAX_HABITS) {
        found.push((CardKind::Attribute, format!("Often {does}"), sources));
    }
    found
}

fn plain(word: &str) -> String {
    match word {
        "kid" | "child" | "children" => "kids".into(),
        "pup" => "puppy".into(),
        "kitty" => "kitten".into(),
        _ => word.to_owned(),
    }
}

/// The text from a token on, without the full stop.
fn text_of(content: &str, found: &[Token<'_>], from: usize) -> Option<String> {
    let base = content.len() - found.last()?.end();
    let text = content.get(base + found.get(from)?.start..)?;
    Some(text.trim_end_matches('.').to_owned())
}

/// The family and pets that a statement gives the peer: the word, and how the card names them when there is a name.
fn family(owned: bool, found: &[Token<'_>], words: &[&str]) -> Vec<(String, Option<String>)> {
    let mut result = Vec::new();
    let mut add = |at: usize, count: Option<&str>| {
        let word = words[at];
        if words.get(at + 1).is_some_and(|w| {
            matches!(
                *w,
                "'" | "'s" | "food" | "shelter" | "park" | "book" | "books" | "person" | "lover"
            )
        }) {
            return;
        }
        let named = names_after(found, words, at + 1);
        let shown = match (named, count) {
            (Some(names), Some(count)) if word.ends_with('s') || names.contains(" and ") => {
                Some(format!("Has {count} {word}, {names}"))
            }
            (Some(name), _) if !name.contains(" and ") => Some(format!("Has a {word}, {name}")),
            (None, Some(count)) if word.ends_with('s') => Some(format!("Has {count} {word}")),
            _ => None,
        };
        result.push((plain(word.trim_end_matches("'s")), shown));
    };
    let is_kin = |at: usize| words.get(at).is_some_and(|w| KIN.contains(w.trim_end_matches("'s")));
    if owned {
        let at = words.iter().take(2).take_while(|w| LITTLE.contains(**w)).count();
        if is_kin(at) {
            add(at, None);
        }
        return result;
    }
    if words
        .iter()
        .take(4)
        .any(|w| NEGATION.contains(w) || matches!(*w, "wants" | "want" | "hopes" | "would" | "had"))
    {
        return result;
    }
    // "has two cats", "got another cat", "has got a pup and a kitty", "adopted a second dog".
    let lead = words
        .iter()
        .take_while(|w| super::lexicon::is_adverb(w) || matches!(**w, "has" | "have"))
        .count();
    let verb = match words.get(lead) {
        Some(&("got" | "adopted" | "own" | "owns")) => Some(lead),
        _ => lead.checked_sub(1).filter(|at| matches!(words[*at], "has" | "have")),
    };
    if let Some(verb) = verb {
        let mut at = verb + 1 + usize::from(words.get(verb + 1) == Some(&"got"));
        while words
            .get(at)
            .is_some_and(|w| matches!(*w, "a" | "an" | "another") || LITTLE.contains(*w))
        {
            let count = words[at];
            let start = at;
            while words
                .get(at)
                .is_some_and(|w| matches!(*w, "a" | "an" | "another") || LITTLE.contains(*w))
            {
                at += 1;
            }
            if is_kin(at) {
                add(
                    at,
                    Some(count).filter(|_| start < at && !matches!(count, "a" | "an" | "another")),
                );
            }
            if words.get(at + 1) != Some(&"and") {
                break;
            }
            at += 2;
        }
    }
    // "took their kids to a park", "is lucky to have their husband and kids".
    let other = |at: usize| {
        let word = words[at];
        let plural = at > 0
            && word.len() > 3
            && word.ends_with('s')
            && !super::lexicon::STOP.contains(word)
            && !word.ends_with("ss");
        OTHERS.contains(word) || (found[at].is_capitalised() && word.len() > 1) || plural
    };
    for at in 1..words.len() {
        if words[at] != "their" || (0..at).any(other) {
            continue;
        }
        let kin = at
            + 1
            + words[at + 1..]
                .iter()
                .take(2)
                .take_while(|w| LITTLE.contains(**w))
                .count();
        if is_kin(kin) {
            add(kin, None);
            if words.get(kin + 1) == Some(&"and") && is_kin(kin + 2) {
                add(kin + 2, None);
            }
        }
    }
    result
}

/// The names that follow: "named Bailey", ", Miso and Tofu", "Olive".
fn names_after(found: &[Token<'_>], words: &[&str], from: usize) -> Option<String> {
    let mut at = from;
    while words
        .get(at)
        .is_some_and(|w| matches!(*w, "named" | "called" | "," | "is" | "are" | ":"))
        && at < from + 2
    {
        at += 1;
    }
    let is_name = |at: usize| {
        found
            .get(at)
            .is_some_and(|t| t.is_capitalised() && t.is_word() && t.text.len() > 1)
    };
    let mut names: Vec<&str> = Vec::new();
    while is_name(at) {
        names.push(found[at].text.trim_end_matches("'s"));
        let joint = usize::from(words.get(at + 1) == Some(&","))
            + usize::from(matches!(words.get(at + 1), Some(&("and" | "&"))));
        let joint = joint + usize::from(joint == 1 && words.get(at + 2) == Some(&"and"));
        if joint == 0 {
            break;
        }
        at += 1 + joint;
    }
    match names.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [rest @ .., last] => Some(format!("{} and {last}", rest.join(", "))),
    }
}

/// Instruments, languages, origin, diets of need, and aims, of a statement whose subject is the peer.
fn lasting(found: &[Token<'_>], words: &[&str]) -> Option<(CardKind, String)> {
    let skip = words.iter().take_while(|w| super::lexicon::is_adverb(w)).count();
    let (found, words) = (&found[skip..], &words[skip..]);
    let wished = words.iter().take(6).any(|w| {
        NEGATION.contains(w) || matches!(*w, "used" | "would" | "might" | "could" | "if" | "wants" | "wishes")
    });
    let name_at = |at: usize| {
        let end = (at..found.len())
            .take_while(|i| found[*i].is_capitalised() && found[*i].is_word())
            .last()?
            + 1;
        Some(found[at..end].iter().map(|t| t.text).collect::<Vec<_>>().join(" "))
    };
    match words {
        ["is", "originally", "from", ..] => return Some((CardKind::Identity, format!("From {}", name_at(3)?))),
        ["is", "from", ..] => return Some((CardKind::Identity, format!("From {}", name_at(2)?))),
        ["was", "born", "in", ..] => return Some((CardKind::Identity, format!("Born in {}", name_at(3)?))),
        ["grew", "up", "in", ..] => return Some((CardKind::Identity, format!("Grew up in {}", name_at(3)?))),
        ["is" | "has" | "started", ..] if words.iter().take(4).any(|w| *w == "learning") && !wished => {
            let at = words.iter().position(|w| *w == "learning")? + 1;
            let at = at
                + words[at..]
                    .iter()
                    .take_while(|w| matches!(**w, "to" | "play" | "the" | "speak"))
                    .count();
            let what = words.get(at)?;
            if LANGUAGE.contains(what) {
                return Some((CardKind::Attribute, format!("Learning {}", found[at].text)));
            }
            if INSTRUMENT.contains(what) {
                return Some((CardKind::Attribute, format!("Learning the {what}")));
            }
        }
        _ => {}
    }
    if let Some(at) = (0..words.len())
        .find(|at| INSTRUMENT.contains(words[*at]))
        .filter(|_| !wished)
    {
        let article = |w: &str| matches!(w, "the" | "a" | "their" | "acoustic" | "electric" | "classical");
        let verb = (0..at).rev().find(|i| !article(words[*i]))?;
        let before = verb.checked_sub(1).map_or("", |i| words[i]);
        let plays = match words[verb] {
            "plays" | "play" => verb < 4,
            "playing" => matches!(
                before,
                "," | "or" | "and" | "-" | "been" | "started" | "loves" | "likes" | "enjoys" | "is" | ":"
            ),
            _ => false,
        };
        if plays {
            return Some((CardKind::Attribute, format!("Plays the {}", words[at])));
        }
    }
    let needs = [
        "coeliac",
        "celiac",
        "diabetic",
        "gluten-free",
        "dairy-free",
        "lactose",
        "halal",
        "kosher",
    ];
    if let ["is", need, rest @ ..] = words
        && needs.contains(need)
        && (*need != "lactose" || rest.first() == Some(&"intolerant"))
    {
        let shown = if *need == "lactose" { "lactose intolerant" } else { need };
        return Some((CardKind::Attribute, format!("Diet: {shown}")));
    }
    aim(found, words).map(|text| (CardKind::Attribute, text))
}

/// What the peer wants to become.
fn aim(found: &[Token<'_>], words: &[&str]) -> Option<String> {
    let (word, at) = match words {
        ["wants" | "hopes" | "plans", "to", "be" | "become", "a" | "an", ..]
        | ["dreams", "of", "being" | "becoming", "a" | "an", ..] => ("Wants to be", 4),
        [
            "is",
            "training" | "retraining" | "studying" | "learning",
            "to",
            "be" | "become",
            "a" | "an",
            ..,
        ] => ("Training to be", 5),
        ["is", "training" | "retraining", "as", "a" | "an", ..] => ("Training to be", 4),
        _ => return career(found, words),
    };
    let longest = (at + 1..=found.len().min(at + 4)).rev().find(|end| {
        let text: Vec<&str> = found[at..*end].iter().map(|t| t.text).collect();
        found[at..*end].iter().all(Token::is_word) && is_occupation(&text.join(" "))
    })?;
    let job: Vec<&str> = found[at..longest].iter().map(|t| t.text).collect();
    Some(format!("{word} {}", super::fact::with_article(&job.join(" "))))
}

/// "has been looking into counselling and mental health as a career".
fn career(found: &[Token<'_>], words: &[&str]) -> Option<String> {
    let into = words.iter().take(6).position(|w| *w == "into")?;
    let looks = words[..into].contains(&"looking");
    let end = (into + 1..words.len()).find(|at| {
        words[*at..].starts_with(&["as", "a", "career"])
            || words[*at..].starts_with(&["career", "options"])
            || words[*at] == "jobs"
    })?;
    let field: Vec<&str> = found[into + 1..end].iter().map(|t| t.text).collect();
    (looks && !field.is_empty() && field.len() <= 6).then(|| format!("Considers a career in {}", field.join(" ")))
}
