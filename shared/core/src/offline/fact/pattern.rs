//! A small pattern language over words: `works|work at|for <v>`, `is? <k> due on|by <v>`.

use crate::offline::token::{Kind, Token};

/// One element of a pattern.
#[derive(Clone, Debug)]
enum Atom {
    /// One of these words.
    Word(Vec<&'static str>),
    /// One of these words, or nothing.
    Maybe(Vec<&'static str>),
    /// One or more words, under a letter.
    Capture(char),
}

/// A pattern, matched from the first word on.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Vec<Atom>);

/// What a match took, as places in the words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Captures {
    spans: Vec<(char, usize, usize)>,
    /// The place after the last matched word.
    pub(super) end: usize,
}

impl Captures {
    /// The text under a letter, as written.
    pub(super) fn text(&self, found: &[Token<'_>], letter: char) -> Option<String> {
        let (_, from, to) = self.spans.iter().find(|(name, _, _)| *name == letter)?;
        let mut text = String::new();
        let mut last = None;
        for token in &found[*from..*to] {
            if last.is_some_and(|end| end < token.start) {
                text.push(' ');
            }
            text.push_str(token.text);
            last = Some(token.end());
        }
        Some(text)
    }

    /// The place of the first word under a letter.
    pub(super) fn start(&self, letter: char) -> Option<usize> {
        self.spans
            .iter()
            .find(|(name, _, _)| *name == letter)
            .map(|(_, from, _)| *from)
    }
}

/// The longest capture, in words.
const MAX_CAPTURE: usize = 7;

impl Pattern {
    /// Reads a pattern: words are separated by spaces, alternatives by `|`, a trailing `?` makes a word optional,
    /// `<v>` captures.
    pub(super) fn new(text: &'static str) -> Self {
        let atom = |part: &'static str| {
            // "maya and others have": the plural goes wherever the singular does.
            let forms = |words: &'static str| {
                let plural = |word: &str| match word {
                    "is" => Some("are"),
                    "has" => Some("have"),
                    "was" => Some("were"),
                    _ => None,
                };
                words.split('|').flat_map(|w| [Some(w), plural(w)]).flatten().collect()
            };
            if let Some(letter) = part.strip_prefix('<').and_then(|rest| rest.chars().next()) {
                Atom::Capture(letter)
            } else if let Some(words) = part.strip_suffix('?') {
                Atom::Maybe(forms(words))
            } else {
                Atom::Word(forms(part))
            }
        };
        Self(text.split(' ').map(atom).collect())
    }

    /// Matches the pattern at the beginning of `found`. A capture is as short as the rest of the pattern allows, and at
    /// the end of the pattern as long as `stop` allows.
    pub(super) fn matches(&self, found: &[Token<'_>], stop: &[&str]) -> Option<Captures> {
        let mut captures = Captures::default();
        step(&self.0, found, 0, stop, &mut captures).then_some(captures)
    }
}

fn step(atoms: &[Atom], found: &[Token<'_>], at: usize, stop: &[&str], captures: &mut Captures) -> bool {
    let Some((atom, rest)) = atoms.split_first() else {
        captures.end = at;
        return true;
    };
    match atom {
        Atom::Word(words) => {
            found.get(at).is_some_and(|t| words.contains(&t.lower.as_str()))
                && step(rest, found, at + 1, stop, captures)
        }
        Atom::Maybe(words) => {
            (found.get(at).is_some_and(|t| words.contains(&t.lower.as_str()))
                && step(rest, found, at + 1, stop, captures))
                || step(rest, found, at, stop, captures)
        }
        Atom::Capture(letter) => {
            let longest = capture_end(found, at, stop, rest.is_empty());
            let mut ends: Vec<usize> = (at + 1..=longest).collect();
            if rest.is_empty() {
                ends.reverse();
            }
            ends.into_iter().any(|end| {
                captures.spans.push((*letter, at, end));
                let matched = step(rest, found, end, stop, captures);
                if !matched {
                    captures.spans.pop();
                }
                matched
            })
        }
    }
}

/// Where a capture that begins at `at` must end: at punctuation, at a stop word, after [`MAX_CAPTURE`] words. A comma
/// before a capital goes on ("Portland, Oregon") when the capture ends the pattern.
fn capture_end(found: &[Token<'_>], at: usize, stop: &[&str], last: bool) -> usize {
    let mut end = at;
    while end < found.len() && end < at + MAX_CAPTURE {
        let token = &found[end];
        let comma = token.text == "," && end > at && last && found.get(end + 1).is_some_and(Token::is_capitalised);
        if token.kind == Kind::Mark && !comma && token.text != "'" {
            break;
        }
        if stop.contains(&token.lower.as_str()) && !(end == at && token.is_capitalised()) {
            break;
        }
        end += 1;
    }
    end
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::offline::token::tokens;

    #[test]
    fn patterns_capture_words() {
        let found = tokens("works as an ICU nurse at St. Mary's since 2019");
        let captures = Pattern::new("works as a|an <k> at|for <v>")
            .matches(&found, &["since"])
            .unwrap();
        assert_eq!(captures.text(&found, 'k').as_deref(), Some("ICU nurse"));
        let found = tokens("lives in Portland, Oregon with a cat");
        let captures = Pattern::new("lives|live in the? <v>")
            .matches(&found, &["with"])
            .unwrap();
        assert_eq!(captures.text(&found, 'v').as_deref(), Some("Portland, Oregon"));
        assert_eq!(captures.end, 5);
        assert_eq!(
            Pattern::new("works at <v>").matches(&tokens("works in a bank"), &[]),
            None
        );
    }
}
