//! Search by meaning, and vectors of the model that is in use.

use std::cmp::Ordering;
use std::time::Duration;

use reverie_aws::table::packs::LARGE;
use reverie_core::conclusion::{Conclusion, Embedding};
use reverie_core::id::{ConclusionId, RepresentationId};
use reverie_core::time::Time;

use crate::{Engine, Result};

/// How many texts are embedded, and vectors stored, at a time.
const AT_A_TIME: usize = 100;
/// How many packed conclusions are read at least to see which are still there.
const CHECKED_AT_LEAST: usize = 20;

/// The longest time in which a search makes vectors anew: a request of the API waits for it.
const RENEWAL: Duration = Duration::from_secs(5);

/// A conclusion that may be near, and how far it is.
struct Candidate {
    distance: f32,
    id: ConclusionId,
    /// Whole, unless it comes from a pack: then it may be gone.
    conclusion: Option<Conclusion>,
}

/// Nearest first, of equally near ones the newest.
fn nearer(a: &Candidate, b: &Candidate) -> Ordering {
    a.distance.total_cmp(&b.distance).then_with(|| b.id.cmp(&a.id))
}

impl Engine {
    /// The conclusions nearest in meaning to a query, nearest first: at most `top_k`, none farther than `max_distance`
    /// (cosine distance, 0 to 1). Vectors of another model are made anew, never compared.
    pub async fn query_conclusions(
        &self,
        representation: &RepresentationId,
        query: &str,
        top_k: usize,
        max_distance: Option<f32>,
    ) -> Result<Vec<Conclusion>> {
        let Some(wanted) = self.embedder.embed(&[query.to_owned()]).await?.pop() else {
            return Ok(Vec::new());
        };
        let mut candidates: Vec<Candidate> = self
            .candidates(representation, &wanted, top_k >= LARGE)
            .await?
            .into_iter()
            .filter(|candidate| max_distance.is_none_or(|most| candidate.distance <= most))
            .collect();
        candidates.sort_by(nearer);
        let mut found = Vec::new();
        let mut rest = candidates.into_iter().peekable();
        while found.len() < top_k && rest.peek().is_some() {
            let some: Vec<Candidate> = rest
                .by_ref()
                .take((top_k - found.len()).max(CHECKED_AT_LEAST))
                .collect();
            let packed = some.iter().filter(|candidate| candidate.conclusion.is_none());
            let ids: Vec<ConclusionId> = packed.map(|candidate| candidate.id.clone()).collect();
            let mut live = self.table.conclusions_by_id(&ids).await?;
            found.extend(
                some.into_iter()
                    .filter_map(|candidate| candidate.conclusion.or_else(|| live.remove(&candidate.id))),
            );
        }
        found.truncate(top_k);
        Ok(found)
    }

    /// Everything that a representation may hold, with its distance: from packs where it is large, unless all of it will
    /// be read anyway.
    async fn candidates(&self, id: &RepresentationId, wanted: &Embedding, all: bool) -> Result<Vec<Candidate>> {
        let Some(head) = self.table.representation(id).await? else {
            return Ok(Vec::new());
        };
        let now = self.now();
        let model = self.embedder.model();
        let mut vectors = if all || usize::try_from(head.live).is_ok_and(|live| live <= LARGE) {
            self.table.all_vectors(id).await?
        } else {
            self.table.vectors(id, model, now).await?
        };
        self.renew_vectors(&mut vectors.loose, now + RENEWAL).await?;
        if !all {
            self.table.pack(&head, &vectors, model, now).await?;
        }
        let packed = vectors.packed.into_iter().filter_map(|(id, components)| {
            Some(Candidate {
                distance: 1.0 - wanted.cosine_of(&components)?,
                id,
                conclusion: None,
            })
        });
        let loose = vectors.loose.into_iter().filter_map(|conclusion| {
            Some(Candidate {
                distance: 1.0 - conclusion.embedding.as_ref()?.cosine(wanted)?,
                id: conclusion.id.clone(),
                conclusion: Some(conclusion),
            })
        });
        Ok(packed.chain(loose).collect())
    }

    /// Gives a vector of the model in use to those conclusions that have none, and stores it. After `until` it leaves the
    /// rest to whoever comes next: they are in no answer meanwhile.
    pub(crate) async fn renew_vectors(&self, conclusions: &mut [Conclusion], until: Time) -> Result<()> {
        let model = self.embedder.model();
        let mut stale: Vec<&mut Conclusion> = conclusions.iter_mut().filter(|c| !c.is_embedded_by(model)).collect();
        for some in stale.chunks_mut(AT_A_TIME) {
            if self.now() > until {
                tracing::warn!(embedding.model = model, "there are still vectors of another model");
                return Ok(());
            }
            let texts: Vec<String> = some.iter().map(|conclusion| conclusion.content.clone()).collect();
            let vectors = match self.embedder.embed(&texts).await {
                Ok(vectors) => vectors.into_iter().map(Some).collect(),
                // One text that the model refuses must not hide the others.
                Err(_) => self.embed_each(&texts).await?,
            };
            for (conclusion, embedding) in some.iter_mut().zip(vectors) {
                conclusion.embedding = embedding;
            }
            let renewed: Vec<_> = some
                .iter()
                .filter_map(|conclusion| Some((&conclusion.id, conclusion.embedding.as_ref()?)))
                .collect();
            self.table.store_vectors(&renewed).await?;
        }
        let refused = stale.iter().filter(|conclusion| conclusion.embedding.is_none()).count();
        if refused > 0 {
            tracing::warn!(
                conclusion.count = refused,
                embedding.model = model,
                "the model refuses to embed some conclusions"
            );
        }
        Ok(())
    }
}
