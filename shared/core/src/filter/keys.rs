//! Which rows need not be read: the values that a column must have for a row to match.

use std::collections::BTreeSet;

use super::expression::{Comparison, Expression, Filter, Operand, Test};
use super::schema::Column;

/// The values of which a row must have one; `None` when any value, or none, will do.
type Values<'a> = Option<BTreeSet<&'a str>>;

impl Filter {
    /// The texts of which a text column must have one in every row that matches; `None` when the filter does not say.
    /// A row that has one need not match: it is yet to be asked.
    pub fn values_of(&self, column: Column) -> Option<BTreeSet<&str>> {
        self.0.as_ref()?.values(column, true)
    }

    /// Whether rows with this text in a column can match.
    pub fn allows(&self, column: Column, text: &str) -> bool {
        self.values_of(column).is_none_or(|values| values.contains(text))
    }
}

impl Expression {
    /// The values with which this can be true, or, for what stands under a `NOT`, can be anything but true.
    fn values(&self, column: Column, wanted: bool) -> Values<'_> {
        match (self, wanted) {
            // All parts must be as wanted.
            (Self::All(parts), true) | (Self::Any(parts), false) => parts
                .iter()
                .filter_map(|part| part.values(column, wanted))
                .reduce(|a, b| a.intersection(&b).copied().collect()),
            // One of them must.
            (Self::All(parts), false) | (Self::Any(parts), true) => {
                parts.iter().try_fold(BTreeSet::new(), |mut all, part| {
                    all.extend(part.values(column, wanted)?);
                    Some(all)
                })
            }
            (Self::Not(part), _) => part.values(column, !wanted),
            (Self::Test(target, test), _) if target.column == column => match (test, wanted) {
                (Test::Compare(Comparison::Equal, Operand::Text(text)), true)
                | (Test::Compare(Comparison::NotEqual, Operand::Text(text)), false) => {
                    Some(BTreeSet::from([text.as_str()]))
                }
                (Test::In(operands), true) => Some(operands.iter().filter_map(Operand::text).collect()),
                _ => None,
            },
            (Self::Test(..), _) => None,
        }
    }
}

impl Operand {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}
