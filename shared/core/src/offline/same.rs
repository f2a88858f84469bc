//! Whether two texts say the same. Similarity proposes, the guard decides: 20 % of real updates have a cosine of 0.90 or
//! more to what they update (`design.md` section 6), so numbers, negation, dates, names and every other word that is not
//! mere filling must agree, in their order.

use std::collections::BTreeMap;

use super::embed::ngram_vector;
use super::lexicon::{FILLER, NEGATION, TEMPORAL, word_set};
use super::token::{Kind, Token, fold_width, is_ideographic, tokens};

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
    match ngram_vector(a).cosine(&ngram_vector(b)) {
        Some(cosine) if cosine >= NEAR => Verdict::Near(difference(a, b)),
        _ => Verdict::Unlike,
    }
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
            key.push_str(&word);
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

/// The token in its one spelling: contractions opened, British and American forms, small numbers and a few exact synonyms
/// joined. Only equality counts: that "exercise" becomes "exercize" harms nobody.
fn spelling(token: &Token<'_>) -> Vec<String> {
    let one = |word: &str| vec![word.to_owned()];
    let word = token.lower.as_str();
    if let Some(number) = NUMBERS.split(' ').position(|known| known == word) {
        return vec![(number + 2).to_string()];
    }
    match word {
        "can't" | "cannot" => vec!["can".into(), "not".into()],
        "won't" => vec!["will".into(), "not".into()],
        "i'm" => vec!["i".into(), "am".into()],
        "gray" => one("grey"),
        "mom" | "mum" => one("mother"),
        "dad" => one("father"),
        "kids" => one("children"),
        "tv" => one("television"),
        "&" => one("and"),
        "theatre" | "centre" | "metre" | "litre" | "kilometre" | "fibre" | "theatres" | "centres" | "metres"
        | "litres" | "kilometres" => one(&word.replace("tre", "ter").replace("bre", "ber")),
        "programme" => one("program"),
        "licence" => one("license"),
        "cosy" => one("cozy"),
        "jewellery" => one("jewelry"),
        "pyjamas" => one("pajamas"),
        "twenty" => one("20"),
        "thirty" => one("30"),
        "forty" => one("40"),
        "fifty" => one("50"),
        _ => {
            if let Some(verb) = word.strip_suffix("n't").filter(|verb| !verb.is_empty()) {
                return vec![verb.to_owned(), "not".into()];
            }
            one(&american(word))
        }
    }
}

/// From two on.
const NUMBERS: &str = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
    seventeen eighteen nineteen";

/// Words with `our`, by their beginnings.
const OUR: [&str; 9] = [
    "favour",
    "colour",
    "neighbour",
    "honour",
    "humour",
    "labour",
    "flavour",
    "behaviour",
    "harbour",
];
/// Words that double their last letter before an ending, by their beginnings.
const DOUBLED: [&str; 8] = [
    "travell", "cancell", "modell", "labell", "signall", "counsell", "fuell", "marvell",
];

/// A word in American spelling, as far as its form tells.
fn american(word: &str) -> String {
    if word.len() < 6 || !word.is_ascii() {
        return word.to_owned();
    }
    if OUR.iter().any(|stem| word.starts_with(stem)) {
        return word.replacen("our", "or", 1);
    }
    if let Some(stem) = DOUBLED.iter().find(|stem| word.starts_with(**stem)) {
        return format!("{}{}", &stem[..stem.len() - 1], &word[stem.len()..]);
    }
    ["ise", "ised", "ises", "ising", "isation", "yse", "ysed", "ysing"]
        .iter()
        .find_map(|tail| Some(format!("{}{}", word.strip_suffix(tail)?, tail.replacen('s', "z", 1))))
        .unwrap_or_else(|| word.to_owned())
}

word_set! {
    /// Words that may open an adverbial before the subject.
    FRONT = "on in at since every last this yesterday recently lately during for after before next once these today"
}

word_set! {
    /// Words that join clauses, or tell what somebody says or wants: an adverbial near them may belong to either part.
    JOINING = "that and but because who which said says told tells thinks when if while or so wants want decided plans
        hopes asked needs promised agreed tried whether until where how what than not never only"
}

/// The key of a statement about `peer`: an adverbial before the subject goes to the end ("On weekends maya bakes" is
/// "maya bakes on weekends"), a lone expression of time, too, and "has got a" is "has a". Statements of several clauses
/// stay in their order: there the place of an adverbial can matter.
pub(super) fn merge_key(peer: &str, text: &str) -> String {
    let key = key(text);
    let name = self::key(peer);
    let words: Vec<&str> = key.split(' ').collect();
    let subject = words.iter().take(8).position(|w| *w == name);
    let (lead, rest) = words.split_at(subject.unwrap_or(0));
    let simple = |words: &[&str]| !words.iter().any(|w| JOINING.contains(*w));
    let mut moved: Vec<&str> = Vec::with_capacity(words.len());
    if lead.first().is_some_and(|w| FRONT.contains(*w)) && simple(rest) && simple(lead) {
        moved.extend(rest);
        moved.extend(lead);
    } else {
        moved.extend(&words);
    }
    let counted = |w: &str| matches!(w, "a" | "an" | "no") || w.chars().all(|c| c.is_ascii_digit());
    if let Some(at) = (1..moved.len()).find(|at| moved[*at] == "got" && matches!(moved[at - 1], "has" | "have"))
        // Articles are no longer there: what follows must be a thing, not "to".
        && moved.get(at + 1).is_some_and(|w| *w != "to" && (counted(w) || text.contains("got a")))
    {
        moved.remove(at);
    }
    if simple(&moved)
        && let [(from, to)] = times(&moved).as_slice()
    {
        let chunk: Vec<&str> = moved.drain(*from..*to).collect();
        moved.extend(chunk);
    }
    moved.join(" ")
}

/// The expressions of time among the words.
fn times(words: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = |i: usize| words.get(at + i).copied().unwrap_or("");
        let temporal = |w: &str| TEMPORAL.contains(w) || w.strip_suffix('s').is_some_and(|w| TEMPORAL.contains(w));
        let year = |w: &str| w.len() == 4 && w.bytes().all(|b| b.is_ascii_digit());
        let mut length = match word(0) {
            "every" | "last" | "next" | "this" | "on" if temporal(word(1)) => 2,
            "in" if year(word(1)) || temporal(word(1)) || matches!(word(1), "summer" | "winter") => 2,
            "at" if word(1) == "moment" => 2,
            "since" if year(word(1)) => 2,
            "yesterday" | "today" | "tomorrow" => 1,
            _ => 0,
        };
        if length > 0 && word(length).starts_with("20") && word(length).len() >= 7 {
            length += 1;
        }
        if length > 0 {
            found.push((at, at + length));
        }
        at += length.max(1);
    }
    found
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
