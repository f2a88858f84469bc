//! Statements from messages: sentence by sentence, clause by clause.

use std::collections::BTreeSet;

use super::date::make_absolute;
use super::person::third_person;
use super::screen::{self, is_first_person, is_i, lead, lowered};
use super::sentence::{Sentence, is_emoji, prose, sentences};
use super::token::{Token, tokens};
use super::{fact, tongue};
use crate::message::Message;
use crate::reasoner::{DeriveRequest, Derived, Statement};
use crate::run::Usage;
use crate::text::normalise;

/// At most this many statements from one message: what has more is a document, not talk.
const MAX_PER_MESSAGE: usize = 40;

/// Derives the statements of a batch, in the order of their messages; equal statements name all their messages.
pub(super) fn derive(request: &DeriveRequest<'_>) -> Derived {
    let names: BTreeSet<String> = request
        .messages
        .iter()
        .map(|m| &m.peer)
        .chain(request.observed)
        .map(|name| name.as_str().to_lowercase())
        .collect();
    let mut statements: Vec<Statement> = Vec::new();
    for message in request.messages.iter().filter(|m| request.observed.contains(&m.peer)) {
        for content in of_message(message, &names) {
            let same = statements
                .iter_mut()
                .find(|s| s.about == message.peer && normalise(&s.content) == normalise(&content));
            match same {
                Some(known) => {
                    if known.messages.last() != Some(&message.seq) {
                        known.messages.push(message.seq);
                    }
                    known.event_at = known.event_at.max(message.created_at);
                }
                None => statements.push(Statement {
                    about: message.peer.clone(),
                    content,
                    messages: vec![message.seq],
                    event_at: message.created_at,
                }),
            }
        }
    }
    Derived {
        statements,
        usage: Usage::default(),
    }
}

/// The statements of one message about its sender.
fn of_message(message: &Message, names: &BTreeSet<String>) -> Vec<String> {
    let peer = message.peer.as_str();
    let mut found: Vec<String> = Vec::new();
    for block in prose(&message.content) {
        let cut = sentences(&block);
        for (place, sentence) in cut.iter().enumerate() {
            let all = tokens(sentence.text);
            if tongue::is_other(sentence.text, &all) {
                if tongue::is_statement(sentence.text, sentence.end) {
                    found.push(format!("{peer}: {}{}", sentence.text, full_stop(sentence.text)));
                }
                continue;
            }
            // "Raising twins alone - you're a hero": what is said without a subject may be about the other.
            let to_other = addresses(sentence.text) || cut.get(place + 1).is_some_and(|next| opens_with_you(next.text));
            for clause in clauses(sentence) {
                if let Some(content) = statement(clause, peer, names, to_other) {
                    for content in atoms(peer, &content) {
                        found.push(make_absolute(&content, message.created_at));
                    }
                }
            }
        }
    }
    found.truncate(MAX_PER_MESSAGE);
    found
}

/// Whether the sentence speaks to the other.
fn addresses(text: &str) -> bool {
    lowered(&tokens(text))
        .iter()
        .any(|w| screen::SECOND_PERSON.contains(w) || *w == "thank")
}

fn opens_with_you(text: &str) -> bool {
    let found = tokens(text);
    let words = lowered(&found);
    let begin = lead(&words, |_| false);
    words.get(begin).is_some_and(|w| screen::SECOND_PERSON.contains(w))
}

/// A fact of one value with something more behind "and" or a comma, as statements of their own: what the fact says can
/// then be superseded without losing the rest. What is not clearly two statements stays one.
fn atoms(peer: &str, content: &str) -> Vec<String> {
    let whole = || vec![content.to_owned()];
    let facts = fact::read(peer, content);
    if facts.is_empty() || facts.iter().all(|f| f.whole) {
        return whole();
    }
    let found = tokens(content);
    let words = lowered(&found);
    for at in 2..found.len() {
        let joint = match words[at] {
            "," => 1 + usize::from(matches!(words.get(at + 1), Some(&("and" | "but" | "so")))),
            "and" | "but" => 1,
            _ => continue,
        };
        let left = finish(&content[..found[at - 1].end()]);
        let read = fact::read(peer, &left);
        let same = read.len() == facts.len()
            && read
                .iter()
                .zip(&facts)
                .all(|(a, b)| a.slot == b.slot && a.norm == b.norm);
        let Some(rest) = found.get(at + joint).filter(|_| same && read.iter().all(|f| f.whole)) else {
            continue;
        };
        let right = &content[rest.start..];
        let words = &words[at + joint..];
        let verb = words
            .iter()
            .copied()
            .find(|w| !super::lexicon::is_adverb(w))
            .unwrap_or("");
        let is = words.len() > 1 && left.contains(" is ") && verb.ends_with("ing");
        let predicate = matches!(
            verb,
            "is" | "has" | "was" | "had" | "can" | "can't" | "cannot" | "does" | "did" | "will" | "won't" | "doesn't"
        );
        let empty = screen::weight(words) < 2 && words.contains(&"it");
        return match () {
            () if empty => vec![left],
            () if is => vec![left, finish(&format!("{peer} is {right}"))],
            () if predicate => vec![left, finish(&format!("{peer} {right}"))],
            () => whole(),
        };
    }
    whole()
}

