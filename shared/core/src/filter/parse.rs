//! Reading a filter: everything that cannot be meant is refused, by name.

use serde_json::{Map, Value};

use super::expression::{Comparison, Expression, Operand, Target, Test};
use super::number::Number;
use super::schema::{Kind, Schema};
use crate::text::map_without_nul;
use crate::time::Time;

/// The deepest nesting of `AND`, `OR` and `NOT`.
pub const MAX_DEPTH: usize = 5;
/// The most conditions and values of one filter: what a row costs stays bounded.
pub const MAX_VALUES: usize = 5_000;
/// The most characters of what was sent that a refusal repeats.
const ECHO: usize = 64;
/// Stands for any value: no condition.
const ANY: &str = "*";

/// Why a filter cannot be used. Names are as the client wrote them, cut to 64 characters; those within metadata are
/// joined by dots.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The resource has no such column, or none to filter by.
    #[error("column '{column}' does not exist on {model}")]
    UnknownColumn {
        /// What was named.
        column: String,
        /// The resource.
        model: &'static str,
    },
    /// `AND`, `OR` and `NOT` are nested too deeply.
    #[error("filter nesting exceeds maximum depth of {MAX_DEPTH}")]
    TooDeep,
    /// There are too many conditions and values.
    #[error("filter has more than {MAX_VALUES} conditions and values")]
    TooLarge,
    /// An operator takes a list.
    #[error("operator '{operator}' must contain a list, not {found}")]
    NotAList {
        /// The operator.
        operator: &'static str,
        /// What it was given.
        found: &'static str,
    },
    /// `AND`, `OR` and `NOT` hold filters, which are objects.
    #[error("operator '{operator}' must contain filters, not {found}")]
    NotAFilter {
        /// The operator.
        operator: &'static str,
        /// What it was given.
        found: &'static str,
    },
    /// An object with other keys than operators.
    #[error(
        "column '{column}' has no operator '{operator}': expected one of contains, gt, gte, icontains, in, lt, lte, ne"
    )]
    UnknownOperator {
        /// The column.
        column: String,
        /// What was written.
        operator: String,
    },
    /// The column's type does not have the operator.
    #[error("operator '{operator}' does not apply to column '{column}'")]
    Unfit {
        /// The column.
        column: String,
        /// The operator.
        operator: &'static str,
    },
    /// A value that the column's type cannot be compared with.
    #[error("invalid value for column '{column}': expected {expected}, got {found}")]
    Value {
        /// The column.
        column: String,
        /// What it takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// Null in the place of a value.
    #[error("operator '{operator}' of column '{column}' does not accept null: use {{\"ne\": null}} or null on its own")]
    Null {
        /// The column.
        column: String,
        /// The operator.
        operator: &'static str,
    },
    /// The list of sessions of a recall is not one.
    #[error("{0}")]
    Sessions(String),
}

pub(super) fn parse(filters: &Map<String, Value>, schema: &Schema) -> Result<Option<Expression>, FilterError> {
    let mut parser = Parser {
        schema,
        left: MAX_VALUES,
    };
    parser.filter(&map_without_nul(filters), 0)
}

/// An operator in a column's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Compare(Comparison),
    In,
    Contains,
    Icontains,
}

const OPERATORS: &[(&str, Operator)] = &[
    ("gt", Operator::Compare(Comparison::Greater)),
    ("gte", Operator::Compare(Comparison::GreaterOrEqual)),
    ("lt", Operator::Compare(Comparison::Less)),
    ("lte", Operator::Compare(Comparison::LessOrEqual)),
    ("ne", Operator::Compare(Comparison::NotEqual)),
    ("in", Operator::In),
    ("contains", Operator::Contains),
    ("icontains", Operator::Icontains),
];

/// Whether an object holds comparisons, and not keys of metadata.
fn has_operators(map: &Map<String, Value>) -> bool {
    OPERATORS.iter().any(|(word, _)| map.contains_key(*word))
}

struct Parser<'a> {
    schema: &'a Schema,
    /// How many conditions and values may still come.
    left: usize,
}

