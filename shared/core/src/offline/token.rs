//! Words of any script: where they begin and end, and which scripts are written without spaces.

use unicode_normalization::UnicodeNormalization as _;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, or letters and digits.
    Word,
    /// Begins with a digit.
    Number,
    /// A sign that carries meaning: `%`, `€`, `+`.
    Sign,
    /// Punctuation, emoji, everything else.
    Mark,
}

/// A token and where it stands in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// As written.
    pub(super) text: &'a str,
    /// Lower case, with a plain apostrophe.
    pub(super) lower: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Its first byte.
    pub(super) start: usize,
}

impl Token<'_> {
    /// The byte after it.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is a word or a number.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Number)
    }

    /// Whether it begins with a capital letter.
    pub(super) fn is_capitalised(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }
}

/// Han and kana: every character is a unit of meaning of its own here.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(u32::from(c),
        0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FF | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x20000..=0x323AF)
}

/// Thai, Lao, Khmer, Burmese: letters written without spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E01..=0x0E3A | 0x0E40..=0x0E4E | 0x0E81..=0x0ECE | 0x1000..=0x109F | 0x1780..=0x17D3)
}

/// Whether the character belongs to a word: letters, digits, and the marks that Indic, Semitic and South-East Asian
/// scripts put on letters, which are not all alphabetic by their property.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric()
        || is_unspaced(c)
        || matches!(u32::from(c),
            0x0300..=0x036F | 0x0483..=0x0489 | 0x0591..=0x05BD | 0x0610..=0x061A | 0x064B..=0x065F | 0x0670
            | 0x0900..=0x0963 | 0x0971..=0x0DF3 | 0x200C | 0x200D)
}

fn is_sign(c: char) -> bool {
    matches!(
        c,
        '%' | '$' | '€' | '£' | '¥' | '₹' | '+' | '#' | '&' | '@' | '°' | '=' | '<' | '>' | '‰'
    )
}

/// Whether `c` holds a word together when it stands between `before` and `after`.
fn joins(before: char, c: char, after: char) -> bool {
    match c {
        '\'' | '’' => before.is_alphanumeric() && after.is_alphabetic(),
        '-' | '_' | '@' => before.is_alphanumeric() && after.is_alphanumeric(),
        '.' | ':' | '/' => {
            (before.is_ascii_digit() && after.is_ascii_digit())
                || (c == '.' && before.is_alphabetic() && after.is_lowercase() && !is_ideographic(before))
        }
        ',' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}

/// The tokens of a text, in order; white space is left out. Each ideograph is a token.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let at = |i: usize| chars.get(i).map_or('\0', |(_, c)| *c);
    let byte = |i: usize| chars.get(i).map_or(text.len(), |(b, _)| *b);
    let mut found = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let first = at(i);
        if first.is_whitespace() {
            i += 1;
            continue;
        }
        let begin = i;
        i += 1;
        let minus = matches!(first, '-' | '−')
            && at(i).is_ascii_digit()
            && (begin == 0 || at(begin - 1).is_whitespace() || at(begin - 1) == '(');
        let kind = if is_ideographic(first) {
            Kind::Word
        } else if minus || is_word_char(first) {
            while i < chars.len() && !is_ideographic(at(i)) {
                if is_word_char(at(i)) {
                    i += 1;
                } else if joins(at(i - 1), at(i), at(i + 1)) {
                    i += 2;
                } else {
                    break;
                }
            }
            if minus || first.is_numeric() {
                Kind::Number
            } else {
                Kind::Word
            }
        } else if is_sign(first) {
            Kind::Sign
        } else {
            Kind::Mark
        };
        let word = &text[byte(begin)..byte(i)];
        found.push(Token {
            text: word,
            lower: lower(word),
            kind,
            start: byte(begin),
        });
    }
    found
}

/// Lower case with a plain apostrophe.
pub(super) fn lower(word: &str) -> String {
    word.chars()
        .map(|c| if c == '’' { '\'' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Compatibility forms folded: full-width digits and letters become plain ones.
pub(super) fn fold_width(text: &str) -> String {
    text.nfkc().collect()
}

/// The share of a text's letters that is Latin, 0 to 1; 1 when it has no letters.
pub(super) fn latin_share(text: &str) -> f32 {
    let (mut latin, mut all) = (0_u16, 0_u16);
    for c in text.chars().filter(|c| c.is_alphabetic()).take(10_000) {
        all += 1;
        if u32::from(c) < 0x0250 || matches!(u32::from(c), 0x1E00..=0x1EFF) {
            latin += 1;
        }
    }
    if all == 0 {
        1.0
    } else {
        f32::from(latin) / f32::from(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|t| t.text).collect()
    }

    #[test]
    fn words_of_every_script_are_found() {
        assert_eq!(
            words("I don't work at Node.js, v1.2 at 3:30pm."),
            ["I", "don't", "work", "at", "Node.js", ",", "v1.2", "at", "3:30pm", "."]
        );
        assert_eq!(
            words("改回2秒（PID 26061）"),
            ["改", "回", "2", "秒", "（", "PID", "26061", "）"]
        );
        assert_eq!(words("วันศุกร์ของ ทุก"), ["วันศุกร์ของ", "ทุก"]);
        assert_eq!(words("उपयोगकर्ता का समय"), ["उपयोगकर्ता", "का", "समय"]);
        assert_eq!(
            words("a-b user_1 -5 °C 10%"),
            ["a-b", "user_1", "-5", "°", "C", "10", "%"]
        );
        assert_eq!(words("أعمل في القاهرة."), ["أعمل", "في", "القاهرة", "."]);
    }

    #[test]
    fn scripts_are_weighed() {
        assert!(latin_share("你好 SQLite") > 0.5);
        assert!(latin_share("将间隔时间改回2秒，重新加载完成（PID 26061）") < 0.5);
        assert!((latin_share("123") - 1.0).abs() < f32::EPSILON);
    }
}
