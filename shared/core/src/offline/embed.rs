//! The built-in embedding: hashed words and character n-grams, the same on every machine.

use async_trait::async_trait;

use super::lexicon::STOP;
use super::token::{Token, fold_width, is_ideographic, is_unspaced, tokens};
use crate::conclusion::Embedding;
use crate::reasoner::{EmbedError, Embedder};

/// Components of a vector.
const DIMENSIONS: usize = 256;
/// Weight of a word as a whole.
const WORD: i32 = 6;
/// Weight of a function word.
const STOP_WORD: i32 = 1;
/// Weight of one n-gram inside a word.
const GRAM: i32 = 2;

/// Embeds by hashing words and character n-grams into 256 signed bytes (`design.md` section 8: the zero-step default).
///
/// It finds texts that share words or parts of words, in any script; it knows no meaning, so synonyms stay apart and
/// near-identical texts with opposite meaning lie close: never merge by it alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NgramEmbedder;

impl NgramEmbedder {
    /// The model's id: any change of what is hashed or how it is weighed wants a new one.
    pub(super) const MODEL: &str = "reverie-ngram-1";

    /// The vector of one text; all zeros when it has neither letters nor digits.
    pub fn vector(text: &str) -> Embedding {
        let folded = fold_width(text);
        let mut sums = [0_i32; DIMENSIONS];
        let found = tokens(&folded);
        for (at, token) in found.iter().enumerate() {
            if token.is_word() {
                add_word(&mut sums, token, found.get(at + 1));
            }
        }
        let norm = sums.iter().map(|s| f64::from(*s) * f64::from(*s)).sum::<f64>().sqrt();
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a component of a unit vector times 127 fits a signed byte"
        )]
        let components = sums
            .iter()
            .map(|s| {
                if norm == 0.0 {
                    0
                } else {
                    (f64::from(*s) / norm * 127.0).round() as i8
                }
            })
            .collect();
        Embedding {
            model: Self::MODEL.to_owned(),
            components,
        }
    }
}

#[async_trait]
impl Embedder for NgramEmbedder {
    #[allow(clippy::unnecessary_literal_bound, reason = "the trait's signature ties it to self")]
    fn model(&self) -> &str {
        Self::MODEL
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|text| Self::vector(text)).collect())
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        NgramEmbedder::vector(a).cosine(&NgramEmbedder::vector(b)).unwrap()
    }

    #[test]
    fn related_texts_lie_closer_than_unrelated_ones_in_any_script() {
        for (text, near, far) in [
            (
                "maya works at Intel",
                "Where does maya work?",
                "the weather in Lima is mild",
            ),
            (
                "用户的部署窗口是每周二早上。",
                "用户的部署窗口是什么时候？",
                "我喜欢喝咖啡",
            ),
            ("الموعد النهائي للمشروع", "متى الموعد النهائي للمشروع؟", "أحب القهوة"),
            ("วันส่งมอบงานคือวันศุกร์", "วันส่งมอบงานคือวันอะไร", "ฉันชอบกาแฟ"),
        ] {
            assert!(cosine(text, near) > cosine(text, far) + 0.2, "{text}");
        }
    }

    #[test]
    fn the_vector_of_a_text_never_changes() {
        let vector = NgramEmbedder::vector("maya works at Intel 你好");
        let sum: i64 = (1_i64..).zip(&vector.components).map(|(i, c)| i * i64::from(*c)).sum();
        assert_eq!(
            (vector.components.len(), vector.model.as_str()),
            (256, "reverie-ngram-1")
        );
        assert_eq!(sum, GOLDEN, "changing the hash wants a new model id");
        assert!(NgramEmbedder::vector("").components.iter().all(|c| *c == 0));
        assert_eq!(NgramEmbedder::vector("Ｍａｙａ"), NgramEmbedder::vector("maya"));
    }

    const GOLDEN: i64 = 5133;
}
