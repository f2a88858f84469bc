//! Which clauses are facts about the speaker: the rest of what people say is questions, greetings, reactions,
//! hypotheses, hearsay and talk about the other.

use super::lexicon::{DETERMINER, STOP, TEMPORAL, is_adverb, word_set};
use super::talk::is_talk;
use super::token::Token;

word_set! {
    /// Words that open a sentence without being part of what it says.
    LEAD = "ah aha absolutely actually and anyway aw aww aww awesome basically btw but cool correction definitely
        exactly frankly fyi great haha hahaha hello heya hey hi hmm honestly indeed lol luckily man nah nice no nope oh
        ok okay ooh plus right seriously so sure thanks thx totally true ugh um update well whoa wow yay yea yeah yep
        yes yo yup"
}

word_set! {
    /// Words that address the other.
    SECOND_PERSON = "you your yours you're you've you'll you'd yourself yourselves u ur ya y'all youre thy"
}

word_set! {
    /// Words that say nothing that is worth keeping when they stand alone.
    GENERIC = "agree am amazing awesome bad bit busy certain cool crazy did doing done excited fantastic feel feeling
        fine fun glad go going good got great guess guys happy hard have haha honest honored hope interesting kind know
        life lol lovely lucky make makes making mean new nice okay one proud ready really relate right said say see
        seem sound sounds sorry stoked super sure surprised sweet thanks thankful grateful thing things think thrilled time
        tough totally tried true try trying want way weird well wonderful work working wow yeah yes forgot started
        realized finished stuff determined hopeful thankful blessed fire happen happens happening difference progress
        positive details vibes best lot lots few everything anything whole place up dreams goals journey path
        challenge challenges motivated focused moment moments joy overall total bits"
}

word_set! {
    /// Verbs with which somebody else speaks, thinks or wants.
    SAYING = "says said say tells told tell thinks thought claims claimed believes believed asks asked insists insisted
        jokes joked suggests suggested assumes assumed heard reckons mentioned"
}

word_set! {
    /// Words that point to something outside the sentence when they stand alone.
    POINTING = "it that this them those these one ones it's that's so there he she they him her him"
}

word_set! {
    /// Words that begin a question.
    ASKING = "can could would will do does did is are was were have has had should shall may am what how which who whom
        whose when where why any isn't aren't don't doesn't didn't won't wouldn't couldn't shouldn't what's how's
        who's where's"
}

word_set! {
    /// Words that begin an adverbial in front of the subject.
    ADVERBIAL = "besides in on at after before since during every last this yesterday today recently lately currently now these
        as for with from over by once when while usually sometimes growing back one two three a most tonight tomorrow
        next until because although though ever whenever finally right professionally outside besides nowadays"
}

