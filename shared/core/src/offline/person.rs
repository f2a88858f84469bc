//! From the first person to the third: "I'm proud of my work" becomes "maya is proud of their work".

use super::lexicon::is_adverb;
use super::token::{Kind, lower, tokens};
use super::verb;

/// A word with the text before it.
#[derive(Clone, Debug)]
struct Piece {
    before: String,
    word: String,
    lower: String,
    /// Stands inside quotation marks: somebody's words or a title, never rewritten.
    quoted: bool,
}

impl Piece {
    fn new(before: &str, word: &str, quoted: bool) -> Self {
        Self {
            before: before.to_owned(),
            word: word.to_owned(),
            lower: lower(word),
            quoted,
        }
    }

    fn set(&mut self, word: impl Into<String>) {
        self.word = word.into();
        self.lower = lower(&self.word);
    }

    fn is(&self, words: &[&str]) -> bool {
        !self.quoted && words.contains(&self.lower.as_str())
    }
}

/// Verbs that "we" share with "I": who lives with somebody lives there.
const SHARED_BY_WE: &[&str] = &[
    "live",
    "lived",
    "moved",
    "relocated",
    "have",
    "adopted",
    "own",
    "rent",
    "bought",
    "got",
    "named",
];

/// What "our" makes the speaker's own; anything else may be a team's or everybody's ("our kids are our future").
const HOUSEHOLD: &[&str] = &[
    "dog",
    "cat",
    "puppy",
    "kitten",
    "house",
    "apartment",
    "home",
    "flat",
    "garden",
    "car",
    "son",
    "daughter",
    "baby",
    "wedding",
    "anniversary",
    "honeymoon",
    "family",
    "twins",
    "toddler",
    "newborn",
    "son's",
    "daughter's",
    "dogs",
    "cats",
    "landlord",
];

/// Rewrites a clause that begins with a first-person subject, possibly after an adverbial ("Last week I …"), or that
/// speaks of the first person as an object or owner. `None` when there is no first person in it.
///
/// The first mention becomes the name, later ones "they", "them", "their": no gender is guessed.
pub(super) fn third_person(clause: &str, peer: &str) -> Option<String> {
    let mut pieces = pieces(clause);
    let subject = subject_at(&pieces);
    let past = pieces.iter().any(|p| {
        p.is(&[
            "yesterday",
            "ago",
            "last",
            "finished",
            "was",
            "were",
            "just",
            "recently",
        ])
    });
    let mut named = false;
    if let Some(at) = subject {
        if at >= 2 && pieces[at - 1].is(&["and"]) && starts_companion(&pieces[..at - 1]) {
            compound(&mut pieces, at, peer);
        } else {
            name_subject(&mut pieces, at, peer, past);
        }
        named = true;
        for place in 0..at {
            if pieces[place].is(&["i", "we"]) {
                agree_with_they(&mut pieces, place);
            }
            pronoun(&mut pieces[place], None);
        }
    } else if pieces.first().is_some_and(|p| p.is(&["me"])) && pieces.get(1).is_some_and(|p| p.is(&["and"])) {
        pieces[0].set(peer);
        named = true;
    }
    let from = subject.map_or(0, |at| at + 1);
    for at in from..pieces.len() {
        if pieces[at].quoted {
            continue;
        }
        if pieces[at].is(&["i", "we"]) {
            pieces[at].set(if named { "they" } else { peer });
            if named {
                agree_with_they(&mut pieces, at);
            } else if let Some(verb) = verb_after(&pieces, at).filter(|verb| pieces[*verb].is(&["am"])) {
                pieces[verb].set("is");
            }
            named = true;
        } else if !named && pieces[at].is(&["our"]) && !pieces.get(at + 1).is_some_and(|p| p.is(HOUSEHOLD)) {
            pieces[at].set(format!("{peer} and others'"));
            named = true;
        } else if pronoun(&mut pieces[at], (!named).then_some(peer)) {
            named = true;
        }
    }
    named.then(|| {
        let mut text = String::with_capacity(clause.len() + 16);
        for piece in &pieces {
            text.push_str(&piece.before);
            text.push_str(&piece.word);
        }
        text.trim().to_owned()
    })
}

/// Makes the verb of "I" at `subject` agree with "they", which takes its place.
fn agree_with_they(pieces: &mut [Piece], subject: usize) {
    if let Some(verb) = verb_after(pieces, subject)
        && let Some(form) = verb::plural(&pieces[verb].lower)
    {
        pieces[verb].set(form);
    }
}

/// Replaces an object, owner or reflexive pronoun; tells whether it was one. `name` is given for the first mention.
fn pronoun(piece: &mut Piece, name: Option<&str>) -> bool {
    if piece.quoted {
        return false;
    }
    let word = match piece.lower.as_str() {
        "me" | "us" => name.map_or("them".into(), str::to_owned),
        "my" | "our" => name.map_or("their".into(), |name| format!("{name}'s")),
        "mine" | "ours" => name.map_or("theirs".into(), |name| format!("{name}'s own")),
        "myself" => name.map_or("themself".into(), str::to_owned),
        "ourselves" => name.map_or("themselves".into(), str::to_owned),
        "i" | "we" => name.map_or("they".into(), str::to_owned),
        _ => return false,
    };
    piece.set(word);
    true
}

