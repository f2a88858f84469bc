//! The tools that only read: search by meaning, lists, the messages behind conclusions. What they give is bounded.

use std::cmp::Reverse;
use std::fmt::Write as _;

use reverie_core::conclusion::{Conclusion, Level};
use reverie_core::offline::ngram_vector;
use reverie_core::reasoner::{Embedder, ReasonerError, Sources};

use super::shown::{Shelf, message};
use super::tools::{Call, List, ReadMessages, Search};

/// The most conclusions that one call gives.
pub(super) const MOST_LISTED: usize = 40;
/// How many it gives when it does not say.
const LISTED: usize = 15;
/// Characters of a conclusion's text that are shown.
const SHOWN: usize = 600;
/// The most conclusions whose messages one call shows.
const READ_AT_ONCE: usize = 5;
/// The most messages of each.
const MESSAGES: usize = 4;
/// The most characters that one call gives.
const MOST: usize = 10_000;

/// What the tools read from.
pub(super) struct Reader<'a> {
    pub(super) shelf: &'a Shelf<'a>,
    pub(super) embedder: &'a dyn Embedder,
    pub(super) sources: &'a dyn Sources,
}

impl Reader<'_> {
    /// What a reading call gives; `Err` inside is for the model, outside for the engine.
    pub(super) async fn read(&self, call: &Call) -> Result<Result<String, String>, ReasonerError> {
        let read = match call {
            Call::Search(wanted) => Ok(self.search(wanted).await?),
            Call::List(wanted) => self.list(wanted),
            Call::ReadMessages(wanted) => match self.conclusions(wanted) {
                Ok(conclusions) => Ok(self.messages(&conclusions).await?),
                Err(why) => Err(why),
            },
            _ => Ok("done".to_owned()),
        };
        Ok(read.map(bounded))
    }

    async fn search(&self, wanted: &Search) -> Result<String, ReasonerError> {
        if self.shelf.conclusions().is_empty() {
            return Ok("there are no conclusions".to_owned());
        }
        let embedded = self.embedder.embed(std::slice::from_ref(&wanted.query)).await;
        let query = embedded
            .map_err(|error| ReasonerError::transient(error.to_string()))?
            .pop();
        let looks = ngram_vector(&wanted.query);
        // What has no vector of this model yet is found by its looks.
        let near = |conclusion: &Conclusion| {
            let vectors = query.as_ref().zip(conclusion.embedding.as_ref());
            vectors
                .and_then(|(query, vector)| query.cosine(vector))
                .or_else(|| looks.cosine(&ngram_vector(&conclusion.content)))
                .unwrap_or(0.0)
        };
        let mut found: Vec<_> = of_level(self.shelf, wanted.level)
            .map(|conclusion| (near(conclusion), conclusion))
            .filter(|(cosine, _)| *cosine > 0.0)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
        let found: Vec<_> = found
            .into_iter()
            .take(limit(wanted.limit))
            .map(|(_, conclusion)| conclusion)
            .collect();
        Ok(self.lines(&found))
    }

    fn list(&self, wanted: &List) -> Result<String, String> {
        let key = |conclusion: &Conclusion| (conclusion.event_at, conclusion.id.clone());
        let before = match &wanted.before {
            None => None,
            Some(name) => self.shelf.get(&self.shelf.find(name)?).map(key),
        };
        let mut found: Vec<_> = of_level(self.shelf, wanted.level)
            .filter(|conclusion| before.as_ref().is_none_or(|before| key(conclusion) < *before))
            .collect();
        found.sort_by_key(|conclusion| Reverse(key(conclusion)));
        let left = found.len().saturating_sub(limit(wanted.limit));
        found.truncate(limit(wanted.limit));
        let mut text = self.lines(&found);
        if left > 0 {
            // Infallible: a String takes everything.
            let _ = write!(text, "\n{left} older ones are not shown");
        }
        Ok(text)
    }

    fn lines(&self, conclusions: &[&Conclusion]) -> String {
        if conclusions.is_empty() {
            return "nothing was found".to_owned();
        }
        let lines: Vec<_> = conclusions
            .iter()
            .map(|conclusion| self.shelf.line(conclusion, SHOWN))
            .collect();
        lines.join("\n")
    }

    fn conclusions(&self, wanted: &ReadMessages) -> Result<Vec<&Conclusion>, String> {
        if wanted.ids.len() > READ_AT_ONCE {
            return Err(format!("at most {READ_AT_ONCE} at once"));
        }
        let found: Result<Vec<_>, String> = wanted.ids.iter().map(|name| self.shelf.find(name)).collect();
        Ok(found?.iter().filter_map(|id| self.shelf.get(id)).collect())
    }

    async fn messages(&self, conclusions: &[&Conclusion]) -> Result<String, ReasonerError> {
        let mut text = String::new();
        for conclusion in conclusions {
            let messages = self.sources.messages_of(conclusion, MESSAGES).await?;
            let _ = writeln!(text, "[{}] rests on:", self.shelf.short(&conclusion.id));
            if messages.is_empty() {
                text.push_str("no message that can be read\n");
            }
            for (number, said) in (1..).zip(&messages) {
                let mut said = said.clone();
                said.content = said.content.chars().take(MOST / (READ_AT_ONCE * MESSAGES)).collect();
                let _ = writeln!(text, "{}", message(number, &said));
            }
        }
        Ok(text.trim_end().to_owned())
    }
}

