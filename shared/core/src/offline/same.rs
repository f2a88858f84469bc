//! Whether two texts say the same. Similarity proposes, the guard decides: 20 % of real updates have a cosine of 0.90 or
//! more to what they update (`design.md` section 6), so numbers, negation, dates, names and every other word that is not
//! mere filling must agree, in their order.

use std::collections::BTreeMap;

use super::embed::NgramEmbedder;
use super::lexicon::{FILLER, NEGATION, word_set};
use super::token::{Kind, Token, fold_width, is_ideographic, tokens};
use crate::conclusion::Conclusion;

word_set! {
    /// Words that take a side.
    POLAR = "love loves like likes enjoy enjoys adore adores hate hates dislike dislikes detest detests allergic start
        starts started stop stops stopped begin begins began quit quits left joined prefer prefers always never often
        rarely before after more less first last open closed on off up down in out with without"
}

/// From this cosine on two texts count as near each other.
const NEAR: f32 = 0.8;

/// What two texts have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They say the same: one of them may go.
    Same,
    /// They look alike, and differ in something that matters: never merge.
    Near(Difference),
    /// They do not look alike.
    Unlike,
}

/// What keeps two similar texts apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Numbers, dates, times, versions.
    Numbers,
    /// One of them denies what the other says.
    Negation,
    /// Words that take a side: love and hate, start and stop, before and after.
    Polarity,
    /// Names and other capitalised words.
    Names,
    /// Any other word, or the order of words.
    Words,
}

/// Judges two texts. `Same` needs every word to agree but fillers, spelling variants, width, case and punctuation; it is
/// decided on all scripts' parts of a text, never on the Latin part alone (report 18).
pub fn same_fact(a: &str, b: &str) -> Verdict {
    if key(a) == key(b) {
        return Verdict::Same;
    }
    match NgramEmbedder::vector(a).cosine(&NgramEmbedder::vector(b)) {
        Some(cosine) if cosine >= NEAR => Verdict::Near(difference(a, b)),
        _ => Verdict::Unlike,
    }
}

/// Cosine similarity of two conclusions, −1 to 1: of their stored vectors if one model made both, else of the built-in
/// ones. A measure of looks, never by itself a reason to merge.
pub fn similarity(a: &Conclusion, b: &Conclusion) -> f32 {
    a.embedding
        .as_ref()
        .zip(b.embedding.as_ref())
        .and_then(|(a, b)| a.cosine(b))
        .or_else(|| NgramEmbedder::vector(&a.content).cosine(&NgramEmbedder::vector(&b.content)))
        .unwrap_or(0.0)
}

/// What two texts must share to say the same: their words in order, without fillers, one spelling for each. Equal keys
/// are the candidates and the verdict at once, so that no two texts are ever compared in vain.
pub(super) fn key(text: &str) -> String {
    let folded = fold_width(text);
    let found: Vec<Token<'_>> = tokens(&folded);
    let mut key = String::with_capacity(folded.len());
    let mut denied = false;
    for (at, token) in found.iter().enumerate() {
        if token.kind == Kind::Mark || is_filler(&found, at, denied) {
            continue;
        }
        for word in spelling(token) {
            if !key.is_empty() {
                key.push(' ');
            }
            key.push_str(word);
        }
        denied = NEGATION.contains(token.lower.as_str()) || token.lower == "so";
    }
    key
}

/// Whether the token at `at` may be left out: an article before a word, an intensifier that no negation governs, a
/// Chinese particle of aspect or structure.
fn is_filler(found: &[Token<'_>], at: usize, denied: bool) -> bool {
    let token = &found[at];
    let next = found.get(at + 1);
    if token.text.chars().any(is_ideographic) {
        let first = at == 0 || found[at - 1].text == ":";
        return match token.text {
            "了" | "的" | "把" => true,
            // "将" before an object at the beginning is the formal "把"; elsewhere it is the future.
            "将" => first,
            "已" => next.is_none_or(|n| n.text != "婚"),
            "经" => at > 0 && found[at - 1].text == "已",
            _ => false,
        };
    }
    !denied
        && FILLER.contains(token.lower.as_str())
        && next.is_some_and(Token::is_word)
        && (!matches!(token.lower.as_str(), "a" | "an") || !token.is_capitalised())
}

/// The token in its one spelling: contractions opened, British and American forms and a few exact synonyms joined.
fn spelling<'a>(token: &'a Token<'_>) -> Vec<&'a str> {
    match token.lower.as_str() {
        "can't" | "cannot" => vec!["can", "not"],
        "won't" => vec!["will", "not"],
        "i'm" => vec!["i", "am"],
        "favorite" => vec!["favourite"],
        "favorites" => vec!["favourites"],
        "color" => vec!["colour"],
        "gray" => vec!["grey"],
        "mom" | "mum" => vec!["mother"],
        "dad" => vec!["father"],
        "kids" => vec!["children"],
        "tv" => vec!["television"],
        "&" => vec!["and"],
        "two" => vec!["2"],
        "three" => vec!["3"],
        "four" => vec!["4"],
        "five" => vec!["5"],
        "six" => vec!["6"],
        "seven" => vec!["7"],
        "eight" => vec!["8"],
        "nine" => vec!["9"],
        "ten" => vec!["10"],
        word => match word.strip_suffix("n't") {
            Some(verb) if !verb.is_empty() => vec![verb, "not"],
            _ => vec![word],
        },
    }
}

/// What matters most among the things in which two texts differ.
fn difference(a: &str, b: &str) -> Difference {
    let mut surplus: BTreeMap<String, (i32, bool)> = BTreeMap::new();
    for (text, sign) in [(a, 1), (b, -1)] {
        for (place, token) in tokens(&fold_width(text))
            .iter()
            .enumerate()
            .filter(|(_, t)| t.kind != Kind::Mark)
        {
            let entry = surplus.entry(token.lower.clone()).or_insert((0, false));
            entry.0 += sign;
            entry.1 |= place > 0 && token.is_capitalised();
        }
    }
    let rest: Vec<(&str, bool)> = surplus
        .iter()
        .filter(|(_, (count, _))| *count != 0)
        .map(|(word, (_, capital))| (word.as_str(), *capital))
        .collect();
    if rest.iter().any(|(word, _)| word.chars().any(char::is_numeric)) {
        Difference::Numbers
    } else if rest.iter().any(|(word, _)| NEGATION.contains(word)) {
        Difference::Negation
    } else if rest.iter().any(|(word, _)| POLAR.contains(word)) {
        Difference::Polarity
    } else if rest.iter().any(|(_, capital)| *capital) {
        Difference::Names
    } else {
        Difference::Words
    }
}