pub(super) fn full_stop(text: &str) -> &'static str {
    if text.chars().any(super::token::is_ideographic) {
        "。"
    } else {
        "."
    }
}

/// The statement that a clause makes about `peer`, if it makes one.
fn statement(clause: &str, peer: &str, names: &BTreeSet<String>, to_other: bool) -> Option<String> {
    let found = tokens(clause);
    let is_name = |word: &str| is_name(word, names);
    let words = lowered(&found);
    let begin = lead(&words, is_name);
    let mut end = found.len();
    // A name at the end addresses somebody.
    if end >= begin + 3 && words[end - 2] == "," && is_name(words[end - 1]) {
        end -= 2;
    }
    let first = found.get(begin)?;
    let text = &clause[first.start..found.get(end.checked_sub(1)?)?.end()];
    let words = &words[begin..end];
    // "From now on our standup is at ten": said last, the change is still said.
    let turned = match words {
        ["from", "now", "on", rest @ ..]
            if rest
                .iter()
                .take(2)
                .any(|w| matches!(*w, "my" | "our" | "i" | "i'm" | "the")) =>
        {
            let skip = 3 + usize::from(rest.first() == Some(&","));
            let from = found.get(begin + skip)?.start;
            Some(format!("{} from now on", &clause[from..found.get(end - 1)?.end()]))
        }
        _ => None,
    };
    if let Some(turned) = turned {
        return statement(&turned, peer, names, to_other);
    }
    if let Some(wanted) = instruction(text, words, peer) {
        return Some(finish(&wanted));
    }
    let participle = words.iter().take(2).any(|w| w.ends_with("ing"));
    let with_subject = if to_other && participle {
        None
    } else {
        elided(text, words)
    };
    let whole = with_subject.as_deref().unwrap_or(text);
    let whole_tokens = tokens(whole);
    let whole_words = lowered(&whole_tokens);
    if screen::is_fact(&whole_words) {
        let content = third_person(whole, peer)?;
        return Some(finish(&if content.starts_with(peer) {
            content
        } else {
            capitalised(&content)
        }));
    }
    let impersonal = !whole_words
        .iter()
        .any(|w| is_first_person(w) || screen::SECOND_PERSON.contains(w));
    (impersonal && fact::is_worldly(whole)).then(|| finish(&format!("{peer}: {}", capitalised(whole))))
}

/// Whether a word names a participant: in full, or by its first letters (at least three) as friends do.
fn is_name(word: &str, names: &BTreeSet<String>) -> bool {
    names.iter().any(|name| {
        name == word || (word.chars().count() >= 3 && name.starts_with(word) && name.len() <= word.len() + 8)
    })
}

/// How the speaker wants to be treated, said to the other: "Call me Mel", "please don't suggest meat dishes".
fn instruction(text: &str, words: &[&str], peer: &str) -> Option<String> {
    if let ["call", "me", name, rest @ ..] = words {
        let later = matches!(
            *name,
            "when" | "if" | "at" | "on" | "tomorrow" | "back" | "later" | "crazy" | "a" | "an"
        );
        let short = rest.iter().filter(|w| w.chars().any(char::is_alphanumeric)).count() <= 2;
        let named = tokens(text).get(2).is_some_and(Token::is_capitalised);
        let wanted = tokens(text).get(2).map(|t| t.text.to_owned())?;
        return (!later && short && named).then(|| format!("{peer} wants to be called {wanted}"));
    }
    let polite = usize::from(words.first() == Some(&"please"));
    let lasting = match &words[polite..] {
        ["always" | "never", "give", "up" | "in", ..] => false,
        ["always" | "never", verb, ..] => DURABLE.contains(verb) || (polite == 1 && super::verb::is_base(verb)),
        ["don't" | "do", verb, rest @ ..] if polite == 1 => {
            let verb = if *verb == "not" {
                rest.first().copied().unwrap_or("")
            } else {
                verb
            };
            DURABLE.contains(&verb)
        }
        ["from", "now", "on", rest @ ..] => {
            let wish = rest.iter().find(|w| **w != ",");
            words.len() > 5
                && wish.is_some_and(|w| {
                    matches!(*w, "please" | "always" | "never" | "don't" | "do")
                        || super::verb::is_base(w)
                        || DURABLE.contains(w)
                })
        }
        ["keep", "your", "answers" | "replies" | "responses" | "messages", ..]
        | ["keep", "answers" | "replies" | "responses", ..] => true,
        ["answer" | "reply" | "respond", "in" | "with" | "briefly", ..] => polite == 1,
        _ => false,
    };
    (lasting && words.len() <= 30).then(|| format!("{peer} asks: {}", lowered_first(text)))
}

