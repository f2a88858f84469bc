//! The filter language of lists and searches (`contracts/honcho.md`, Filter DSL): one parser, one evaluator.
//!
//! A filter is JSON: columns with the values they may have, `AND`, `OR` and `NOT` with lists of filters, and operators
//! in a column's place (`{"token_count": {"gt": 5}}`) or, within metadata, in a key's place. [`Filter::parse`] checks it
//! against a [`Schema`], [`Filter::matches`] decides about a [`Row`], and [`Filter::values_of`] says which rows need not
//! be read at all.
//!
//! **Null.** `NOT` is SQL's `IS NOT TRUE` and `ne` its `IS DISTINCT FROM`, so nothing tells "unknown" from "false", and
//! two truth values suffice: a condition either is true or is not.
//!
//! **No condition.** A `*`, an empty filter and an empty list of filters are no conditions: they are left out of what
//! they stand in, be it `AND`, `OR` or `NOT`, as Honcho's server does.

mod expression;
mod json;
mod keys;
mod number;
mod parse;
mod schema;
mod sessions;

#[cfg(test)]
mod tests;

pub use expression::Filter;
pub use parse::{FilterError, MAX_DEPTH, MAX_VALUES};
pub use schema::{Column, Datum, Row, Schema};
pub use sessions::{MAX_SESSIONS, session_allowlist};
