//! Conclusions erased from everything that a representation keeps: a single one, or all that rested on a session alone.
//!
//! Where a text is: in its conclusion, live or in its grave; in the card, and in the cards that runs recorded; in what dry
//! runs planned. Records go first, conclusions last: whatever stops half-way is found again by them. Every transaction
//! holds only in the edition of the representation that was read before the search, so no step of a dream, which raises
//! it, comes between search and erasure.

use std::collections::HashSet;

use reverie_core::conclusion::{Conclusion, Level, SessionRef, keep_support};
use reverie_core::id::{ConclusionId, RepresentationId, SessionUid, WorkspaceUid};
use reverie_core::run::RemovalReason;
use reverie_core::text::normalise;
use reverie_core::time::Time;

use super::{InTime, path};
use crate::table::conclusions::{self, Grave, Tombstone, guards_of, own_guard, tombstone_key, without};
use crate::table::expression::{Clause, Condition, s};
use crate::table::representations::{self, Representation, partition};
use crate::table::runs::Row;
use crate::table::schema::key;
use crate::table::units::units;
use crate::table::{Key, Query, Result, Table, TableError, Write, from_item, to_item, to_value};

/// How many graves with a copy of an erased text go in one transaction.
const COPIES: usize = 30;

/// What a representation keeps that rests on a session.
struct Resting {
    conclusions: Vec<Kept>,
    planned: Vec<(Key, Conclusion)>,
    guards: Vec<Key>,
    /// Every text that runs recorded.
    records: Vec<(Key, Row)>,
}

/// A conclusion and where it is kept.
struct Kept {
    conclusion: Conclusion,
    buried: bool,
}

fn rests_on(conclusion: &Conclusion, session: &SessionUid) -> bool {
    let said_in = conclusion.session.as_ref().map(|said_in| &said_in.uid);
    said_in == Some(session) || conclusion.support.iter().any(|part| part.session == *session)
}

/// The conclusion without the session's part; `None` when nothing else supports it.
fn rest_of(conclusion: &Conclusion, session: &SessionUid) -> Option<Conclusion> {
    let mut rest = conclusion.clone();
    keep_support(&mut rest.support, |uid| uid != session);
    (!rest.support.is_empty()).then_some(rest)
}

