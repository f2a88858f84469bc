//! Splits text into the words and pieces of words that the table knows, as its model was trained to: lower case, no
//! accents, punctuation and ideographs apart, then the longest known piece from the left (WordPiece).

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// A word of more characters has no pieces.
const LONGEST: usize = 100;

/// The words of a text, normalised.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let apart: String = text.chars().filter(|c| !is_dropped(*c)).flat_map(set_apart).collect();
    for c in apart.nfd().filter(|c| !is_accent(*c)) {
        if c.is_whitespace() || is_punctuation(c) {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                words.push(c.to_string());
            }
        } else {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The pieces of a word, each as `find` knows it; `None` when some part of it has none.
pub(super) fn pieces(word: &str, find: impl Fn(&str) -> Option<usize>) -> Option<Vec<usize>> {
    const INSIDE: &str = "##";
    if word.chars().count() > LONGEST {
        return None;
    }
    let mut found = Vec::new();
    let (mut rest, mut mark) = (word.to_owned(), 0);
    while rest.len() > mark {
        let ends = (mark + 1..=rest.len()).rev().filter(|end| rest.is_char_boundary(*end));
        let (end, row) = ends
            .map(|end| (end, find(&rest[..end])))
            .find_map(|(end, row)| Some((end, row?)))?;
        found.push(row);
        rest.replace_range(..end, INSIDE);
        mark = INSIDE.len();
    }
    Some(found)
}

/// Control and format characters, and what stands for an unreadable one.
fn is_dropped(c: char) -> bool {
    let control = || {
        matches!(
            c.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
        )
    };
    c == '\u{fffd}' || (!matches!(c, ' '..='~' | '\t' | '\n' | '\r') && control())
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

/// An ideograph between spaces; anything else as it is.
fn set_apart(c: char) -> impl Iterator<Item = char> {
    let space = is_ideograph(c).then_some(' ');
    space.into_iter().chain([c]).chain(space)
}

/// The blocks of ideographs that the model's tokenizer sets apart.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF | 0x2A700..=0x2CEAF | 0x2F800..=0x2FA1F)
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation)
}
