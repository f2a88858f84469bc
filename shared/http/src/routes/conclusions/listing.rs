//! Lists of conclusions: which representations must be read for a filter, and a page of what matches.

use std::cmp::Reverse;

use reverie_aws::table::conclusions::Window;
use reverie_aws::table::lists::{Page, Paging};
use reverie_aws::table::representations::Representation;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::Conclusion;
use reverie_core::filter::{Column, Filter};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId};
use reverie_core::time::Time;

use crate::app::App;
use crate::error::Error;
use crate::filter::rows::{ConclusionRow, Pair, SHARED};
use crate::wire::ConclusionBody;

/// How many conclusions are held at once while a representation is gone through.
const CHUNK: usize = 100;
/// Up to how many conclusions, or pairs of observer and observed, are read by their keys, and up to how many observed
/// peers are looked up one by one.
const BY_KEY: usize = 100;

/// A page of the conclusions that match, newest first unless reversed.
pub(super) async fn page(
    app: &App,
    workspace: &Workspace,
    filter: &Filter,
    paging: Paging,
) -> Result<Page<ConclusionBody>, Error> {
    let representations = representations(app, workspace, filter).await?;
    // Where only observer and observed decide, all of a representation's conclusions match.
    if filter.tests_only(SHARED) {
        let matching = |one: &Representation| filter.matches(&Pair::of(one));
        let whole: Vec<_> = representations.into_iter().filter(matching).collect();
        return match whole.as_slice() {
            [one] => page_of_one(app, one, paging).await,
            several => page_of_all(app, several, paging, |_, _| true).await,
        };
    }
    let wanted =
        |conclusion: &Conclusion, one: &Representation| filter.matches(&ConclusionRow(conclusion, Pair::of(one)));
    match ids(filter) {
        Some(ids) if ids.len() <= BY_KEY => page_by_id(app, &representations, &ids, paging, wanted).await,
        _ => page_of_all(app, &representations, paging, wanted).await,
    }
}

/// The ids that alone can match, when the filter names them.
fn ids(filter: &Filter) -> Option<Vec<ConclusionId>> {
    let ids = filter.values_of(Column::Id)?;
    Some(ids.into_iter().filter_map(ConclusionId::parse).collect())
}

/// The representations of the workspace whose conclusions can match.
async fn representations(app: &App, workspace: &Workspace, filter: &Filter) -> Result<Vec<Representation>, Error> {
    if !filter.allows(Column::Workspace, workspace.name.as_str()) {
        return Ok(Vec::new());
    }
    let peers = |column| {
        let names = filter.values_of(column)?;
        Some(
            names
                .into_iter()
                .filter_map(|name| PeerName::parse(name).ok())
                .collect::<Vec<_>>(),
        )
    };
    let (observers, observed) = (peers(Column::Observer), peers(Column::Observed));
    let keys: Option<Vec<_>> = match (&observers, &observed) {
        (Some(observers), Some(observed)) if observers.len().saturating_mul(observed.len()) <= BY_KEY => {
            let of = |observer| {
                let id = move |observed| RepresentationId::of(&workspace.uid, observer, observed);
                observed.iter().map(id)
            };
            Some(observers.iter().flat_map(of).collect())
        }
        _ => ids(filter).map(|ids| ids.iter().map(ConclusionId::representation).collect()),
    };
    let mut found = match (keys, observed) {
        (Some(keys), _) => app.table.representations_by_id(keys).await?,
        (None, Some(observed)) if observed.len() <= BY_KEY => {
            let mut found = Vec::new();
            for peer in &observed {
                found.extend(app.table.representations(&workspace.uid, Some(peer)).await?);
            }
            found
        }
        (None, _) => app.table.representations(&workspace.uid, None).await?,
    };
    found.retain(|one| {
        one.workspace_uid == workspace.uid
            && filter.allows(Column::Observer, one.observer.as_str())
            && filter.allows(Column::Observed, one.observed.as_str())
    });
    Ok(found)
}

/// A page of all conclusions of one representation: reads no more than what precedes the page's end.
async fn page_of_one(app: &App, one: &Representation, paging: Paging) -> Result<Page<ConclusionBody>, Error> {
    let total = usize::try_from(one.live).unwrap_or(usize::MAX);
    let mut items = Vec::new();
    if paging.offset() < total {
        let window = Window {
            newest_first: !paging.reverse,
            limit: paging.offset().saturating_add(paging.size),
        };
        let conclusions = app.table.conclusions(&one.id, window).await?;
        let shown = conclusions.into_iter().skip(paging.offset());
        items.extend(shown.map(|conclusion| ConclusionBody::of(conclusion, &one.observer, &one.observed)));
    }
    Ok(Page { items, total })
}

