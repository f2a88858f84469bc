//! Summaries of sessions: of which kind, and after which messages.

use serde::{Deserialize, Serialize};

use crate::id::Seq;
use crate::settings::Summaries;
use crate::text::estimate_tokens;

/// The two summaries that a session has, each made from its own predecessor and the messages since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// More often, and shorter.
    Short,
    /// More rarely, and longer.
    Long,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];

    /// The wire's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
        }
    }

    /// How many messages lie between two of the kind.
    pub const fn distance(self, settings: &Summaries) -> u64 {
        match self {
            Self::Short => settings.short.value,
            Self::Long => settings.long.value,
        }
    }
}

/// The message with which the next summary ends, when the last one ended with `covered` and one is made every `distance`
/// messages: a function of sequence numbers alone, so that it is the same whenever somebody looks.
pub fn next_end(covered: Seq, distance: u64) -> Seq {
    let distance = distance.max(1);
    Seq((covered.0 / distance + 1).saturating_mul(distance))
}

/// The beginning of a text that has at most `most` tokens, by our estimate; cut between words, or inside one that is
/// long, as where a script has no spaces.
pub fn within(text: &str, most: u32) -> &str {
    const LONG_WORD: usize = 20;
    let mut left = most;
    let mut end = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let tokens = estimate_tokens(word.trim_end());
        if tokens > left {
            if word.chars().count() > LONG_WORD {
                // A character has at most one token.
                end += word.chars().take(left as usize).map(char::len_utf8).sum::<usize>();
            }
            break;
        }
        left -= tokens;
        end += word.len();
    }
    text[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_ends_at_each_multiple_of_its_distance() {
        let ends = |covered, distance| next_end(Seq(covered), distance).0;
        assert_eq!([ends(0, 20), ends(20, 20), ends(40, 20)], [20, 40, 60]);
        // After the distance has changed: the next of the new multiples.
        assert_eq!([ends(40, 15), ends(45, 20), ends(59, 60)], [45, 60, 60]);
    }

    #[test]
    fn a_text_is_cut_where_its_tokens_are_used_up() {
        assert_eq!(within("one two three", 2), "one two");
        assert_eq!(within("one two three", 3), "one two three");
        assert_eq!(within("one", 0), "");
        assert_eq!(within(&"我住在北京".repeat(10), 7), "我住在北京我住");
        let long = "word ".repeat(500) + &"字".repeat(500);
        for most in [0, 1, 17, 499, 500, 501, 777] {
            let cut = within(&long, most);
            assert!(long.starts_with(cut) && estimate_tokens(cut) == most, "{most}");
        }
    }
}
