//! A representation as text: which conclusions it shows, and how (`contracts/honcho.md` section 2, Peers).

use std::collections::{BTreeMap, HashMap};

use reverie_core::conclusion::{Conclusion, Level};
use reverie_core::id::ConclusionId;

/// The most sources that are shown of a pattern.
const MAX_SOURCES: usize = 5;

/// What a representation is to be made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mix {
    /// The most conclusions to show.
    pub(crate) max: usize,
    /// Whether the most derived ones get a share.
    pub(crate) most_frequent: bool,
    /// Whether those nearest to a query get a share.
    pub(crate) searching: bool,
    /// How many of the nearest, unless a third.
    pub(crate) top_k: Option<usize>,
}

impl Mix {
    /// How many of the nearest to the query are wanted.
    pub(crate) fn nearest(&self) -> usize {
        match (self.searching, self.top_k) {
            (false, _) => 0,
            (true, Some(given)) => given.min(self.max),
            (true, None) => (self.max / 3).max(1),
        }
    }

    /// How many of the most derived are wanted.
    pub(crate) fn derived(&self) -> usize {
        match (self.most_frequent, self.searching) {
            (false, _) => 0,
            (true, false) => self.max / 2,
            (true, true) => self.max / 3,
        }
    }

    /// The conclusions to show, oldest first: the nearest, then the most derived, and the rest the most recent.
    ///
    /// `recent` is newest first, and has all conclusions where the most derived are wanted.
    pub(crate) fn choose(&self, recent: &[Conclusion], nearest: &[Conclusion]) -> Vec<Conclusion> {
        let mut chosen = BTreeMap::new();
        let take = |conclusion: &Conclusion, chosen: &mut BTreeMap<_, _>| {
            let place = (conclusion.event_at, conclusion.id.clone());
            chosen.entry(place).or_insert_with(|| conclusion.clone());
        };
        for conclusion in nearest.iter().take(self.nearest()) {
            take(conclusion, &mut chosen);
        }
        let mut derived: Vec<_> = recent.iter().collect();
        derived.sort_by_key(|conclusion| std::cmp::Reverse(conclusion.times_derived));
        for conclusion in derived.into_iter().take(self.derived()) {
            take(conclusion, &mut chosen);
        }
        for conclusion in recent {
            if chosen.len() >= self.max {
                break;
            }
            take(conclusion, &mut chosen);
        }
        chosen.into_values().collect()
    }
}