/// Where the subject "I" or "we" of the main clause stands.
fn subject_at(pieces: &[Piece]) -> Option<usize> {
    let firsts: Vec<usize> = (0..pieces.len()).filter(|at| pieces[*at].is(&["i", "we"])).collect();
    let first = *firsts.first()?;
    let adverbial = super::screen::ADVERBIAL.contains(pieces[0].lower.as_str());
    let beside = first >= 2 && pieces[first - 1].is(&["and"]);
    let met = pieces[..first].iter().any(|p| p.is(&["me", "us", "my", "our"]));
    if first > 0 && met && !adverbial && !beside {
        // "Seeing it made me feel that I am …": the speaker is met before being a subject.
        return None;
    }
    let owner = pieces[0].is(&["my", "our", "me"]);
    if owner && !(first >= 2 && pieces[first - 1].is(&["and"]) && starts_companion(&pieces[..first - 1])) {
        return None;
    }
    let subordinate = pieces[0].is(&[
        "since", "when", "while", "after", "before", "as", "because", "although", "though", "once", "until", "whenever",
    ]);
    let direct = first == 1 || !pieces[0].is(&["since", "after", "before", "as", "until"]);
    if subordinate && direct && first <= 3 {
        let comma = pieces.iter().position(|p| p.word == ",")?;
        return firsts.into_iter().find(|at| *at > comma);
    }
    Some(first)
}

/// "My wife", "Ana", "My two kids": somebody named before "and I", without a verb.
fn starts_companion(pieces: &[Piece]) -> bool {
    (1..=4).contains(&pieces.len())
        && !pieces
            .iter()
            .any(|p| super::lexicon::TEMPORAL.contains(p.lower.as_str()))
        && (pieces[0].is(&["my", "our", "the", "me"]) || pieces[0].word.chars().next().is_some_and(char::is_uppercase))
        && !pieces.iter().any(|p| {
            p.is(&[
                "is", "are", "was", "were", "has", "have", "had", "will", "can", ",", "it's", "that's", "it", "this",
                "that",
            ]) || (p.lower.len() > 4 && p.lower.ends_with("ed"))
        })
}

/// "My wife and I" becomes "maya and their wife".
fn compound(pieces: &mut Vec<Piece>, at: usize, peer: &str) {
    let companions: Vec<Piece> = pieces.drain(..at - 1).collect();
    pieces[0].set("and");
    pieces[0].before = " ".into();
    pieces.remove(1);
    let mut front = vec![Piece::new("", peer, true), pieces.remove(0)];
    for (place, mut piece) in companions.into_iter().enumerate() {
        if place == 0 {
            piece.before = " ".into();
            if piece.is(&["my", "our"]) {
                piece.set("their");
            } else if super::lexicon::STOP.contains(piece.lower.as_str()) {
                let plain = piece.lower.clone();
                piece.set(plain);
            }
        }
        front.push(piece);
    }
    let rest = std::mem::replace(pieces, front);
    pieces.extend(rest);
}

/// Puts the name in the subject's place and makes the verbs agree.
fn name_subject(pieces: &mut [Piece], at: usize, peer: &str, past: bool) {
    let verb = verb_after(pieces, at);
    let shared = |verb: usize| {
        let owned = || {
            let got = usize::from(pieces.get(verb + 1).is_some_and(|p| p.is(&["got"])));
            pieces
                .get(verb + 1 + got)
                .is_some_and(|p| p.is(&["a", "an", "two", "three", "no", "one", "four"]))
        };
        pieces[verb].is(SHARED_BY_WE) && (!pieces[verb].is(&["have"]) || owned())
    };
    let all = pieces.get(at + 1).is_some_and(|p| p.is(&["all", "both"]));
    let alone = pieces[at].is(&["i"]) || (!all && verb.is_some_and(shared));
    if !alone {
        pieces[at].set(format!("{peer} and others"));
        return;
    }
    pieces[at].set(peer);
    let Some(verb) = verb else { return };
    let base = pieces[verb].lower.clone();
    let agreed = verb::third_person(&base, past);
    let present = agreed != base && !matches!(agreed.as_str(), "is" | "was" | "has" | "does not" | "is not");
    pieces[verb].set(agreed);
    if present {
        second_verb(pieces, verb);
    }
}

