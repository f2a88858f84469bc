//! A parsed filter, and what it says about a row.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::json;
use super::number::Number;
use super::parse::{self, FilterError};
use super::schema::{Column, Datum, Row, Schema};
use crate::time::Time;

/// A filter that fits its schema. The default one has no condition: every row matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(pub(super) Option<Expression>);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Test(Target, Test),
}

/// What is tested: a column, or what lies at a path within metadata.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) column: Column,
    pub(super) path: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    /// It has no value.
    Null,
    /// It has one.
    Present,
    Compare(Comparison, Operand),
    /// Among these, which are sorted and of one type.
    In(Vec<Operand>),
    /// Its text has this in it, whatever the case; in lower case.
    Like(String),
    /// It contains this, as `jsonb` does.
    Holds(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    /// Null is different from every value.
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// What a value is compared with. Within metadata, text is compared with a value's text, and a number with a value that
/// is a number or whose text is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operand {
    Text(String),
    Number(Number),
    Time(Time),
    Flag(bool),
}

impl Filter {
    /// Reads a filter, NULs left out as in all text that comes in.
    pub fn parse(filters: &Map<String, Value>, schema: &Schema) -> Result<Self, FilterError> {
        parse::parse(filters, schema).map(Self)
    }

    /// Whether a row matches.
    pub fn matches(&self, row: &impl Row) -> bool {
        self.0.as_ref().is_none_or(|condition| condition.holds(row))
    }

    /// Whether nothing but these columns decides.
    pub fn tests_only(&self, columns: &[Column]) -> bool {
        self.0.as_ref().is_none_or(|condition| condition.tests_only(columns))
    }
}

impl Expression {
    fn holds(&self, row: &impl Row) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(row)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(row)),
            Self::Not(part) => !part.holds(row),
            Self::Test(target, test) => test.holds(&target.of(row.value(target.column))),
        }
    }

    fn tests_only(&self, columns: &[Column]) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().all(|part| part.tests_only(columns)),
            Self::Not(part) => part.tests_only(columns),
            Self::Test(target, _) => columns.contains(&target.column),
        }
    }
}

impl Target {
    /// What the path leads to in a column's value.
    fn of<'a>(&self, datum: Datum<'a>) -> Datum<'a> {
        match datum {
            Datum::Metadata(metadata) if !self.path.is_empty() => {
                json::at(metadata, &self.path).map_or(Datum::Null, Datum::Json)
            }
            other => other,
        }
    }
}

impl Test {
    fn holds(&self, datum: &Datum) -> bool {
        match self {
            Self::Null => is_null(datum),
            Self::Present => !is_null(datum),
            Self::Compare(comparison, operand) => comparison.holds(compare(datum, operand)),
            Self::In(operands) => operands
                .binary_search_by(|operand| compare(datum, operand).map_or(Ordering::Less, Ordering::reverse))
                .is_ok(),
            Self::Like(part) => like(datum, part),
            Self::Holds(wanted) => match datum {
                Datum::Json(value) => json::contains(value, wanted),
                Datum::Metadata(metadata) => wanted
                    .as_object()
                    .is_some_and(|wanted| json::object_contains(metadata, wanted)),
                Datum::Ids(ids) => wanted.as_array().is_some_and(|wanted| {
                    wanted
                        .iter()
                        .all(|wanted| wanted.as_str().is_some_and(|wanted| ids.contains(&wanted)))
                }),
                _ => false,
            },
        }
    }
}

impl Comparison {
    fn holds(self, ordering: Option<Ordering>) -> bool {
        match self {
            Self::Equal => ordering.is_some_and(Ordering::is_eq),
            Self::NotEqual => !ordering.is_some_and(Ordering::is_eq),
            Self::Greater => ordering.is_some_and(Ordering::is_gt),
            Self::GreaterOrEqual => ordering.is_some_and(Ordering::is_ge),
            Self::Less => ordering.is_some_and(Ordering::is_lt),
            Self::LessOrEqual => ordering.is_some_and(Ordering::is_le),
        }
    }
}

fn is_null(datum: &Datum) -> bool {
    matches!(datum, Datum::Null | Datum::Json(Value::Null))
}

/// How a value compares with an operand; `None` where it has none to compare.
fn compare(datum: &Datum, operand: &Operand) -> Option<Ordering> {
    match (datum, operand) {
        (Datum::Text(value), Operand::Text(text)) => Some((*value).cmp(text)),
        (Datum::Number(value), Operand::Number(number)) => Some(Number::from(*value).cmp(number)),
        (Datum::Time(value), Operand::Time(time)) => Some(value.cmp(time)),
        (Datum::Flag(value), Operand::Flag(flag)) => Some(value.cmp(flag)),
        (Datum::Json(value), Operand::Text(text)) => Some(json::text(value)?.as_ref().cmp(text)),
        (Datum::Json(value), Operand::Number(number)) => Some(json::number(value)?.cmp(number)),
        _ => None,
    }
}

fn like(datum: &Datum, part: &str) -> bool {
    match datum {
        Datum::Text(text) => text.to_lowercase().contains(part),
        Datum::Json(value) => json::text(value).is_some_and(|text| text.to_lowercase().contains(part)),
        _ => false,
    }
}
