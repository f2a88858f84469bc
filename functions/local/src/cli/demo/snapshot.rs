//! A representation at one moment, to be compared with another.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::ApiError;
use crate::cli::dreams::OwnView;

/// Every conclusion by its id, and the card.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Snapshot {
    conclusions: BTreeMap<String, Value>,
    pub(super) card: Option<Vec<String>>,
}

impl Snapshot {
    pub(super) fn take(view: &OwnView<'_>) -> Result<Self, ApiError> {
        let conclusions = view
            .all_conclusions::<Value>()?
            .into_iter()
            .filter_map(|conclusion| Some((conclusion.get("id")?.as_str()?.to_owned(), conclusion)))
            .collect();
        Ok(Self {
            conclusions,
            card: view.card()?,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.conclusions.len()
    }

    /// The text of a conclusion.
    pub(super) fn content(&self, id: &str) -> Option<&str> {
        self.conclusions.get(id)?.get("content")?.as_str()
    }

    /// The text of the first conclusion that contains this.
    pub(super) fn containing(&self, text: &str) -> Option<&str> {
        let contents = self
            .conclusions
            .values()
            .filter_map(|conclusion| conclusion.get("content")?.as_str());
        contents.into_iter().find(|content| content.contains(text))
    }

    /// The first difference, but for times of writing.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let ids = self.conclusions.keys().chain(other.conclusions.keys());
        for id in ids {
            let (one, two) = (self.conclusions.get(id), other.conclusions.get(id));
            if one.map(timeless) != two.map(timeless) {
                let text = |side: Option<&Value>| side.map_or_else(|| "nothing".to_owned(), Value::to_string);
                return Some(format!("{} became {}", text(one), text(two)));
            }
        }
        (self.card != other.card).then(|| format!("the card {:?} became {:?}", self.card, other.card))
    }
}

fn timeless(conclusion: &Value) -> Value {
    let mut conclusion = conclusion.clone();
    if let Some(fields) = conclusion.as_object_mut() {
        fields.remove("created_at");
    }
    conclusion
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn snapshot(text: &str, at: &str) -> Snapshot {
        let conclusion = json!({ "id": "a", "content": text, "created_at": at });
        Snapshot {
            conclusions: BTreeMap::from([("a".to_owned(), conclusion)]),
            card: None,
        }
    }

    #[test]
    fn only_what_matters_differs() {
        let before = snapshot("one", "then");
        assert_eq!(before.difference(&snapshot("one", "now")), None);
        let other = before.difference(&snapshot("two", "then"));
        assert!(other.is_some_and(|text| text.contains("one") && text.contains("two")));
        let card = Snapshot {
            card: Some(Vec::new()),
            ..before.clone()
        };
        assert!(before.difference(&card).is_some());
    }
}