/// The words of a clause as rules see them.
pub(super) fn lowered<'a>(tokens: &'a [Token<'_>]) -> Vec<&'a str> {
    tokens.iter().map(|t| t.lower.as_str()).collect()
}

/// How many tokens at the beginning open the sentence without saying anything: "Yeah,", "Hey Mel!", "By the way,".
pub(super) fn lead(words: &[&str], is_name: impl Fn(&str) -> bool) -> usize {
    let mut at = 0;
    loop {
        let rest = &words[at..];
        let phrase = [
            &["by", "the", "way"][..],
            &["to", "be", "honest"],
            &["of", "course"],
            &["in", "fact"],
            &["you", "know", ","],
            &["guess", "what"],
            &["good", "news"],
            &["great", "news"],
            &["thank", "you"],
            &["thanks", "so", "much"],
            &["no", "worries"],
            &["no", "problem"],
            &["i", "mean", ","],
            &["you", "bet"],
            &["as", "i", "said"],
            &["speaking", "of", "which"],
            &["for", "sure"],
            &["same", "here"],
            &["big", "news"],
            &["it", "turns", "out"],
            &["turns", "out"],
            &["as", "for", "me"],
            &["for", "me", ","],
            &["on", "another", "note"],
            &["on", "a", "different", "note"],
            &["in", "the", "meantime"],
        ]
        .into_iter()
        .find(|phrase| rest.starts_with(phrase));
        let step = match rest {
            [] => break,
            _ if phrase.is_some() => phrase.map_or(0, <[&str]>::len),
            ["no", "longer" | "one", ..] | ["right", "now" | "after" | "before", ..] | ["so", "far", ..] => 0,
            [word, ..] if LEAD.contains(word) => 1,
            [word, mark, ..] if is_name(word) && matches!(*mark, "," | "!" | "." | "-" | "–" | "—") => 1,
            [word] if is_name(word) => 1,
            [
                "mum" | "mom" | "dad" | "mate" | "dude" | "bro" | "guys",
                ",",
                "guess" | "i" | "i'm" | "i've",
                ..,
            ] => 2,
            [word, ..]
                if at > 0
                    && is_name(word)
                    && !rest.get(1).is_some_and(|w| matches!(*w, "is" | "has" | "was" | "and")) =>
            {
                1
            }
            [word, ..] if !word.chars().any(char::is_alphanumeric) && !matches!(*word, "\"" | "“" | "「" | "«") => {
                1
            }
            _ => 0,
        };
        if step == 0 {
            break;
        }
        at += step;
    }
    at
}

/// Whether the word begins with the first person as a subject.
pub(super) fn is_i(word: &str) -> bool {
    matches!(
        word,
        "i" | "i'm" | "im" | "i've" | "ive" | "i'll" | "i'd" | "we" | "we're" | "we've" | "we'll" | "we'd"
    )
}

/// Whether the word is the first person in any form.
pub(super) fn is_first_person(word: &str) -> bool {
    is_i(word)
        || matches!(
            word,
            "my" | "our" | "me" | "us" | "mine" | "myself" | "ours" | "ourselves"
        )
}

/// Whether the clause can state a fact about its speaker. `words` are lower case, without the lead.
pub(super) fn is_fact(words: &[&str]) -> bool {
    let Some(first) = words.first() else { return false };
    if words.iter().any(|w| SECOND_PERSON.contains(w)) || is_hypothetical(words) || is_hearsay(words) {
        return false;
    }
    let Some(subject) = words.iter().position(|w| is_i(w)) else {
        return owned_or_met(words) && weight(words) >= 2;
    };
    if is_fragment(words) {
        return false;
    }
    let owner = matches!(*first, "my" | "our");
    if subject > 0 && !owner && !ADVERBIAL.contains(first) && *first != "me" && !companion(&words[..subject]) {
        return owned_or_met(words) && subject > 4 && weight(words) >= 2;
    }
    if subject > 14 && !owner {
        return false;
    }
    if owner {
        return weight(words) >= 2;
    }
    let after = opened(&words[subject..]);
    let together = words[subject].starts_with('w');
    if after.first() == Some(&"do") && !after.get(1).is_some_and(|w| w.chars().all(char::is_alphabetic)) {
        return false;
    }
    let cheer = together
        && matches!(
            after.first(),
            Some(&("will" | "can" | "need" | "must" | "have" | "cannot" | "can't"))
        )
        && (after[0] != "have" || after.get(1) == Some(&"to"));
    let promise = matches!(after.first(), Some(&("will" | "won't")))
        && !words
            .iter()
            .any(|w| TEMPORAL.contains(w) || w.chars().any(|c| c.is_ascii_digit()));
    if cheer || promise {
        return false;
    }
    !is_talk(&after) && !is_pointing(&after) && !is_unresolved(&after) && enough(&after)
}

/// A clause that waits for its main part: "since we last spoke", "last time I saw her", "I love to".
fn is_fragment(words: &[&str]) -> bool {
    let end = words
        .iter()
        .rposition(|w| w.chars().any(char::is_alphanumeric))
        .unwrap_or(0);
    let cut = matches!(
        words[end],
        "to" | "the" | "a" | "an" | "and" | "or" | "of" | "my" | "but" | "because" | "if"
    );
    let waiting = matches!(
        words[0],
        "since"
            | "when"
            | "while"
            | "after"
            | "before"
            | "as"
            | "because"
            | "although"
            | "though"
            | "once"
            | "until"
            | "whenever"
    ) && (!matches!(words[0], "since" | "after" | "before" | "as" | "until")
        || words.get(1).is_some_and(|w| is_i(w)))
        || words.starts_with(&["last", "time"])
        || words.starts_with(&["every", "time"])
        || words.starts_with(&["ever", "since"]);
    let comma = words.iter().position(|w| *w == ",");
    let main = comma.is_some_and(|comma| words[comma..].iter().any(|w| is_i(w)));
    let presented = words.len() > 2
        && matches!(words[0], "this" | "that" | "these" | "those")
        && matches!(words[1], "is" | "was" | "are" | "were");
    cut || presented
        || words.windows(3).any(|w| w == ["since", "we", "last"])
        || (waiting && words.iter().take(5).any(|w| is_i(w)) && !main)
}

/// "my wife and", "ana and": others named beside the first person.
fn companion(before: &[&str]) -> bool {
    before.len() <= 5 && before.last() == Some(&"and")
}

/// A clause without "I" whose owner or object is the speaker: "My sister lives in Rome", "The group made me feel welcome".
fn owned_or_met(words: &[&str]) -> bool {
    let first = words[0];
    let verb = words.iter().skip(1).position(|w| {
        matches!(
            *w,
            "is" | "are"
                | "was"
                | "were"
                | "has"
                | "have"
                | "had"
                | "will"
                | "can"
                | "isn't"
                | "doesn't"
                | "made"
                | "gave"
                | "got"
                | "taught"
                | "keeps"
                | "went"
                | "came"
                | "just"
                | "don't"
        ) || super::verb::is_unchanging(w)
            || (w.len() > 3 && w.ends_with('s') && !w.ends_with("ss") && !STOP.contains(w))
    });
    let Some(verb) = verb.map(|at| at + 1) else {
        return false;
    };
    let elsewhere = |w: &&str| POINTING.contains(*w) || matches!(*w, "their" | "his" | "its");
    if words.iter().take(2).any(elsewhere) {
        return false;
    }
    if matches!(first, "my" | "our") {
        let predicate = &words[verb + 1..];
        return !predicate.is_empty()
            && !predicate
                .first()
                .is_some_and(|w| POINTING.contains(w) && predicate.len() < 3);
    }
    let me = words.iter().position(|w| matches!(*w, "me" | "us"));
    let imperative = verb > 6 || !(DETERMINER.contains(first) || first.ends_with("ing"));
    me.is_some_and(|me| me > verb) && !imperative && !matches!(first, "this" | "that" | "these" | "those")
}

/// Conditions, wishes and guesses.
fn is_hypothetical(words: &[&str]) -> bool {
    let conditional = words.contains(&"if") || words.contains(&"unless");
    matches!(
        words[0],
        "if" | "imagine" | "suppose" | "maybe" | "perhaps" | "unless" | "what" | "were" | "had" | "should"
    ) || words
        .iter()
        .any(|w| matches!(*w, "maybe" | "perhaps" | "hypothetically" | "pretend" | "wish"))
        || words.windows(2).any(|pair| {
            is_i(pair[0])
                && matches!(
                    pair[1],
                    "would" | "could" | "should" | "might" | "may" | "wouldn't" | "wish"
                )
        })
        || words.windows(2).any(|pair| {
            matches!(pair[0], "i'd" | "we'd")
                && !matches!(pair[1], "been" | "gone" | "had" | "done" | "never" | "already")
        })
        || words
            .windows(2)
            .any(|pair| pair[0] == "as" && matches!(pair[1], "if" | "though"))
        || (conditional
            && words
                .iter()
                .any(|w| matches!(*w, "would" | "could" | "will" | "i'll" | "we'll" | "wouldn't" | "'d")))
}

/// What somebody else says or thinks, also about the speaker.
fn is_hearsay(words: &[&str]) -> bool {
    let Some(subject) = words.iter().position(|w| is_i(w)) else {
        return words.iter().take(6).any(|w| SAYING.contains(w));
    };
    let before = &words[..subject];
    before.iter().any(|w| SAYING.contains(w))
        || before.contains(&"according")
        || (matches!(words[0], "my" | "our") && words.iter().take(6).any(|w| SAYING.contains(w)))
}

/// The words from the subject on, contractions opened and adverbs after the subject left out.
fn opened<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut after: Vec<&str> = Vec::with_capacity(words.len() + 1);
    match words[0] {
        "i'm" | "im" => after.push("am"),
        "we're" => after.push("are"),
        "i've" | "we've" | "ive" => after.push("have"),
        "i'll" | "we'll" => after.push("will"),
        "i'd" | "we'd" => after.push("had"),
        _ => {}
    }
    let mut before_verb = after.is_empty();
    for word in &words[1..] {
        let measure = !word.chars().any(char::is_alphabetic) && *word != ",";
        if before_verb && (measure || is_adverb(word)) && !matches!(*word, "never") {
            continue;
        }
        before_verb = false;
        after.push(word);
    }
    after
}

