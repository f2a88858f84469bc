//! Closed classes of English words that the rules share.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that are looked up as a set.
pub(super) type WordSet = LazyLock<HashSet<&'static str>>;

/// A set from words with white space between them.
macro_rules! word_set {
    ($(#[$doc:meta])* $name:ident = $text:literal) => {
        $(#[$doc])*
        pub(super) static $name: $crate::offline::lexicon::WordSet =
            std::sync::LazyLock::new(|| $text.split_whitespace().collect());
    };
}
pub(super) use word_set;

word_set! {
    /// Words that carry little meaning of their own: articles, pronouns, prepositions, auxiliaries, conjunctions.
    STOP = "a about above after again against all almost along already also although always am an and another any
        anyone anything are aren't around as at away back be because been before being below between both but by can
        can't cannot could couldn't did didn't do does doesn't doing don't done down during each either else enough
        even ever every everyone everything few for from further gonna got gotta had hadn't has hasn't have haven't
        having he he's her here hers herself him himself his how however i i'd i'll i'm i've if in instead into is
        isn't it it's its itself just kinda lately least less let let's like lot lots many may maybe me might mine more
        most much must my myself near nearly need neither never no nobody none nor not nothing now of off often oh on
        once one ones only onto or other others our ours ourselves out over own per perhaps quite rather really same
        several shall she should shouldn't since so some somebody someone something sometimes soon still such than
        that that's the their theirs them themself themselves then there there's these they they're they've this those
        though through till to together too toward towards two under until up upon us use used very via wanna was
        wasn't way we we'll we're we've well were weren't what what's whatever when whenever where wherever whether
        which while who whoever whole whom whose why will with within without won't would wouldn't yes yet you you'd
        you'll you're you've your yours yourself"
}

word_set! {
    /// Words whose presence or absence does not change what a statement says.
    FILLER = "a absolutely actually also an basically certainly completely currently definitely extremely genuinely
        honestly indeed just literally now of-course presently quite really simply so super surely the totally truly
        very"
}

word_set! {
    /// Words that turn a statement round.
    NEGATION = "no not never none nobody nothing neither nor without cannot nowhere hardly barely no-longer non stopped
        quit avoids avoid refuses ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't shouldn't
        wasn't weren't won't wouldn't"
}

word_set! {
    /// Adverbs that may stand between a subject and its verb.
    ADVERB = "actually again all almost also always already barely basically both certainly constantly currently
        definitely even eventually ever finally first generally gradually hardly honestly initially just kinda lately
        literally mainly mostly never normally now obviously occasionally often only originally personally presently
        previously primarily probably quickly quite rarely really recently regularly seldom seriously simply slowly
        sometimes soon sorta still strongly successfully suddenly then too totally truly typically usually"
}

word_set! {
    /// Words in `-ly` that are verbs or nouns.
    LY_NOT_ADVERB = "apply family fly imply italy july rely reply supply comply multiply bully rally tally july ally"
}

word_set! {
    /// Determiners and possessives in front of a noun.
    DETERMINER = "a an another any each every her his its my our some that the their these this those your"
}

word_set! {
    /// Words that say when or how long, not what.
    TEMPORAL = "ago after before day days evening evenings friday hour hours last later minute minutes monday month months
        morning mornings next night now past saturday since sunday then this thursday today tomorrow tonight tuesday wednesday
        week weekend weekends weeks year years yesterday january february march april june july august september
        october november december"
}

/// Whether the word may stand between a subject and its verb without changing who does what.
pub(super) fn is_adverb(word: &str) -> bool {
    ADVERB.contains(word) || (word.len() > 4 && word.ends_with("ly") && !LY_NOT_ADVERB.contains(word))
}

/// A word without its commonest English endings, so that `paints`, `painted` and `painting` meet. Words of other
/// scripts come back as they are.
pub(super) fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 || word.bytes().any(|b| b.is_ascii_digit()) {
        return word.to_owned();
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    let cut = |tail: &str, least: usize| word.strip_suffix(tail).filter(|rest| rest.len() >= least);
    let undouble = |rest: &str| {
        let bytes = rest.as_bytes();
        match bytes {
            [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o' | b'f') => {
                rest[..rest.len() - 1].to_owned()
            }
            _ => rest.strip_suffix('e').unwrap_or(rest).to_owned(),
        }
    };
    if let Some(rest) = cut("ies", 2).or_else(|| cut("ied", 2)) {
        format!("{rest}y")
    } else if let Some(rest) = cut("ing", 3).or_else(|| cut("ed", 3)) {
        undouble(rest)
    } else if let Some(rest) = cut("sses", 2).or_else(|| cut("shes", 2)).or_else(|| cut("ches", 2)) {
        format!("{rest}{}", &word[rest.len()..word.len() - 2])
    } else if let Some(rest) = cut("s", 3).filter(|rest| !rest.ends_with(['s', 'u', 'i'])) {
        rest.strip_suffix('e').unwrap_or(rest).to_owned()
    } else {
        word.strip_suffix('e')
            .filter(|rest| rest.len() >= 3)
            .unwrap_or(word)
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflected_words_share_a_stem() {
        for group in [
            &["paint", "paints", "painted", "painting"][..],
            &["hike", "hikes", "hiked", "hiking"],
            &["study", "studies", "studied"],
            &["swim", "swims", "swimming"],
            &["bake", "bakes", "baking"],
            &["class", "classes"],
        ] {
            let stems: Vec<_> = group.iter().map(|w| stem(w)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{group:?} {stems:?}");
        }
        assert_eq!(stem("画画"), "画画");
        assert_ne!(stem("bus"), stem("bu"));
    }
}
