//! The built-in embedding: word vectors distilled from a sentence model, beside hashed words and character n-grams, the
//! same on every machine.

use std::sync::OnceLock;

use async_trait::async_trait;

use super::token::fold_width;
use crate::conclusion::Embedding;
use crate::reasoner::{EmbedError, Embedder};

mod ngram;
mod table;
mod wordpiece;

pub use ngram::ngram_vector;
pub use table::WordTableError;
use table::{DIMENSIONS, Table};

/// The model's id: another table, another mixture or another hash wants a new one.
const MODEL: &str = "reverie-static-1";
/// The table's part in the similarity of two texts in plain English words; the rest is the n-grams'.
const MEANING: f64 = 0.65;

/// Embeds without a step: no key, no network, no model to run (`design.md` section 8).
///
/// A vector has two parts. The first is the mean of the word vectors of a table distilled from an English sentence model
/// (`shared/core/embedding`), rare words weighing more: it brings texts together that mean the same in other words. The
/// second hashes words and character n-grams: it finds names, numbers and misspellings, in any script. How much the first
/// counts depends on how much of the text is English words; a text in another script is its n-grams alone. So all texts
/// are in one space. Near-identical texts with opposite meaning lie close: never merge by it alone.
#[derive(Clone, Copy, Debug)]
pub struct StaticEmbedder {
    table: Table,
}

impl StaticEmbedder {
    /// With the table that is part of the program, which is checked once per process.
    ///
    /// # Errors
    /// When it is not the table that the model's id stands for.
    pub fn load() -> Result<Self, WordTableError> {
        static TABLE: OnceLock<Result<Table, WordTableError>> = OnceLock::new();
        let table = TABLE.get_or_init(|| Table::checked(table::BYTES)).clone()?;
        Ok(Self { table })
    }

    /// The vector of one text; all zeros when it has nothing that can be compared.
    pub fn vector(&self, text: &str) -> Embedding {
        let text = &fold_width(text);
        let mut meaning = [0_i64; DIMENSIONS];
        let mut letters = 0_usize;
        let mut known = 0_usize;
        for word in wordpiece::words(text) {
            let count = word.chars().filter(|c| c.is_alphanumeric()).count();
            letters += count;
            let pieces = wordpiece::pieces(&word, |piece| self.table.find(piece)).unwrap_or_default();
            if pieces.len() == 1 && word.bytes().all(|b| b.is_ascii_alphabetic()) {
                known += count;
            }
            for row in pieces {
                self.table.add(row, &mut meaning);
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "counts of letters")]
        let share = if letters == 0 {
            0.0
        } else {
            known as f64 / letters as f64
        };
        #[allow(clippy::cast_precision_loss, reason = "sums of products far below 2⁵³")]
        let meaning = unit(meaning.map(|sum| sum as f64));
        let looks = unit(ngram::sums(text).map(f64::from));
        let weight = MEANING * share;
        let parts = [
            (meaning.as_slice(), weight.sqrt()),
            (looks.as_slice(), (1.0 - weight).sqrt()),
        ];
        let mixed: Vec<f64> = parts
            .iter()
            .flat_map(|(part, weight)| part.iter().map(move |c| c * weight))
            .collect();
        Embedding::of_direction(MODEL, &mixed)
    }
}

/// The vector at length 1; zeros stay zeros.
fn unit<const N: usize>(vector: [f64; N]) -> [f64; N] {
    let norm = vector.iter().map(|c| c * c).sum::<f64>().sqrt();
    if norm == 0.0 { vector } else { vector.map(|c| c / norm) }
}

#[async_trait]
impl Embedder for StaticEmbedder {
    #[allow(clippy::unnecessary_literal_bound, reason = "the trait's signature ties it to self")]
    fn model(&self) -> &str {
        MODEL
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
