//! Attitudes: whether the peer likes or dislikes something, and which attitudes are opposite.

use super::lexicon::DETERMINER;
use super::same;
use super::token::tokens;

/// What a peer thinks of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attitude {
    /// The thing, in normal form.
    pub(super) object: String,
    /// The thing as written.
    pub(super) shown: String,
    /// Liked, or disliked.
    pub(super) likes: bool,
}

/// Verb phrases after the name, with the side they take.
const PHRASES: &[(&str, bool)] = &[
    ("loves", true),
    ("likes", true),
    ("enjoys", true),
    ("adores", true),
    ("is a fan of", true),
    ("is a big fan of", true),
    ("is fond of", true),
    ("is into", true),
    ("hates", false),
    ("dislikes", false),
    ("detests", false),
    ("despises", false),
    ("cannot stand", false),
    ("can't stand", false),
    ("does not like", false),
    ("does not enjoy", false),
    ("doesn't like", false),
    ("doesn't enjoy", false),
    ("is not a fan of", false),
    ("is no fan of", false),
    ("no longer likes", false),
    ("no longer enjoys", false),
];

/// The attitude that a statement states, when it states nothing else.
pub(super) fn read(peer: &str, content: &str) -> Option<Attitude> {
    let rest = content.get(peer.len()..)?.strip_prefix(' ')?;
    if !content[..peer.len()].eq_ignore_ascii_case(peer) {
        return None;
    }
    let words: Vec<_> = tokens(rest)
        .into_iter()
        .enumerate()
        .filter(|(at, t)| {
            *at > 2
                || !matches!(
                    t.lower.as_str(),
                    "really"
                        | "now"
                        | "still"
                        | "absolutely"
                        | "also"
                        | "just"
                        | "totally"
                        | "truly"
                        | "very"
                        | "much"
                        | "always"
                )
        })
        .map(|(_, t)| t)
        .collect();
    let lowered: Vec<&str> = words.iter().map(|t| t.lower.as_str()).collect();
    let (length, likes) = PHRASES.iter().find_map(|(phrase, likes)| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        lowered.starts_with(&parts).then_some((parts.len(), *likes))
    })?;
    let mut end = length;
    while end < words.len()
        && (words[end].is_word() || words[end].text == "'")
        && !matches!(
            lowered[end],
            "because"
                | "since"
                | "so"
                | "but"
                | "though"
                | "anymore"
                | "although"
                | "now"
                | "nowadays"
                | "lately"
                | "again"
                | "too"
        )
    {
        end += 1;
    }
    let first = length + usize::from(lowered.get(length).is_some_and(|w| DETERMINER.contains(w)));
    let last = words.get(end.checked_sub(1)?)?;
    let object = rest.get(words.get(first)?.start..last.end())?;
    let begun = matches!(
        lowered[first],
        "to" | "it" | "that" | "them" | "how" | "when" | "what" | "being"
    );
    (first < end && end - first <= 6 && !begun).then(|| Attitude {
        object: same::key(object),
        shown: object.to_owned(),
        likes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attitudes_take_a_side_towards_an_object() {
        let read = |content| read("maya", content).map(|a| (a.object, a.likes));
        assert_eq!(read("maya loves Chinese food."), Some(("chinese food".into(), true)));
        assert_eq!(
            read("maya really hates Chinese food."),
            Some(("chinese food".into(), false))
        );
        assert_eq!(
            read("maya does not like the opera because it is long."),
            Some(("opera".into(), false))
        );
        assert_eq!(read("maya loves it."), None);
        assert_eq!(read("maya loves to swim."), None);
        assert_eq!(read("Bob loves opera."), None);
    }
}
