//! Conditions and updates as values, rendered to DynamoDB's expressions with every name and value aliased.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// A string attribute.
pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(crate) fn n(number: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A condition on one item.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// The item, or the attribute, is there.
    Exists(&'static str),
    /// It is not.
    Absent(&'static str),
    /// The attribute has this value.
    Equals(&'static str, AttributeValue),
    /// The attribute is there and is not greater.
    AtMost(&'static str, AttributeValue),
    /// All hold.
    All(Vec<Condition>),
    /// One holds.
    Any(Vec<Condition>),
}

/// One clause of an update.
#[derive(Clone, Debug)]
pub(crate) enum Clause {
    /// Sets the attribute.
    Set(&'static str, AttributeValue),
    /// Adds to a number; an absent one counts as 0.
    Add(&'static str, i64),
    /// Removes the attribute.
    Remove(&'static str),
}

/// Collects aliases while expressions are rendered.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Aliases {
    pub(crate) fn name(&mut self, attribute: &str) -> String {
        let alias = format!("#{attribute}");
        self.names.insert(alias.clone(), attribute.to_owned());
        alias
    }

    pub(crate) fn value(&mut self, value: AttributeValue) -> String {
        let alias = format!(":v{}", self.values.len());
        self.values.insert(alias.clone(), value);
        alias
    }

    /// Names, or `None` when there is none: DynamoDB refuses an empty map.
    pub(crate) fn names(&self) -> Option<HashMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    /// Values, or `None` when there is none.
    pub(crate) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }

    pub(crate) fn condition(&mut self, condition: &Condition) -> String {
        let joined = |aliases: &mut Self, parts: &[Condition], word: &str| {
            let parts: Vec<_> = parts.iter().map(|part| aliases.condition(part)).collect();
            format!("({})", parts.join(word))
        };
        match condition {
            Condition::Exists(attribute) => format!("attribute_exists({})", self.name(attribute)),
            Condition::Absent(attribute) => format!("attribute_not_exists({})", self.name(attribute)),
            Condition::Equals(attribute, value) => format!("{} = {}", self.name(attribute), self.value(value.clone())),
            Condition::AtMost(attribute, value) => format!("{} <= {}", self.name(attribute), self.value(value.clone())),
            Condition::All(parts) => joined(self, parts, " AND "),
            Condition::Any(parts) => joined(self, parts, " OR "),
        }
    }

    pub(crate) fn update(&mut self, clauses: &[Clause]) -> String {
        let (mut set, mut add, mut remove) = (Vec::new(), Vec::new(), Vec::new());
        for clause in clauses {
            match clause {
                Clause::Set(attribute, value) => {
                    set.push(format!("{} = {}", self.name(attribute), self.value(value.clone())));
                }
                Clause::Add(attribute, by) => add.push(format!("{} {}", self.name(attribute), self.value(n(by)))),
                Clause::Remove(attribute) => remove.push(self.name(attribute)),
            }
        }
        [("SET", set), ("ADD", add), ("REMOVE", remove)]
            .into_iter()
            .filter(|(_, clauses)| !clauses.is_empty())
            .map(|(word, clauses)| format!("{word} {}", clauses.join(", ")))
            .collect::<Vec<_>>()
            .join(" ")
    }
}