/// The conclusions that the shown ones name as sources and that are not shown themselves.
pub(crate) fn missing_sources(shown: &[Conclusion]) -> Vec<ConclusionId> {
    let named = shown.iter().flat_map(|conclusion| &conclusion.sources);
    let mut missing: Vec<_> = named
        .filter(|id| shown.iter().all(|conclusion| conclusion.id != **id))
        .cloned()
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// The representation as markdown: one section per level that has something, empty when nothing has. A source that is
/// gone is left out.
pub(crate) fn render(shown: &[Conclusion], sources: &HashMap<ConclusionId, Conclusion>) -> String {
    let text_of = |id: &ConclusionId| {
        let here = shown.iter().find(|conclusion| conclusion.id == *id);
        here.or_else(|| sources.get(id)).map(|source| source.content.as_str())
    };
    let section = |level, heading: &str, entry: &dyn Fn(&Conclusion, &[&str]) -> String| {
        let entries: Vec<_> = shown
            .iter()
            .filter(|conclusion| conclusion.level == level)
            .map(|conclusion| {
                let texts: Vec<_> = conclusion.sources.iter().filter_map(text_of).collect();
                entry(conclusion, &texts)
            })
            .collect();
        (!entries.is_empty()).then(|| format!("## {heading}\n\n{}\n", entries.join("\n")))
    };
    let sections = [
        section(Level::Explicit, "Explicit Observations", &|conclusion, _| {
            dated(conclusion)
        }),
        section(Level::Deductive, "Deductive Observations", &|conclusion, sources| {
            format!("{}{}", dated(conclusion), listed("Premises", sources, usize::MAX))
        }),
        section(Level::Inductive, "Inductive Observations", &|conclusion, sources| {
            let confidence = conclusion.confidence().map_or("low", |confidence| confidence.as_str());
            let kind = conclusion.pattern.map_or("tendency", |pattern| pattern.as_str());
            let sources = listed("**Sources**", sources, MAX_SOURCES);
            format!(
                " **Pattern** [{confidence}]: {}\n   **Type**: {kind}{sources}",
                conclusion.content
            )
        }),
        section(Level::Contradiction, "Contradictions", &|conclusion, sources| {
            format!("{}{}", dated(conclusion), listed("Conflicting", sources, usize::MAX))
        }),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn dated(conclusion: &Conclusion) -> String {
    format!("[{}] {}", conclusion.event_at.to_plain_seconds(), conclusion.content)
}

/// Sources under a title, at most `most` of them; nothing when there are none.
fn listed(title: &str, sources: &[&str], most: usize) -> String {
    if sources.is_empty() {
        return String::new();
    }
    let mut text = format!("\n   {title}:");
    for source in sources.iter().take(most) {
        text += "\n   - ";
        text += source;
    }
    if sources.len() > most {
        text.push_str("\n   - ... and ");
        text.push_str(&(sources.len() - most).to_string());
        text.push_str(" more");
    }
    text
}

#[cfg(test)]
mod tests {
    use reverie_core::conclusion::{Origin, Pattern};
    use reverie_core::id::{PeerName, RepresentationId, WorkspaceUid};
    use reverie_core::time::Time;

    use super::*;

    fn conclusion(second: i64, level: Level, content: &str, sources: &[&Conclusion]) -> Conclusion {
        let peer = PeerName::trusted("maya");
        let representation = RepresentationId::of(&WorkspaceUid::trusted("w"), &peer, &peer);
        let at = Time::from_seconds(1_796_072_928 + second);
        Conclusion {
            id: ConclusionId::new(&representation, at, &[content]),
            content: content.to_owned(),
            level,
            session: None,
            created_at: at,
            event_at: at,
            times_derived: 1,
            sources: sources.iter().map(|source| source.id.clone()).collect(),
            support: Vec::new(),
            pattern: (level == Level::Inductive).then_some(Pattern::Preference),
            origin: Origin::Api,
            embedding: None,
        }
    }

    #[test]
    fn every_level_has_its_section_and_its_form() {
        let home = conclusion(0, Level::Explicit, "maya lives in Lima", &[]);
        let job = conclusion(1, Level::Explicit, "maya works at a bank", &[]);
        let follows = conclusion(2, Level::Deductive, "maya lives in Peru", &[&home]);
        let pattern = conclusion(3, Level::Inductive, "maya likes cities", &[&home, &job]);
        let clash = conclusion(4, Level::Contradiction, "maya's home is unclear", &[&home, &job]);
        let sources = HashMap::from([(job.id.clone(), job.clone())]);
        let shown = [home, follows, pattern, clash];
        assert_eq!(
            render(&shown, &sources),
            "## Explicit Observations\n\n\
             [2026-11-30 21:08:48] maya lives in Lima\n\
             \n\
             ## Deductive Observations\n\n\
             [2026-11-30 21:08:50] maya lives in Peru\n   Premises:\n   - maya lives in Lima\n\
             \n\
             ## Inductive Observations\n\n \
             **Pattern** [low]: maya likes cities\n   **Type**: preference\n   **Sources**:\n   \
             - maya lives in Lima\n   - maya works at a bank\n\
             \n\
             ## Contradictions\n\n\
             [2026-11-30 21:08:52] maya's home is unclear\n   Conflicting:\n   \
             - maya lives in Lima\n   - maya works at a bank\n"
        );
        assert_eq!(missing_sources(&shown), [job.id]);
        assert_eq!(render(&[], &sources), "");
    }

    #[test]
    fn a_pattern_shows_five_sources_and_counts_the_rest() {
        let sources: Vec<_> = (0..7)
            .map(|n| conclusion(n, Level::Explicit, &format!("fact {n}"), &[]))
            .collect();
        let pattern = conclusion(9, Level::Inductive, "a habit", &sources.iter().collect::<Vec<_>>());
        let known = sources
            .iter()
            .map(|source| (source.id.clone(), source.clone()))
            .collect();
        let text = render(&[pattern], &known);
        assert!(text.contains("[high]"), "{text}");
        assert!(text.contains("   - fact 4\n   - ... and 2 more"), "{text}");
        assert!(!text.contains("fact 5"), "{text}");
    }

    #[test]
    fn the_mix_gives_each_kind_its_share_and_shows_nothing_twice() {
        let mut all: Vec<_> = (0..12)
            .map(|n| conclusion(n, Level::Explicit, &format!("fact {n}"), &[]))
            .collect();
        all[0].times_derived = 9;
        all[1].times_derived = 5;
        let recent: Vec<_> = all.iter().rev().cloned().collect();
        let names = |mix: Mix, nearest: &[usize]| {
            let nearest: Vec<_> = nearest.iter().map(|n| all[*n].clone()).collect();
            let chosen = mix.choose(&recent, &nearest);
            chosen
                .into_iter()
                .map(|c| c.content.trim_start_matches("fact ").to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mix = |most_frequent, searching, top_k| Mix {
            max: 4,
            most_frequent,
            searching,
            top_k,
        };
        assert_eq!(names(mix(false, false, None), &[]), "8 9 10 11");
        assert_eq!(names(mix(true, false, None), &[]), "0 1 10 11");
        assert_eq!(names(mix(false, true, None), &[5, 6]), "5 9 10 11");
        assert_eq!(names(mix(true, true, Some(2)), &[0, 6]), "0 6 10 11");
        // What is near may be recent as well: it counts once, and the rest is filled up.
        assert_eq!(names(mix(false, true, Some(2)), &[11, 10]), "8 9 10 11");
    }
}