/// Whether what the verb acts on lies outside the sentence: "love it", "did that last year".
fn is_pointing(after: &[&str]) -> bool {
    let auxiliary = matches!(after.first(), Some(&("am" | "are" | "have" | "had" | "was" | "were")));
    let participle = |w: &str| auxiliary && (w.ends_with("ing") || super::verb::is_unchanging(w) || w == "been");
    let object = after
        .iter()
        .skip(1)
        .skip_while(|w| is_adverb(w) || participle(w))
        .find(|w| {
            !is_adverb(w)
                && !matches!(
                    **w,
                    "to" | "with" | "at" | "about" | "for" | "of" | "on" | "in" | "not" | "like"
                )
        });
    let Some(object) = object.filter(|w| POINTING.contains(*w)) else {
        return false;
    };
    let next = after.iter().position(|w| w == object).and_then(|at| after.get(at + 1));
    let determines = matches!(*object, "that" | "this" | "these" | "those" | "one" | "so" | "her")
        && next.is_some_and(|w| !STOP.contains(w) && !TEMPORAL.contains(w) && w.chars().all(char::is_alphanumeric));
    !determines
}

/// Whether the clause turns on a pronoun that nothing in it explains: "is going to make it happen", "loves seeing them
/// eat", "wants to pass it on". A noun before the pronoun explains it ("has a cello and plays it"), and so does enough
/// after it ("finds it hard to sleep in a noisy street").
fn is_unresolved(after: &[&str]) -> bool {
    let bare = |at: usize| {
        let next = after.get(at + 1).copied().unwrap_or("");
        let ends = next.is_empty() || TEMPORAL.contains(next) || !next.chars().any(char::is_alphanumeric);
        match after[at] {
            "it" | "them" | "'em" => true,
            "this" | "that" | "these" | "those" | "him" | "her" => ends && next != "(",
            _ => false,
        }
    };
    let Some(pronoun) = (1..after.len()).find(|at| bare(*at)) else {
        return false;
    };
    let explained = (1..pronoun).any(|at| {
        let word = after[at];
        let verbal = after[at - 1] == "to" || word.ends_with("ing") || (word.len() > 4 && word.ends_with("ed"));
        !verbal && !super::verb::is_base(word) && weight(&after[at..=at]) == 1
    });
    let rest = &after[pronoun + 1..];
    let expletive = matches!(after[pronoun - 1], "find" | "found" | "make" | "makes") && rest.get(1) == Some(&"to");
    let telling = rest
        .iter()
        .filter(|w| !TEMPORAL.contains(**w))
        .copied()
        .collect::<Vec<_>>();
    let enough = !matches!(after[pronoun], "them" | "'em") && weight(&telling) >= 2;
    !(explained || expletive || enough)
}

