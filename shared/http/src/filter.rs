//! `filters` of list and query bodies: what is offered, and a clear refusal of the rest.

use std::collections::BTreeSet;

use reverie_core::conclusion::{Conclusion, Level};
use reverie_core::id::ConclusionId;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::validate::{Node, Problems};

/// Reads `filters` of a body; missing and null are none.
pub(crate) fn read<'a>(body: &Node<'a>, problems: &mut Problems) -> Option<&'a Map<String, Value>> {
    body.at("filters").given()?.object(problems)
}

/// Refuses filters of a list that offers none.
pub(crate) fn none(what: &str, filters: Option<&Map<String, Value>>) -> Result<(), Error> {
    match filters.and_then(|filters| filters.keys().next()) {
        Some(key) => Err(Error::filter(what, key)),
        None => Ok(()),
    }
}

/// The texts that a column may have; `None` is any.
type Wanted = Option<BTreeSet<String>>;

/// Which conclusions are wanted: those that match every part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conclusions {
    pub(crate) observer: Wanted,
    pub(crate) observed: Wanted,
    pub(crate) id: Wanted,
    session: Wanted,
    level: Wanted,
    source: Option<String>,
}

impl Conclusions {
    /// Reads the filters that are offered: `observer`, `observed` (each also with `_id`), `session_id`, `level` and
    /// `id` as one text, a list, or `{"in": list}`, and `source_ids` as `{"contains": id}`.
    pub(crate) fn read(filters: Option<&Map<String, Value>>) -> Result<Self, Error> {
        let mut wanted = Self::default();
        for (key, value) in filters.into_iter().flatten() {
            let refuse = || Error::filter("conclusions", key);
            let column = match key.as_str() {
                "observer" | "observer_id" => &mut wanted.observer,
                "observed" | "observed_id" => &mut wanted.observed,
                "session" | "session_id" => &mut wanted.session,
                "level" => &mut wanted.level,
                "id" => &mut wanted.id,
                "source_ids" => {
                    wanted.source = Some(contained(value).ok_or_else(refuse)?);
                    continue;
                }
                _ => return Err(refuse()),
            };
            let texts = texts(value).ok_or_else(refuse)?;
            *column = Some(match column.take() {
                Some(before) => before.intersection(&texts).cloned().collect(),
                None => texts,
            });
        }
        let levels = wanted.level.iter().flatten();
        if levels.into_iter().any(|level| Level::parse(level).is_none()) {
            return Err(Error::filter("conclusions", "level"));
        }
        Ok(wanted)
    }

    /// Whether only observer and observed matter.
    pub(crate) fn whole_representations(&self) -> bool {
        self.id.is_none() && self.session.is_none() && self.level.is_none() && self.source.is_none()
    }

    /// Whether a conclusion of a wanted representation is wanted.
    pub(crate) fn matches(&self, conclusion: &Conclusion) -> bool {
        let session = conclusion.session.as_ref().map(|session| session.name.as_str());
        is_wanted(&self.id, Some(conclusion.id.as_str()))
            && is_wanted(&self.session, session)
            && is_wanted(&self.level, Some(conclusion.level.as_str()))
            && self
                .source
                .as_ref()
                .is_none_or(|source| conclusion.sources.iter().any(|id| id.as_str() == source))
    }

    /// Whether a representation's conclusions can be wanted.
    pub(crate) fn in_representation(&self, observer: &str, observed: &str) -> bool {
        is_wanted(&self.observer, Some(observer)) && is_wanted(&self.observed, Some(observed))
    }

    /// The wanted ids, if ids are given, that can be ids at all.
    pub(crate) fn ids(&self) -> Option<Vec<ConclusionId>> {
        let ids = self.id.as_ref()?;
        Some(ids.iter().filter_map(|id| ConclusionId::parse(id)).collect())
    }
}

fn is_wanted(wanted: &Wanted, text: Option<&str>) -> bool {
    match wanted {
        None => true,
        Some(texts) => text.is_some_and(|text| texts.contains(text)),
    }
}

/// The only text that a column may have, if there is one.
pub(crate) fn single(wanted: &Wanted) -> Option<&str> {
    let mut texts = wanted.as_ref()?.iter();
    match (texts.next(), texts.next()) {
        (Some(text), None) => Some(text),
        _ => None,
    }
}

fn texts(value: &Value) -> Option<BTreeSet<String>> {
    let all = |items: &Vec<Value>| items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    match value {
        Value::String(text) => Some(BTreeSet::from([text.clone()])),
        Value::Array(items) => all(items),
        Value::Object(map) if map.len() == 1 => map.get("in")?.as_array().and_then(all),
        _ => None,
    }
}

fn contained(value: &Value) -> Option<String> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get("contains")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(filters: &Value) -> Result<Conclusions, String> {
        Conclusions::read(filters.as_object()).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn what_the_sdk_sends_is_understood() {
        let wanted = read(&json!({"observer_id": "a", "observed": "b", "id": {"in": ["x", "y"]}})).unwrap_or_default();
        assert_eq!(
            (single(&wanted.observer), single(&wanted.observed)),
            (Some("a"), Some("b"))
        );
        assert!(!wanted.whole_representations());
        assert!(wanted.in_representation("a", "b") && !wanted.in_representation("b", "a"));
        assert_eq!(single(&wanted.id), None);
        for filters in [
            json!({"level": "deductive"}),
            json!({"level": ["deductive", "inductive"]}),
            json!({"session_id": "s"}),
            json!({"source_ids": {"contains": "x"}}),
        ] {
            assert!(read(&filters).is_ok(), "{filters}");
        }
        assert_eq!(read(&json!({})), Ok(Conclusions::default()));
    }

    #[test]
    fn both_spellings_of_a_column_must_hold() {
        let wanted = read(&json!({"observer": "a", "observer_id": "b"})).unwrap_or_default();
        assert!(!wanted.in_representation("a", "x") && !wanted.in_representation("b", "x"));
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for (filters, key) in [
            (json!({"bogus": 1}), "bogus"),
            (json!({"level": "loud"}), "level"),
            (json!({"id": {"gt": "x"}}), "id"),
            (json!({"source_ids": ["x"]}), "source_ids"),
            (json!({"AND": []}), "AND"),
        ] {
            let refused = read(&filters).err().unwrap_or_default();
            assert!(
                refused.contains(&format!("Cannot filter conclusions by '{key}'")),
                "{refused}"
            );
        }
    }
}