impl Table {
    /// Erases a conclusion, live or in its grave, and every copy of its text. A tombstone without text stays. Says
    /// whether there was anything to erase.
    pub async fn erase_conclusion(&self, workspace: &WorkspaceUid, id: &ConclusionId, now: Time) -> Result<bool> {
        let representation = id.representation();
        loop {
            let Some(head) = self.representation(&representation).await? else {
                return Ok(false);
            };
            let Some(conclusion) = self.live_or_buried(std::slice::from_ref(id)).await?.remove(id) else {
                return Ok(false);
            };
            let copies = self.buried_copies(&conclusion).await?;
            let gone: HashSet<_> = copies.iter().map(|copy| &copy.id).chain([id]).cloned().collect();
            let records = self.recorded_texts(&representation).await?;
            self.erase_from_records(&records, &gone).await?;

            let last = copies.len() <= COPIES;
            let mut erased: Vec<&Conclusion> = copies.iter().take(COPIES).collect();
            let mut live = false;
            let mut writes = Vec::new();
            if last {
                live = self.conclusion(id).await?.is_some();
                erased.push(&conclusion);
            }
            if live {
                writes.push(conclusions::discard(id));
            }
            // Where it is must be where it was found: a dream or an undo may be moving it.
            let buried = erased.iter().filter(|erased| !live || erased.id != *id);
            writes.extend(buried.map(|buried| conclusions::exhume(&buried.id)));
            writes.push(representations::edit(&representation, head.edition, -i64::from(live)));
            let stone = tombstone_key(&representation, workspace, &conclusion.content);
            writes.push(Write::put(to_item(&stone, "tombstone", &Tombstone { at: now })?));
            writes.extend(self.guards_to_drop(&erased).await?);
            writes.extend(self.card_without(&representation, &gone).await?);
            let ids: Vec<_> = erased.iter().map(|erased| &erased.id).collect();
            writes.extend(self.drop_packs(&representation, &ids).await?);
            match self.transact(&writes).await {
                Ok(()) if last => return Ok(true),
                Ok(()) | Err(TableError::Condition(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What dreams removed as duplicates of a conclusion, and which reads the same.
    async fn buried_copies(&self, conclusion: &Conclusion) -> Result<Vec<Conclusion>> {
        let text = normalise(&conclusion.content);
        let mut graves = self.graves(&conclusion.id.representation()).await?;
        graves.retain(|grave| grave.reason == RemovalReason::Duplicate && normalise(&grave.conclusion.content) == text);
        let mut copies: Vec<Conclusion> = Vec::new();
        loop {
            let known = copies.len();
            let (found, rest): (Vec<Grave>, Vec<Grave>) = graves.into_iter().partition(|grave| {
                let of = |id: &ConclusionId| grave.replaced_by.as_ref() == Some(id);
                of(&conclusion.id) || copies.iter().any(|copy| of(&copy.id))
            });
            copies.extend(found.into_iter().map(|grave| grave.conclusion));
            if copies.len() == known {
                return Ok(copies);
            }
            graves = rest;
        }
    }

    /// Takes a deleted session's part out of everything that a representation keeps: what nothing else supports is
    /// erased, the rest loses its part. `false` when time was up before its end.
    pub(super) async fn erase_part_of(
        &self,
        representation: &RepresentationId,
        session: &SessionUid,
        in_time: InTime<'_>,
    ) -> Result<bool> {
        loop {
            let Some(head) = self.representation(representation).await? else {
                // The workspace's deletion has been here.
                self.delete_all([path(session, representation)]).await?;
                return Ok(true);
            };
            let resting = self.resting_on(representation, session).await?;
            if resting.conclusions.is_empty() && resting.planned.is_empty() && resting.guards.is_empty() {
                let writes = [
                    representations::edit(representation, head.edition, 0),
                    Write::delete(path(session, representation)),
                ];
                match self.transact(&writes).await {
                    Ok(()) => return Ok(true),
                    // A dream wrote while we looked.
                    Err(TableError::Condition(_)) => continue,
                    Err(error) => return Err(error),
                }
            }
            if !self.erase_resting(head, session, resting, in_time).await? {
                return Ok(false);
            }
        }
    }

    async fn resting_on(&self, representation: &RepresentationId, session: &SessionUid) -> Result<Resting> {
        let live = self.all_conclusions(representation).await?;
        let live = live.into_iter().map(|conclusion| Kept {
            conclusion,
            buried: false,
        });
        let graves = self.graves(representation).await?;
        let graves = graves.into_iter().map(|grave| Kept {
            conclusion: grave.conclusion,
            buried: true,
        });
        let conclusions = live
            .chain(graves)
            .filter(|kept| rests_on(&kept.conclusion, session))
            .collect();
        let guards = guards_of(Level::Explicit, session.as_str());
        let guards = Query::of(partition(representation)).prefix(guards).keys_only();
        let guards = self.query(guards).await?.iter().map(Key::of).collect();
        let records = self.recorded_texts(representation).await?;
        let planned = records
            .iter()
            .filter_map(|(key, row)| match row {
                Row::Created {
                    planned: Some(planned), ..
                } if rests_on(planned, session) => Some((key.clone(), (**planned).clone())),
                _ => None,
            })
            .collect();
        Ok(Resting {
            conclusions,
            planned,
            guards,
            records,
        })
    }

    /// Erases what was found, or takes the session's part out of it. `false` when time was up; `true` to look again.
    async fn erase_resting(
        &self,
        head: Representation,
        session: &SessionUid,
        resting: Resting,
        in_time: InTime<'_>,
    ) -> Result<bool> {
        let found = resting.conclusions.iter().map(|kept| &kept.conclusion);
        let planned = resting.planned.iter().map(|(_, planned)| planned);
        let gone: HashSet<ConclusionId> = found
            .chain(planned)
            .filter(|conclusion| rest_of(conclusion, session).is_none())
            .map(|conclusion| conclusion.id.clone())
            .collect();
        for (key, planned) in &resting.planned {
            if let Some(rest) = rest_of(planned, session) {
                let clauses = vec![Clause::Set("planned", to_value(&rest)?)];
                self.rewrite(key, clauses).await?;
            }
        }
        self.erase_from_records(&resting.records, &gone).await?;
        self.delete_all(resting.guards).await?;
        let mut edition = head.edition;
        for chunk in units(&resting.conclusions, |kept| kept.conclusion.content.len()) {
            if !in_time() && edition > head.edition {
                return Ok(false);
            }
            let mut writes = Vec::new();
            let mut erased = Vec::new();
            let mut live = 0;
            for kept in chunk {
                let conclusion = &kept.conclusion;
                match rest_of(conclusion, session) {
                    None => {
                        erased.push(conclusion);
                        live -= i64::from(!kept.buried);
                        writes.push(if kept.buried {
                            conclusions::exhume(&conclusion.id)
                        } else {
                            conclusions::discard(&conclusion.id)
                        });
                    }
                    Some(mut rest) => {
                        if rest.session.as_ref().is_some_and(|said_in| said_in.uid == *session) {
                            rest.session = self.other_session(&rest).await?;
                        }
                        writes.push(if kept.buried {
                            conclusions::rewrite_grave(&rest)?
                        } else {
                            conclusions::rest_on(conclusion, &rest)?
                        });
                    }
                }
            }
            writes.push(representations::edit(&head.id, edition, live));
            writes.extend(self.guards_to_drop(&erased).await?);
            writes.extend(self.card_without(&head.id, &gone).await?);
            if !erased.is_empty() {
                let ids: Vec<_> = erased.iter().map(|erased| &erased.id).collect();
                writes.extend(self.drop_packs(&head.id, &ids).await?);
            }
            match self.transact(&writes).await {
                Ok(()) => edition += 1,
                Err(TableError::Condition(_)) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(in_time())
    }

    /// The first session that still supports a conclusion.
    async fn other_session(&self, conclusion: &Conclusion) -> Result<Option<SessionRef>> {
        for part in conclusion.support.iter().filter(|part| !part.is_stated()) {
            let found = self
                .get_as(&path(&part.session, &conclusion.id.representation()))
                .await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Deletes of the guards of erased texts: but one that a conclusion of the same text holds stays.
    async fn guards_to_drop(&self, erased: &[&Conclusion]) -> Result<Vec<Write>> {
        let guards = self.get_many(erased.iter().map(|erased| own_guard(erased))).await?;
        let mut held = Vec::new();
        for (key, item) in guards {
            if let Some(holder) = item.get("holder").and_then(|holder| holder.as_s().ok()) {
                held.push((key, ConclusionId::trusted(holder)));
            }
        }
        let holders: Vec<_> = held.iter().map(|(_, holder)| holder.clone()).collect();
        let live = self.conclusions_by_id(&holders).await?;
        let by_another = |key: &Key, holder: &ConclusionId| {
            let another = !erased.iter().any(|erased| erased.id == *holder);
            another && live.get(holder).is_some_and(|holder| own_guard(holder) == *key)
        };
        held.retain(|(key, holder)| !by_another(key, holder));
        let drop = |(key, holder): (Key, ConclusionId)| {
            let unchanged = Condition::Equals("holder", s(holder.as_str()));
            Write::delete(key).when(Condition::Any(vec![Condition::Absent(key::PK), unchanged]))
        };
        Ok(held.into_iter().map(drop).collect())
    }

    /// The card without the entries that rest on erased conclusions, when there are any.
    async fn card_without(
        &self,
        representation: &RepresentationId,
        gone: &HashSet<ConclusionId>,
    ) -> Result<Option<Write>> {
        let Some(card) = self.card(representation).await? else {
            return Ok(None);
        };
        let (entries, changed) = without(&card.entries, gone);
        changed
            .then(|| representations::put_card(representation, Some(&entries), card.revision))
            .transpose()
    }

    /// Erases conclusions from what runs recorded: entries of cards that rest on one, and what was planned.
    async fn erase_from_records(&self, records: &[(Key, Row)], gone: &HashSet<ConclusionId>) -> Result<()> {
        for (key, row) in records {
            let clauses = match row {
                Row::Created { id, .. } if gone.contains(id) => vec![Clause::Remove("planned")],
                Row::Card { before, after } => {
                    let strip = |card: &Option<Vec<_>>| card.as_ref().map(|entries| without(entries, gone));
                    let (before, after) = (strip(before), strip(after));
                    if ![&before, &after].into_iter().flatten().any(|(_, changed)| *changed) {
                        continue;
                    }
                    let (before, after) = (before.map(|(card, _)| card), after.map(|(card, _)| card));
                    vec![
                        Clause::Set("before", to_value(&before)?),
                        Clause::Set("after", to_value(&after)?),
                    ]
                }
                _ => continue,
            };
            self.rewrite(key, clauses).await?;
        }
        Ok(())
    }

    /// Changes a row that is there; one that was pruned meanwhile stays away.
    async fn rewrite(&self, key: &Key, clauses: Vec<Clause>) -> Result<()> {
        match self.transact(&[Write::update(key.clone(), clauses).if_there()]).await {
            Ok(()) | Err(TableError::Condition(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A representation's graves.
    async fn graves(&self, representation: &RepresentationId) -> Result<Vec<Grave>> {
        let graves = Query::of(partition(representation)).prefix("X#");
        self.query(graves).await?.into_iter().map(from_item).collect()
    }
}