/// A page of those that match among the conclusions with these ids.
async fn page_by_id(
    app: &App,
    representations: &[Representation],
    ids: &[ConclusionId],
    paging: Paging,
    wanted: impl Fn(&Conclusion, &Representation) -> bool,
) -> Result<Page<ConclusionBody>, Error> {
    let found = app.table.conclusions_by_id(ids).await?;
    let mut matching: Vec<_> = found
        .into_values()
        .filter_map(|conclusion| {
            let one = of(representations, &conclusion.id)?;
            wanted(&conclusion, one).then_some((conclusion, one))
        })
        .collect();
    matching.sort_by_cached_key(|(conclusion, _)| Reverse((conclusion.created_at, conclusion.id.clone())));
    Ok(paging
        .of(matching)
        .map(|(conclusion, one)| ConclusionBody::of(conclusion, &one.observer, &one.observed)))
}

fn of<'a>(representations: &'a [Representation], id: &ConclusionId) -> Option<&'a Representation> {
    let representation = id.representation();
    representations.iter().find(|one| one.id == representation)
}

/// A page of those that match among all conclusions of representations. Goes through all of them, and keeps times and
/// ids up to the page's end; the page itself is read again.
async fn page_of_all(
    app: &App,
    representations: &[Representation],
    paging: Paging,
    wanted: impl Fn(&Conclusion, &Representation) -> bool,
) -> Result<Page<ConclusionBody>, Error> {
    let mut front = Front::new(paging);
    for one in representations {
        let mut after: Option<ConclusionId> = None;
        loop {
            let window = Window {
                newest_first: !paging.reverse,
                limit: CHUNK,
            };
            let chunk = app.table.conclusions_after(&one.id, after.as_ref(), window).await?;
            for conclusion in chunk.iter().filter(|conclusion| wanted(conclusion, one)) {
                front.offer(conclusion.created_at, &conclusion.id);
            }
            if chunk.len() < CHUNK {
                break;
            }
            after = chunk.into_iter().next_back().map(|conclusion| conclusion.id);
        }
    }
    let page = front.page();
    let mut found = app.table.conclusions_by_id(&page.items).await?;
    let show = |id: &ConclusionId| {
        let (conclusion, one) = (found.remove(id)?, of(representations, id)?);
        Some(ConclusionBody::of(conclusion, &one.observer, &one.observed))
    };
    Ok(Page {
        items: page.items.iter().filter_map(show).collect(),
        total: page.total,
    })
}

/// Finds a page among conclusions that come in no order across representations: keeps times and ids of those that may
/// still precede its end.
struct Front {
    paging: Paging,
    /// With their times, in microseconds.
    kept: Vec<(i64, ConclusionId)>,
    total: usize,
}

impl Front {
    fn new(paging: Paging) -> Self {
        let (kept, total) = (Vec::new(), 0);
        Self { paging, kept, total }
    }

    fn offer(&mut self, at: Time, id: &ConclusionId) {
        self.kept.push((at.micros(), id.clone()));
        self.total += 1;
        let end = self.paging.offset().saturating_add(self.paging.size);
        if self.kept.len() >= end.saturating_mul(2).max(1_000) {
            self.order();
            self.kept.truncate(end);
        }
    }

    fn order(&mut self) {
        if self.paging.reverse {
            self.kept.sort_unstable();
        } else {
            self.kept.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    fn page(mut self) -> Page<ConclusionId> {
        self.order();
        let shown = self.kept.into_iter().skip(self.paging.offset()).take(self.paging.size);
        Page {
            items: shown.map(|(_, id)| id).collect(),
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conclusions come representation by representation, and the page is that of all of them in order.
    #[test]
    fn a_page_across_representations_is_that_of_all_at_hand() {
        let ids: Vec<_> = (0..5_000_i64)
            .map(|n| (n * 7_919 % 5_000, ConclusionId::trusted(format!("{n:036}"))))
            .collect();
        for reverse in [false, true] {
            let mut all = ids.clone();
            all.sort_by(|a, b| b.cmp(a));
            for (page, size) in [(1, 10), (3, 100), (50, 100), (51, 100), (usize::MAX, 100)] {
                let paging = Paging { page, size, reverse };
                let mut front = Front::new(paging);
                for (at, id) in &ids {
                    front.offer(Time::from_micros(*at), id);
                    assert!(front.kept.len() <= page.saturating_mul(size).max(500).saturating_mul(2));
                }
                let expected = paging.of(all.clone()).map(|(_, id)| id);
                assert_eq!(front.page(), expected, "{paging:?}");
            }
        }
    }
}