/// Verbs of requests that hold for the future.
const DURABLE: &[&str] = &[
    "suggest",
    "recommend",
    "use",
    "call",
    "answer",
    "reply",
    "respond",
    "write",
    "send",
    "mention",
    "assume",
    "include",
    "add",
    "give",
    "speak",
    "address",
    "offer",
    "propose",
    "remind",
    "ask",
];

/// The clause with the "I" that informal speech leaves out, when it does.
fn elided(text: &str, words: &[&str]) -> Option<String> {
    let skip = usize::from(matches!(
        words.first(),
        Some(&("just" | "recently" | "finally" | "also" | "actually"))
    ));
    let front = match words.get(skip).copied()? {
        "went" | "got" | "took" | "met" | "bought" | "visited" | "joined" | "ran" | "moved" | "decided" | "spent"
        | "watched" | "had" | "finished" | "started" | "made" | "saw" | "tried" | "signed" | "adopted" | "passed"
        | "quit" => "I",
        "gonna" if words.get(skip + 1) != Some(&"be") => "I'm",
        "trying" | "working" | "thinking" | "planning" | "researching" | "looking" | "learning" | "living"
        | "studying" | "training" | "hoping" | "writing" | "reading" | "taking" | "moving" | "applying"
            if words.len() > skip + 2 && !words.iter().any(|w| is_linking(w)) =>
        {
            "I'm"
        }
        "been" if words.len() > skip + 2 && words[skip + 1].ends_with("ing") => "I've",
        _ => return None,
    };
    let first_person = words.iter().take(3).any(|w| is_i(w));
    (!first_person && words.len() >= skip + 3).then(|| format!("{front} {}", lowered_first(text)))
}

/// Whether a gerund before it is the subject: "Painting is fun", "Taking care of ourselves is vital".
fn is_linking(word: &str) -> bool {
    matches!(
        word,
        "is" | "was" | "are" | "helps" | "makes" | "has" | "can" | "keeps" | "takes" | "seems" | "means" | "gives"
    )
}