impl Parser<'_> {
    fn filter(&mut self, filters: &Map<String, Value>, depth: usize) -> Result<Option<Expression>, FilterError> {
        if depth > MAX_DEPTH {
            return Err(FilterError::TooDeep);
        }
        let mut parts = Vec::new();
        for (key, value) in filters {
            parts.extend(match key.as_str() {
                "AND" => all(self.group("AND", value, depth)?),
                "OR" => any(self.group("OR", value, depth)?),
                "NOT" => all(self.group("NOT", value, depth)?.into_iter().map(not).collect()),
                name => self.column(name, value)?,
            });
        }
        Ok(all(parts))
    }

    /// The filters of a list, without those that are no conditions.
    fn group(&mut self, operator: &'static str, list: &Value, depth: usize) -> Result<Vec<Expression>, FilterError> {
        let mut parts = Vec::new();
        for part in items(operator, list)? {
            self.count(1)?;
            let Value::Object(part) = part else {
                let found = type_of(part);
                return Err(FilterError::NotAFilter { operator, found });
            };
            parts.extend(self.filter(part, depth + 1)?);
        }
        Ok(parts)
    }

    fn count(&mut self, values: usize) -> Result<(), FilterError> {
        self.left = self.left.checked_sub(values).ok_or(FilterError::TooLarge)?;
        Ok(())
    }

    fn column(&mut self, name: &str, value: &Value) -> Result<Option<Expression>, FilterError> {
        self.count(1)?;
        let Some(column) = self.schema.column(name) else {
            return Err(FilterError::UnknownColumn {
                column: cut(name),
                model: self.schema.model,
            });
        };
        let place = Place {
            name: name.to_owned(),
            kind: column.kind(),
            target: Target {
                column,
                path: Vec::new(),
            },
        };
        match value {
            Value::String(text) if text == ANY => Ok(None),
            Value::Null => Ok(Some(place.test(Test::Null))),
            Value::Object(map) if has_operators(map) => self.comparisons(&place, map),
            Value::Object(map) if place.kind == Kind::Metadata => self.fields(&place, map),
            Value::Object(map) => Err(place.unknown_operator(map)),
            Value::Array(_) if place.kind == Kind::Metadata => self.holds(&place, value),
            Value::Array(list) => self.within(&place, list),
            scalar => {
                let operand = place.operand(scalar)?;
                Ok(Some(place.test(Test::Compare(Comparison::Equal, operand))))
            }
        }
    }

    /// Conditions on keys of metadata, at any depth: comparisons where there are operators, else containment.
    fn fields(&mut self, place: &Place, map: &Map<String, Value>) -> Result<Option<Expression>, FilterError> {
        let mut parts = Vec::new();
        for (key, value) in map {
            self.count(1)?;
            let field = place.field(key);
            parts.extend(match value {
                Value::String(text) if text == ANY => None,
                Value::Object(inner) if has_operators(inner) => self.comparisons(&field, inner)?,
                Value::Object(inner) if !inner.is_empty() => self.fields(&field, inner)?,
                _ => self.holds(&field, value)?,
            });
        }
        Ok(all(parts))
    }

    fn comparisons(&mut self, place: &Place, map: &Map<String, Value>) -> Result<Option<Expression>, FilterError> {
        let mut parts = Vec::new();
        for (word, value) in map {
            self.count(1)?;
            let Some((word, operator)) = OPERATORS.iter().find(|(known, _)| known == word) else {
                return Err(place.unknown_operator(map));
            };
            if value.as_str() == Some(ANY) {
                continue;
            }
            parts.extend(match (operator, value) {
                (Operator::Compare(Comparison::NotEqual), Value::Null) => Some(place.test(Test::Present)),
                (_, Value::Null) => {
                    return Err(FilterError::Null {
                        column: cut(&place.name),
                        operator: word,
                    });
                }
                (Operator::Compare(comparison), value) => {
                    Some(place.test(Test::Compare(*comparison, place.operand(value)?)))
                }
                (Operator::In, list) => self.within(place, items(word, list)?)?,
                (Operator::Contains, value) if matches!(place.kind, Kind::Metadata | Kind::Ids) => {
                    self.holds(place, &place.part(value)?)?
                }
                (Operator::Contains | Operator::Icontains, value) => Some(place.like(word, value)?),
            });
        }
        Ok(all(parts))
    }

    /// One of a list's values; with `*` among them, any.
    fn within(&mut self, place: &Place, list: &[Value]) -> Result<Option<Expression>, FilterError> {
        self.count(list.len())?;
        if list.iter().any(|item| item.as_str() == Some(ANY)) {
            return Ok(None);
        }
        let operands = list.iter().map(|item| place.member(item));
        let mut operands = operands.collect::<Result<Vec<_>, _>>()?;
        operands.sort_unstable();
        // Within metadata a list may have numbers and texts, which are compared in different ways.
        let (numbers, others): (Vec<_>, Vec<_>) = operands
            .into_iter()
            .partition(|operand| matches!(operand, Operand::Number(_)));
        let lists = match (numbers.is_empty(), others.is_empty()) {
            (true, _) => vec![others],
            (_, true) => vec![numbers],
            _ => vec![numbers, others],
        };
        Ok(any(lists.into_iter().map(|list| place.test(Test::In(list))).collect()))
    }

    fn holds(&mut self, place: &Place, value: &Value) -> Result<Option<Expression>, FilterError> {
        self.count(size(value))?;
        Ok(Some(place.test(Test::Holds(value.clone()))))
    }
}

/// What conditions are about, with the name that refusals give it.
struct Place {
    name: String,
    kind: Kind,
    target: Target,
}