fn of_level<'a>(shelf: &Shelf<'a>, level: Option<Level>) -> impl Iterator<Item = &'a Conclusion> {
    let all = shelf.conclusions().iter();
    all.filter(move |conclusion| level.is_none_or(|level| conclusion.level == level))
}

fn limit(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(LISTED).clamp(1, MOST_LISTED)
}

/// Whole lines, as many as a call may give.
fn bounded(text: String) -> String {
    if text.len() <= MOST {
        return text;
    }
    let mut kept = 0;
    for line in text.split_inclusive('\n') {
        if kept + line.len() > MOST {
            break;
        }
        kept += line.len();
    }
    format!("{}the rest is left out: ask for less at once", &text[..kept])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use reverie_core::offline::StaticEmbedder;
    use reverie_core::reasoner::NoSources;

    use super::super::fixture::{stating, wait};
    use super::*;

    fn given(conclusions: &[Conclusion], call: &Call) -> Result<String, String> {
        let shelf = Shelf::new(conclusions);
        let reader = Reader {
            shelf: &shelf,
            embedder: &StaticEmbedder::load().unwrap(),
            sources: &NoSources,
        };
        wait(reader.read(call)).unwrap()
    }

    fn search(query: &str, level: Option<Level>) -> Call {
        Call::Search(Search {
            query: query.to_owned(),
            level,
            limit: Some(2),
        })
    }

    #[test]
    fn search_gives_what_is_nearest_and_only_the_level_asked_for() {
        let conclusions = stating(&["sam works at Acme", "sam lives in Oslo", "sam works as a welder"]);
        let found = given(&conclusions, &search("where sam lives", None)).unwrap();
        assert!(found.lines().next().unwrap().contains("sam lives in Oslo"), "{found}");
        assert_eq!(found.lines().count(), 2);
        let none = given(&conclusions, &search("sam", Some(Level::Inductive))).unwrap();
        assert_eq!(none, "nothing was found");
        assert_eq!(given(&[], &search("sam", None)).unwrap(), "there are no conclusions");
    }

    #[test]
    fn a_list_is_read_on_with_before_and_says_what_is_left() {
        let texts: Vec<String> = (0..50).map(|n| format!("sam has seen film {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let conclusions = stating(&texts);
        let list = |before: Option<String>| {
            let call = Call::List(List {
                level: None,
                before,
                limit: Some(40),
            });
            given(&conclusions, &call).unwrap()
        };
        let first = list(None);
        assert!(first.starts_with('[') && first.contains("film 49") && first.contains("film 10"));
        assert!(first.ends_with("10 older ones are not shown"), "{first}");
        let last_shown = first.lines().nth(39).unwrap();
        let rest = list(Some(last_shown[..8].to_owned()));
        assert_eq!(rest.lines().count(), 10);
        assert!(rest.contains("film 0") && !rest.contains("film 10"));
    }

    #[test]
    fn what_a_call_gives_is_bounded() {
        let long = "x".repeat(60_000);
        let texts: Vec<&str> = (0..60).map(|_| long.as_str()).collect();
        let conclusions = stating(&texts);
        let call = Call::List(List {
            level: None,
            before: None,
            limit: Some(10_000),
        });
        let given = given(&conclusions, &call).unwrap();
        assert!(given.len() < MOST + 100, "{}", given.len());
        assert!(given.ends_with("ask for less at once"));
        assert!(given.contains("(59400 more characters)"));
    }
}