fn lowered_first(text: &str) -> String {
    let acronym = text.chars().nth(1).is_some_and(char::is_uppercase);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !acronym => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Spaces tidied, loose marks at the end gone, a full stop put.
fn finish(text: &str) -> String {
    let text: String = text.chars().filter(|c| !is_emoji(*c)).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let dangling = [
        ", but overall",
        ", and then",
        ", but then",
        ", though",
        ", but still",
        ", and so",
    ];
    let text = dangling
        .iter()
        .find_map(|tail| text.trim_end_matches('.').strip_suffix(tail))
        .unwrap_or(&text);
    let text = text.trim_end_matches([',', ';', ':', '-', '–', '—', '.', '!', ' ', '(', '~', '*']);
    format!("{text}.")
}

/// The clauses of a sentence that can stand alone; questions that follow a statement are cut off.
fn clauses<'a>(sentence: &Sentence<'a>) -> Vec<&'a str> {
    let text = sentence.text;
    let found = tokens(text);
    let words = lowered(&found);
    let mut cuts: Vec<(usize, usize, bool)> = Vec::new();
    let mut quoted = false;
    let mut asked = None;
    for at in 1..found.len() {
        if matches!(words[at], "\"" | "“" | "”" | "«" | "»") {
            quoted = !quoted;
        }
        if quoted {
            continue;
        }
        let mut before = at;
        while before > 0
            && matches!(
                words[before - 1],
                "and" | "but" | "so" | "or" | "then" | "plus" | "yet" | "also"
            )
        {
            before -= 1;
        }
        let conjoined = before < at;
        let mark = before > 0 && matches!(words[before - 1], "," | ";" | "—" | "–" | "-" | "…" | ":");
        let left = cuts.last().map_or(0, |(_, to, _)| *to);
        if !(conjoined || mark) || before <= left {
            continue;
        }
        let from = before - usize::from(mark);
        let next = words.get(at + 1).copied().unwrap_or("");
        let asks = screen::ASKING.contains(words[at])
            && (matches!(
                next,
                "you"
                    | "i"
                    | "we"
                    | "it"
                    | "there"
                    | "my"
                    | "the"
                    | "that"
                    | "u"
                    | "about"
                    | "are"
                    | "is"
                    | "should"
                    | "do"
                    | "can"
            ) || (sentence.end == '?' && mark));
        let asks = asks || (sentence.end == '?' && mark && matches!(words[at], "want" | "wanna" | "fancy" | "care"));
        if asks || (sentence.end == '?' && matches!(words[at], "you" | "any" | "right" | "huh")) {
            asked = Some(from);
            break;
        }
        let dash = mark && matches!(words[before - 1], "-" | "–" | "—" | ";") && is_i(words[at]);
        // What follows "but if we share them," belongs to the condition.
        let open = words[left..from]
            .iter()
            .rposition(|w| matches!(*w, "and" | "but" | "," | "so"));
        let condition =
            open.is_some_and(|open| matches!(words.get(left + open + 1), Some(&("if" | "when" | "because"))));
        // "They pushed it: the proposal is due on Friday", and not "CS:GO" or "three pets: a dog and two cats".
        let news = words[from] == ":" && found[at].start > found[from].end() && before - left <= 6;
        if news && mark && !condition && !words[left..from].iter().any(|w| is_first_person(w)) && has_verb(&words[at..])
        {
            cuts.push((from, at, true));
            continue;
        }
        let stands = !condition && (stands_alone(&words[left..from]) || (dash && from > left + 1));
        // "and now I work": the adverb goes with what follows.
        let adverb = matches!(words[at], "now" | "currently" | "today" | "nowadays") && is_i(next);
        if (is_i(words[at]) || adverb || (matches!(words[at], "my" | "our") && has_verb(&words[at..]))) && stands {
            cuts.push((from, at, true));
        } else if stands
            && (matches!(
                words[at],
                "here's" | "let's" | "take" | "check" | "look" | "see" | "can't" | "pretty" | "love"
            ) && mark
                || (words[at] == "so" && mark && !is_i(next) && !matches!(next, "now" | "my" | "our"))
                || matches!(words[at], "let's")
                || matches!(
                    words[at],
                    "it" | "it's" | "that's" | "you" | "you're" | "they" | "he" | "she" | "this" | "which" | "please"
                )
                || (mark
                    && matches!(words[at], "the" | "everyone" | "everybody" | "there" | "there's")
                    && words[at..]
                        .iter()
                        .take(4)
                        .any(|w| matches!(*w, "is" | "was" | "are" | "were" | "there's"))))
        {
            cuts.push((from, at, words[at] == "please"));
        }
    }
    if sentence.end == '?' && asked.is_none() {
        return Vec::new();
    }
    let stop = asked.unwrap_or(found.len());
    let mut result = Vec::new();
    let (mut begin, mut keep) = (0, true);
    for (from, to, goes_on) in cuts.into_iter().chain([(stop, stop, false)]) {
        if keep
            && from > begin
            && let (Some(first), Some(last)) = (found.get(begin), found.get(from - 1))
        {
            result.push(&text[first.start..last.end()]);
        }
        (begin, keep) = (to, goes_on);
    }
    result
}

/// Whether the words are a clause of the first person by themselves, so that what follows may be cut off.
fn stands_alone(words: &[&str]) -> bool {
    let words = &words[lead(words, |_| false)..];
    let Some(first) = words.first() else { return false };
    let count = words.iter().filter(|w| w.chars().any(char::is_alphanumeric)).count();
    if is_i(first) {
        return count >= 2;
    }
    if matches!(*first, "if" | "when" | "while" | "unless" | "once" | "whenever") {
        return false;
    }
    count >= 3
        && (has_verb(words) || matches!(*first, "it's" | "that's"))
        && (matches!(*first, "my" | "our" | "it" | "it's" | "that" | "that's" | "this")
            || words.iter().any(|w| is_i(w))
            || is_elided(first))
}

fn is_elided(word: &str) -> bool {
    super::verb::is_unchanging(word) || word.ends_with("ing") || word == "gonna"
}

fn has_verb(words: &[&str]) -> bool {
    words.iter().skip(1).any(|w| {
        is_linking(w)
            || matches!(
                *w,
                "were" | "have" | "had" | "will" | "am" | "i'm" | "i've" | "isn't" | "doesn't" | "lives" | "works"
            )
            || super::verb::is_unchanging(w)
    }) || words.first().is_some_and(|w| is_elided(w))
}