impl Place {
    fn field(&self, key: &str) -> Self {
        let path = self.target.path.iter().map(String::as_str).chain([key]);
        Self {
            name: format!("{}.{key}", self.name),
            kind: Kind::Field,
            target: Target {
                column: self.target.column,
                path: path.map(str::to_owned).collect(),
            },
        }
    }

    fn test(&self, test: Test) -> Expression {
        Expression::Test(self.target.clone(), test)
    }

    /// What a value is compared with.
    fn operand(&self, value: &Value) -> Result<Operand, FilterError> {
        match (self.kind, value) {
            // Text that is a number compares as one: `{"version": {"gte": "2.0"}}`.
            (Kind::Field, Value::String(text)) => {
                Ok(Number::parse(text).map_or_else(|| Operand::Text(text.clone()), Operand::Number))
            }
            _ => self.member(value),
        }
    }

    /// What a value equals as a member of a list, where text is text.
    fn member(&self, value: &Value) -> Result<Operand, FilterError> {
        let operand = match (self.kind, value) {
            (Kind::Text | Kind::Field, Value::String(text)) => Some(Operand::Text(text.clone())),
            (Kind::Word, Value::String(text)) => self.word(text),
            (Kind::Number | Kind::Field, Value::Number(number)) => Number::of(number).map(Operand::Number),
            (Kind::Number, Value::String(text)) => Number::parse(text).map(Operand::Number),
            (Kind::Time, Value::String(text)) => Time::parse(text.trim()).ok().map(Operand::Time),
            (Kind::Flag, Value::Bool(flag)) => Some(Operand::Flag(*flag)),
            (Kind::Field, Value::Bool(flag)) => Some(Operand::Text(flag.to_string())),
            _ => None,
        };
        operand.ok_or_else(|| self.unfit_value(value))
    }

    fn word(&self, text: &str) -> Option<Operand> {
        let known = self.target.column.words().contains(&text);
        known.then(|| Operand::Text(text.to_owned()))
    }

    /// A part that text shall have, whatever the case.
    fn like(&self, operator: &'static str, value: &Value) -> Result<Expression, FilterError> {
        if !matches!(self.kind, Kind::Text | Kind::Word | Kind::Field) {
            return Err(FilterError::Unfit {
                column: cut(&self.name),
                operator,
            });
        }
        let part = match value {
            Value::String(text) => text.to_lowercase(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(self.unfit_value(value)),
        };
        Ok(self.test(Test::Like(part)))
    }

    /// What `contains` wants of a column that holds JSON: an object or a list of metadata, one id or several.
    fn part(&self, value: &Value) -> Result<Value, FilterError> {
        match (self.kind, value) {
            (Kind::Metadata, Value::Object(_) | Value::Array(_)) => Ok(value.clone()),
            (Kind::Ids, Value::String(_)) => Ok(Value::Array(vec![value.clone()])),
            (Kind::Ids, Value::Array(ids)) if ids.iter().all(Value::is_string) => Ok(value.clone()),
            _ => Err(self.unfit_value(value)),
        }
    }

    fn unfit_value(&self, value: &Value) -> FilterError {
        let expected = match self.kind {
            Kind::Text => "a string".to_owned(),
            Kind::Word => format!("one of {}", self.target.column.words().join(", ")),
            Kind::Number => "a number".to_owned(),
            Kind::Time => "a date and time".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Metadata => "an object, on its own or under 'contains'".to_owned(),
            Kind::Field => "a string, a number or a boolean".to_owned(),
            Kind::Ids => "an id or a list of ids under 'contains'".to_owned(),
        };
        let found = match value {
            Value::String(text) if matches!(self.kind, Kind::Word | Kind::Number | Kind::Time) => {
                format!("'{}'", cut(text))
            }
            _ => type_of(value).to_owned(),
        };
        FilterError::Value {
            column: cut(&self.name),
            expected,
            found,
        }
    }

    fn unknown_operator(&self, map: &Map<String, Value>) -> FilterError {
        let unknown = map
            .keys()
            .find(|key| OPERATORS.iter().all(|(known, _)| known != key))
            .map_or("", String::as_str);
        FilterError::UnknownOperator {
            column: cut(&self.name),
            operator: cut(unknown),
        }
    }
}

fn all(mut parts: Vec<Expression>) -> Option<Expression> {
    if parts.len() > 1 {
        return Some(Expression::All(parts));
    }
    parts.pop()
}

fn any(mut parts: Vec<Expression>) -> Option<Expression> {
    if parts.len() > 1 {
        return Some(Expression::Any(parts));
    }
    parts.pop()
}

fn not(part: Expression) -> Expression {
    Expression::Not(Box::new(part))
}

fn items<'a>(operator: &'static str, list: &'a Value) -> Result<&'a [Value], FilterError> {
    let found = type_of(list);
    list.as_array()
        .map(Vec::as_slice)
        .ok_or(FilterError::NotAList { operator, found })
}

/// How many values a value is made of.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn cut(text: &str) -> String {
    text.chars().take(ECHO).collect()
}
