//! The filter language: what each rule lets through, what is refused, and the laws that hold for every filter.

use serde_json::{Map, Value, json};

use super::{Column, Datum, Filter, FilterError, Row, Schema};
use crate::time::Time;

mod keys;
mod laws;
mod refusals;
mod rules;

/// A row of whatever resource.
#[derive(Clone, Debug)]
struct Fixture {
    session: Option<&'static str>,
    peer: &'static str,
    level: &'static str,
    tokens: u64,
    created_at: &'static str,
    is_active: bool,
    sources: Vec<&'static str>,
    metadata: Value,
}

impl Default for Fixture {
    fn default() -> Self {
        Self {
            session: Some("s"),
            peer: "Maya",
            level: "explicit",
            tokens: 5,
            created_at: "2026-01-01T12:00:00Z",
            is_active: true,
            sources: Vec::new(),
            metadata: json!({}),
        }
    }
}

impl Row for Fixture {
    fn value(&self, column: Column) -> Datum<'_> {
        match column {
            Column::Id | Column::Peer | Column::Observer | Column::Content => Datum::Text(self.peer),
            Column::Observed => Datum::Text("bob"),
            Column::Workspace => Datum::Text("w"),
            Column::Session => self.session.map_or(Datum::Null, Datum::Text),
            Column::Level => Datum::Text(self.level),
            Column::Tokens | Column::TimesDerived => Datum::Number(self.tokens),
            Column::CreatedAt => Datum::Time(Time::parse(self.created_at).unwrap_or_default()),
            Column::IsActive => Datum::Flag(self.is_active),
            Column::Sources if self.sources.is_empty() => Datum::Null,
            Column::Sources => Datum::Ids(self.sources.clone()),
            Column::Metadata => self.metadata.as_object().map_or(Datum::Null, Datum::Metadata),
        }
    }
}

fn with(metadata: Value) -> Fixture {
    Fixture {
        metadata,
        ..Fixture::default()
    }
}

fn map(filters: &Value) -> Map<String, Value> {
    filters.as_object().cloned().unwrap_or_default()
}

fn parse(schema: &Schema, filters: &Value) -> Result<Filter, FilterError> {
    Filter::parse(&map(filters), schema)
}

/// Whether a row matches filters that are right.
fn matches(schema: &Schema, filters: &Value, row: &Fixture) -> Result<bool, FilterError> {
    parse(schema, filters).map(|filter| filter.matches(row))
}
