//! Text: the normal form under which two conclusions are the same, cleaning at the edge, and sizes in tokens.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

/// The normal form of exact duplicates: NFKC, case-folded, runs of white space as one space, trimmed
/// (`design.md` section 5).
pub fn normalise(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes NUL characters, which Honcho strips too; all other text is kept as it is.
pub fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// The same for all keys and texts of users' JSON.
pub fn map_without_nul(map: &Map<String, Value>) -> Map<String, Value> {
    fn clean(value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(without_nul(text)),
            Value::Array(items) => items.iter().map(clean).collect(),
            Value::Object(map) => Value::Object(map_without_nul(map)),
            other => other.clone(),
        }
    }
    map.iter()
        .map(|(key, value)| (without_nul(key), clean(value)))
        .collect()
}

/// About how many o200k tokens the text has: an estimate from its letters, never zero for text that is not empty.
///
/// Words cost one token per six letters begun, other scripts one per character, digits one per three, and each mark one.
/// The exact table costs 53 MB and 185 ms to load (`style.md`); budgets do not need it.
pub fn estimate_tokens(text: &str) -> u32 {
    let mut tokens = 0_u32;
    let mut run = 0_u32;
    let mut kind = Kind::Space;
    let close = |kind: Kind, run: u32| match kind {
        Kind::Space => 0,
        Kind::Letter => run.div_ceil(6),
        Kind::Digit => run.div_ceil(3),
        Kind::Other => run,
    };
    for c in text.chars() {
        let next = Kind::of(c);
        if next == kind {
            run = run.saturating_add(1);
        } else {
            tokens = tokens.saturating_add(close(kind, run));
            (kind, run) = (next, 1);
        }
    }
    tokens = tokens.saturating_add(close(kind, run));
    if tokens == 0 && !text.is_empty() { 1 } else { tokens }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Letter,
    Digit,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        if c.is_whitespace() {
            Self::Space
        } else if c.is_ascii_digit() {
            Self::Digit
        } else if c.is_alphabetic() && u32::from(c) < 0x2E80 {
            Self::Letter
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_form_ignores_case_width_and_spacing_only() {
        assert_eq!(normalise("  Ｍaya   LIVES\u{a0}in Köln "), "maya lives in köln");
        assert_ne!(normalise("Maya lives in Köln"), normalise("Maya lives in Koln"));
        assert_eq!(normalise("将间隔时间改回2秒"), "将间隔时间改回2秒");
    }

    #[test]
    fn token_estimates_are_never_zero_for_text() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("hi"), 1);
        assert_eq!(estimate_tokens("   "), 1);
        assert_eq!(estimate_tokens("你好"), 2);
        assert_eq!(estimate_tokens("I work at Qualcomm."), 6);
    }
}
