//! The table of word vectors, as `shared/core/embedding/distil.py` writes it. It is read where it lies in the program:
//! nothing is copied, parsed or hashed into a map.

use sha2::{Digest as _, Sha256};

/// The table that is part of the program.
pub(super) static BYTES: &[u8] = include_bytes!("../../../embedding/minilm-128.bin");
/// What it must be: the model's id stands for this very table.
const SHA256: &str = "43808cb490187ef22796707b111f2de10e1b278eb281dccb450584e5d0d0838c";
/// What a table begins with.
const MAGIC: &[u8] = b"RVTABLE1";
/// Components of a row.
pub(super) const DIMENSIONS: usize = 128;

/// The table is not the one that the model's id stands for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the embedding table is another one: its SHA-256 is {found}, expected {SHA256}")]
pub struct WordTableError {
    found: String,
}

/// Word vectors by word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// Where each word's text ends, 4 bytes each.
    ends: &'static [u8],
    /// The words, sorted by their bytes.
    text: &'static [u8],
    /// The rows' weights, 2 bytes each.
    weights: &'static [u8],
    /// The rows.
    rows: &'static [u8],
}

impl Table {
    /// The table in `bytes`, if it is the right one.
    pub(super) fn checked(bytes: &'static [u8]) -> Result<Self, WordTableError> {
        let found = hex(&Sha256::digest(bytes));
        let table = (found == SHA256).then(|| Self::parse(bytes)).flatten();
        table.ok_or(WordTableError { found })
    }

    /// The parts of a table; `None` when the bytes are none.
    fn parse(bytes: &'static [u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut take = |length: usize| {
            let (part, left) = rest.split_at_checked(length)?;
            rest = left;
            Some(part)
        };
        let head = take(12)?;
        let (rows, dimensions, text) = (number(head, 0)?, number(head, 1)?, number(head, 2)?);
        let table = Self {
            ends: take(rows.checked_mul(4)?)?,
            text: take(text)?,
            weights: take(rows.checked_mul(2)?)?,
            rows: take(rows.checked_mul(DIMENSIONS)?)?,
        };
        (dimensions == DIMENSIONS && rest.is_empty()).then_some(table)
    }

    /// The row of a word, or of a piece inside a word (`##piece`).
    pub(super) fn find(&self, word: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.ends.len() / 4);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.word(middle)?.cmp(word.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn word(&self, row: usize) -> Option<&'static [u8]> {
        let begin = if row == 0 { 0 } else { number(self.ends, row - 1)? };
        self.text.get(begin..number(self.ends, row)?)
    }

    /// Adds a row, weighed, to `sums`; in whole numbers, so that the order of words changes nothing.
    pub(super) fn add(&self, row: usize, sums: &mut [i64; DIMENSIONS]) {
        let weight = self.weights.get(2 * row..2 * row + 2);
        let row = self.rows.get(row * DIMENSIONS..(row + 1) * DIMENSIONS);
        if let (Some(&[low, high]), Some(row)) = (weight, row) {
            let weight = i64::from(u16::from_le_bytes([low, high]));
            for (sum, component) in sums.iter_mut().zip(row) {
                *sum += weight * i64::from(component.cast_signed());
            }
        }
    }

    #[cfg(test)]
    pub(super) fn text_of(&self, row: usize) -> String {
        String::from_utf8_lossy(self.word(row).unwrap_or_default()).into_owned()
    }
}

/// The number at `place` in a list of little-endian numbers of 4 bytes.
fn number(list: &[u8], place: usize) -> Option<usize> {
    let bytes = list.get(4 * place..4 * place + 4)?;
    usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_table_is_refused() {
        let mut other = BYTES.to_vec();
        let last = other.len() - 1;
        other[last] ^= 1;
        let error = Table::checked(other.leak()).err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("expected") && e.contains(SHA256)));
        assert!(Table::checked(b"").is_err());
        assert!(Table::checked(&BYTES[..BYTES.len() - 1]).is_err());
        assert!(Table::checked(BYTES).is_ok());
    }

    #[test]
    fn a_word_is_found_where_it_stands_and_nothing_else_is() {
        let table = Table::parse(BYTES);
        let found = |word| {
            table
                .and_then(|t| t.find(word))
                .map(|row| table.map(|t| t.text_of(row)))
        };
        for word in ["the", "##ing", "zebra", "!", "##a"] {
            assert_eq!(found(word), Some(Some(word.to_owned())));
        }
        for word in ["", "[CLS]", "[unused0]", "kubernetes", "THE"] {
            assert_eq!(found(word), None, "{word}");
        }
    }
}