/// How many words of weight a clause has.
pub(super) fn weight(words: &[&str]) -> usize {
    words
        .iter()
        .filter(|w| {
            w.chars().any(char::is_alphanumeric) && !STOP.contains(**w) && !GENERIC.contains(**w) && !is_adverb(w)
        })
        .count()
}

/// Whether enough is said: one word of weight, two when the only one is a past verb ("tried", "waited").
fn enough(after: &[&str]) -> bool {
    match weight(after) {
        0 => false,
        1 => {
            after
                .first()
                .is_some_and(|verb| STOP.contains(verb) || GENERIC.contains(verb))
                || !is_past(after)
        }
        // "left in August" and "waited all day" say when, not what.
        2 if matches!(
            after[0],
            "left" | "waited" | "tried" | "slept" | "came" | "went" | "arrived"
        ) =>
        {
            !after.iter().any(|w| TEMPORAL.contains(*w))
        }
        _ => true,
    }
}

fn is_past(after: &[&str]) -> bool {
    after.first().is_some_and(|verb| super::verb::is_unchanging(verb))
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn judge(text: &str) -> bool {
        let found = tokens(text);
        let words = lowered(&found);
        is_fact(&words[lead(&words, |w| w == "mel")..])
    }

    #[test]
    fn facts_pass_and_talk_does_not() {
        for said in [
            "I work at Intel",
            "Yeah, I painted that lake sunrise last year",
            "Hey Mel, I'm vegan",
            "My kids are excited about summer break",
            "In my free time I paint",
            "I've never been to Rome",
            "Last week I went to a support group",
            "Since I moved, I've had no car",
            "The support group has made me feel accepted",
            "My wife and I moved to Oslo",
            "I think remote work is better",
            "I don't like olives",
        ] {
            assert!(judge(said), "{said}");
        }
        for said in [
            "You live in Lima",
            "Wow, that's cool",
            "I agree",
            "I love it",
            "I did that last year",
            "I totally get that",
            "If I lived in Lima, I would surf",
            "I would move to Lima",
            "I'd love to see Rome",
            "I wish I had a dog",
            "He said I work too much",
            "My boss says I am lazy",
            "I'm so proud of you",
            "I'm so happy for Ana",
            "I'm good",
            "Let me know",
            "Thanks, Mel",
            "Maybe I have a cat",
            "I'm not sure about that",
            "I think it's great",
            "Heartbeat check: all systems nominal",
            "I couldn't agree more",
        ] {
            assert!(!judge(said), "{said}");
        }
    }
}