/// "runs and swim" → "runs and swims": a base form after "and" that belongs to the same subject.
fn second_verb(pieces: &mut [Piece], first: usize) {
    let infinitive = |p: &Piece| p.is(&["to", "can", "will", "help", "let", "make"]);
    let mut at = first + 1;
    while at + 1 < pieces.len() && at < first + 12 {
        if infinitive(&pieces[at]) {
            return;
        }
        let next = at + 1 + usize::from(is_adverb(&pieces[at + 1].lower));
        if pieces[at].is(&["and", "but", "or"]) && next < pieces.len() && verb::is_base(&pieces[next].lower) {
            let object = pieces
                .get(next + 1)
                .is_some_and(|p| p.is(&["a", "an", "the", "my", "our", "to", "in", "at", "with", "it", "for"]));
            if (at == first + 1 || object) && !pieces[next].quoted {
                let agreed = verb::third_person(&pieces[next].lower, false);
                pieces[next].set(agreed);
            }
        }
        at += 1;
    }
}

/// The verb that a subject governs: the next word that is no adverb.
fn verb_after(pieces: &[Piece], subject: usize) -> Option<usize> {
    (subject + 1..pieces.len().min(subject + 5))
        .find(|at| {
            let no_longer = (pieces[*at].is(&["no"]) && pieces.get(at + 1).is_some_and(|p| p.is(&["longer"])))
                || (pieces[*at].is(&["longer"]) && pieces[at - 1].is(&["no"]));
            let measure =
                pieces[*at].word == "%" || pieces[*at].word.ends_with(|c: char| c.is_ascii_digit() || c == '%');
            !is_adverb(&pieces[*at].lower) && pieces[*at].word != "," && !no_longer && !measure
        })
        .filter(|at| !pieces[*at].quoted && pieces[*at].word.chars().any(char::is_alphabetic))
}

/// Cuts a clause into words, contractions of the first person opened.
fn pieces(clause: &str) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let (mut from, mut quote) = (0, None);
    for token in tokens(clause) {
        let before = &clause[from..token.start];
        from = token.end();
        if token.kind == Kind::Mark {
            let closes = quote.is_some_and(|close| close == token.text);
            quote = match token.text {
                _ if closes => None,
                _ if quote.is_some() => quote,
                "\"" if clause[from..].contains('"') => Some("\""),
                "“" => Some("”"),
                "«" => Some("»"),
                "「" => Some("」"),
                _ => None,
            };
            found.push(Piece::new(before, token.text, true));
            continue;
        }
        let quoted = quote.is_some();
        let after_have = found.last().is_some_and(|p| p.is(&["have"]));
        let open: &[&str] = match token.lower.as_str() {
            _ if quoted => &[],
            "i'm" | "im" => &["I", "am"],
            "i've" | "ive" => &["I", "have"],
            "i'll" => &["I", "will"],
            "i'd" => &["I", "had"],
            "we're" => &["we", "are"],
            "we've" => &["we", "have"],
            "we'll" => &["we", "will"],
            "we'd" => &["we", "had"],
            "gonna" => &["going", "to"],
            "wanna" => &["want", "to"],
            "gotta" if after_have => &["got", "to"],
            "gotta" => &["have", "to"],
            "cuz" | "coz" => &["because"],
            _ => &[],
        };
        match open {
            [] => found.push(Piece::new(before, token.text, quoted)),
            [first, rest @ ..] => {
                found.push(Piece::new(before, first, false));
                found.extend(rest.iter().map(|word| Piece::new(" ", word, false)));
            }
        }
    }
    if from < clause.len() {
        found.push(Piece::new(&clause[from..], "", true));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_person_becomes_the_third() {
        for (said, expected) in [
            ("I work at Intel as an engineer", "maya works at Intel as an engineer"),
            ("I'm a nurse", "maya is a nurse"),
            ("I've never been to Rome", "maya has never been to Rome"),
            ("I don't like olives", "maya does not like olives"),
            (
                "i really love my dog because he makes me happy",
                "maya really loves their dog because he makes them happy",
            ),
            ("My sister lives in Rome", "maya's sister lives in Rome"),
            ("my favourite colour is teal", "maya's favourite colour is teal"),
            ("We went camping", "maya and others went camping"),
            ("We live in Lisbon with our cat", "maya lives in Lisbon with their cat"),
            ("My wife and I moved to Oslo", "maya and their wife moved to Oslo"),
            (
                "Since I moved, I've had no car",
                "Since they moved, maya has had no car",
            ),
            ("In my free time I paint", "In their free time maya paints"),
            (
                "I was tired because I was up late",
                "maya was tired because they were up late",
            ),
            ("I run and swim", "maya runs and swims"),
            (
                "I cook for friends and love my job",
                "maya cooks for friends and loves their job",
            ),
            ("I love to run and swim", "maya loves to run and swim"),
            ("The group made me feel welcome", "The group made maya feel welcome"),
            ("I'm gonna travel", "maya is going to travel"),
            (
                "I read \"I am Malala\" last week",
                "maya read \"I am Malala\" last week",
            ),
            ("I teach and I learn", "maya teaches and they learn"),
            (
                "Seeing the sea made me feel that I am small",
                "Seeing the sea made maya feel that they are small",
            ),
            ("I quickly apply paint", "maya quickly applies paint"),
        ] {
            assert_eq!(third_person(said, "maya").as_deref(), Some(expected));
        }
        assert_eq!(third_person("The weather is nice", "maya"), None);
    }
}
