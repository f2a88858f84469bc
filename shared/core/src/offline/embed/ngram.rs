//! Hashed words and character n-grams: what texts have in common by their looks, in any script.

use crate::conclusion::Embedding;
use crate::offline::lexicon::STOP;
use crate::offline::token::{Token, fold_width, is_ideographic, is_unspaced, tokens};

/// Components of a vector.
pub(super) const DIMENSIONS: usize = 256;
/// Weight of a word as a whole.
const WORD: i32 = 6;
/// Weight of a function word.
const STOP_WORD: i32 = 1;
/// Weight of one n-gram inside a word.
const GRAM: i32 = 2;

/// The sums of a text's hashed words and character n-grams: texts that share words or parts of words have like sums, in
/// any script. All zeros when it has neither letters nor digits.
pub(super) fn sums(text: &str) -> [i32; DIMENSIONS] {
    let folded = fold_width(text);
    let mut sums = [0_i32; DIMENSIONS];
    let found = tokens(&folded);
    for (at, token) in found.iter().enumerate() {
        if token.is_word() {
            add_word(&mut sums, token, found.get(at + 1));
        }
    }
    sums
}

/// The vector of hashed words and n-grams alone: what two texts have in common by their looks.
pub fn ngram_vector(text: &str) -> Embedding {
    Embedding::of_direction("ngram", &sums(text).map(f64::from))
}

fn add_word(sums: &mut [i32; DIMENSIONS], token: &Token<'_>, next: Option<&Token<'_>>) {
    let word = token.lower.as_str();
    if word.chars().any(is_ideographic) {
        add(sums, &[word], WORD / 2);
        if let Some(next) = next.filter(|n| n.start == token.end() && n.lower.chars().any(is_ideographic)) {
            add(sums, &[word, next.lower.as_str()], WORD);
        }
        return;
    }
    if STOP.contains(word) {
        add(sums, &[word], STOP_WORD);
        return;
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    add(sums, &["^", word, "$"], WORD);
    let sizes = if word.chars().any(is_unspaced) { 2..=4 } else { 3..=4 };
    let ends: Vec<usize> = word.char_indices().map(|(b, _)| b).chain([word.len()]).collect();
    for size in sizes {
        for (place, window) in ends.windows(size + 1).enumerate() {
            let gram = &word[window[0]..window[size]];
            if place == 0 {
                add(sums, &["^", gram], GRAM);
            } else {
                add(sums, &[gram], GRAM);
            }
        }
    }
}

/// Adds a feature at the place and with the sign that its hash (FNV-1a, 64 bits) gives.
fn add(sums: &mut [i32; DIMENSIONS], parts: &[&str], weight: i32) {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^= hash >> 32;
    let sign = if hash & 0x100 == 0 { 1 } else { -1 };
    if let Some(sum) = usize::try_from(hash & 0xff).ok().and_then(|place| sums.get_mut(place)) {
        *sum = sum.saturating_add(sign * weight);
    }
}
