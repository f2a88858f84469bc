//! Large representations (report 20): search through packs of vectors, and dreams over thousands of conclusions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reverie_aws::table::units::{Applied, Unit};
use reverie_core::conclusion::{Conclusion, Embedding};
use reverie_core::id::{ConclusionId, PeerName, RepresentationId, WorkspaceName};
use reverie_core::offline::{Offline, StaticEmbedder};
use reverie_core::reasoner::{EmbedError, Embedder};
use serde_json::{Value, json};

use crate::rig::{Fault, Faults, Rig, Scripted, config};

const QUERY: &str = "Which book about the sea did she read?";

fn fact(n: usize) -> String {
    match n % 3 {
        0 => format!("maya read volume {n} of an encyclopaedia."),
        1 => format!("maya met colleague number {n} at the harbour."),
        _ => format!("maya painted picture {n} of a lake."),
    }
}

async fn state(rig: &Rig, texts: &[String]) {
    for some in texts.chunks(100) {
        let conclusions: Vec<Value> = some
            .iter()
            .map(|text| json!({"content": text, "observer_id": "maya", "observed_id": "maya"}))
            .collect();
        rig.post("/v3/workspaces/w/conclusions", json!({"conclusions": conclusions}))
            .await;
        rig.pass(Duration::from_secs(1));
    }
}

/// A rig with as many conclusions, all of them settled.
async fn with(count: usize) -> Rig {
    let rig = Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await;
    rig.post("/v3/workspaces", json!({"id": "w"})).await;
    rig.post("/v3/workspaces/w/peers", json!({"id": "maya"})).await;
    let texts: Vec<String> = (0..count).map(fact).collect();
    state(&rig, &texts).await;
    rig.pass(Duration::from_mins(11));
    rig
}

async fn representation(rig: &Rig) -> RepresentationId {
    let workspace = WorkspaceName::parse("w").unwrap();
    let workspace = rig.engine.table().workspace(&workspace).await.unwrap().unwrap();
    let maya = PeerName::parse("maya").unwrap();
    RepresentationId::of(&workspace.uid, &maya, &maya)
}

async fn search(rig: &Rig, top_k: usize) -> Vec<ConclusionId> {
    let found = rig
        .engine
        .query_conclusions(&representation(rig).await, QUERY, top_k, None)
        .await
        .unwrap();
    found.into_iter().map(|conclusion| conclusion.id).collect()
}

/// The nearest, by way of everything; what packs answer must be the same.
async fn by_full_scan(rig: &Rig, top_k: usize) -> Vec<ConclusionId> {
    let mut found = search(rig, usize::MAX).await;
    found.truncate(top_k);
    found
}

async fn calls(rig: &Rig) -> Vec<String> {
    let id = representation(rig).await;
    rig.faults.replan(|_, _| Fault::None);
    rig.engine.query_conclusions(&id, QUERY, 10, None).await.unwrap();
    rig.faults.calls()
}

async fn items(rig: &Rig, kind: &str) -> Vec<Value> {
    let mut items = rig.items().await;
    items.retain(|item| item["type"] == kind);
    items
}

async fn erase(rig: &Rig, id: &ConclusionId) {
    let path = format!("/v3/workspaces/w/conclusions/{id}");
    assert_eq!(rig.call("DELETE", &path, None).await.0, 204);
}

/// Whether a pack holds the conclusion's vector.
async fn is_packed(rig: &Rig, id: &ConclusionId) -> bool {
    items(rig, "pack").await.iter().any(|pack| {
        let ids: Vec<u8> = serde_json::from_value(pack["ids"].clone()).unwrap();
        ids.chunks(16).any(|packed| id.as_str().as_bytes().ends_with(packed))
    })
}

#[tokio::test]
async fn a_small_representation_has_no_packs() {
    let rig = with(120).await;
    assert_eq!(calls(&rig).await, ["GetItem", "Query"]);
    assert_eq!(calls(&rig).await, ["GetItem", "Query"]);
    assert!(items(&rig, "pack").await.is_empty());
}

#[tokio::test]
async fn a_search_in_thousands_reads_packs_and_finds_what_reading_everything_finds() {
    let rig = with(2_500).await;
    let first = calls(&rig).await;
    assert_eq!(
        (first[0].as_str(), first.last().unwrap().as_str()),
        ("GetItem", "TransactWriteItems")
    );
    let packs = items(&rig, "pack").await;
    assert!((4..=5).contains(&packs.len()), "{} packs", packs.len());
    // The head, the directory, the packs, what is newer, and the nearest.
    let read = ["GetItem", "GetItem", "BatchGetItem", "Query", "BatchGetItem"];
    assert_eq!(calls(&rig).await, read);
    for top_k in [1, 10, 300] {
        assert_eq!(search(&rig, top_k).await, by_full_scan(&rig, top_k).await);
    }

    // What is new is found, and rewrites no pack.
    state(&rig, &["maya read a book about the sea.".to_owned()]).await;
    let newest = search(&rig, 1).await;
    assert_eq!(newest, by_full_scan(&rig, 1).await);
    assert!(!is_packed(&rig, &newest[0]).await);
    assert_eq!(items(&rig, "pack").await, packs);

    // What is erased is not, and its vector goes with it.
    let nearest = search(&rig, 2).await;
    let packed = nearest[1].clone();
    assert!(is_packed(&rig, &packed).await);
    erase(&rig, &packed).await;
    assert!(!is_packed(&rig, &packed).await);
    assert_eq!(items(&rig, "pack").await.len(), packs.len() - 1);
    assert!(!search(&rig, 300).await.contains(&packed));
    assert_eq!(search(&rig, 300).await, by_full_scan(&rig, 300).await);

    // Old packs are read no more.
    rig.pass(Duration::from_hours(8 * 24));
    assert_eq!(calls(&rig).await.last().unwrap(), "TransactWriteItems");
    assert_eq!(search(&rig, 300).await, by_full_scan(&rig, 300).await);
    let live = items(&rig, "pack").await;
    assert!(
        live.iter().all(|pack| !packs.contains(pack)),
        "expired packs go when new ones come"
    );

    rig.call("DELETE", "/v3/workspaces/w", None).await;
    rig.settle().await;
    assert!(items(&rig, "pack").await.is_empty() && items(&rig, "pack_directory").await.is_empty());
}

#[tokio::test]
async fn what_is_made_late_inside_a_packed_range_is_found() {
    let rig = with(2_200).await;
    calls(&rig).await;
    let id = representation(&rig).await;
    let packs = items(&rig, "pack").await.len();
    assert!(packs > 0);
    let table = rig.engine.table();
    let head = table.representation(&id).await.unwrap().unwrap();
    let workspace = table.workspace(&head.workspace).await.unwrap().unwrap();
    let some = search(&rig, 1).await.remove(0);
    let like: Conclusion = table.conclusion(&some).await.unwrap().unwrap();
    let at = like.created_at;
    let content = "maya read a book about the sea.".to_owned();
    let late = Conclusion {
        id: ConclusionId::placed(&id, at, 4_000, &["late"]),
        embedding: Some(StaticEmbedder::load().unwrap().vector(&content)),
        content,
        ..like
    };
    let unit = Unit {
        workspace: &workspace,
        representation: &head,
        next: &head.state,
        created: std::slice::from_ref(&late),
        erased: &std::collections::HashMap::new(),
        reinforced: &[],
        session: None,
        part: None,
        recording: None,
    };
    assert_eq!(table.apply_unit(&unit, rig.now()).await.unwrap(), Applied::Now);
    assert_eq!(search(&rig, 1).await, std::slice::from_ref(&late.id));
    assert_eq!(search(&rig, 50).await, by_full_scan(&rig, 50).await);
    // The range's pack covers nothing any more, and goes with what it may hold.
    assert_eq!(items(&rig, "pack").await.len(), packs);
    erase(&rig, &late.id).await;
    assert_eq!(items(&rig, "pack").await.len(), packs - 1);
}

#[tokio::test]
async fn packs_are_published_whole_by_one_of_many_or_not_at_all() {
    let rig = with(2_200).await;
    let id = representation(&rig).await;
    let expected = by_full_scan(&rig, 20).await;
    // Both see that there are none, before either publishes.
    let table = rig.engine.table();
    let model = "reverie-static-1";
    let head = table.representation(&id).await.unwrap().unwrap();
    let (one, other) = (
        table.vectors(&id, model, rig.now()).await.unwrap(),
        table.vectors(&id, model, rig.now()).await.unwrap(),
    );
    table.pack(&head, &one, model, rig.now()).await.unwrap();
    let packs = items(&rig, "pack").await;
    table.pack(&head, &other, model, rig.now()).await.unwrap();
    assert_eq!(items(&rig, "pack").await, packs);
    assert_eq!(search(&rig, 20).await, expected);

    // What was read before an erasure is not published after it.
    rig.pass(Duration::from_hours(8 * 24));
    let head = table.representation(&id).await.unwrap().unwrap();
    let before = table.vectors(&id, model, rig.now()).await.unwrap();
    erase(&rig, &expected[0]).await;
    table.pack(&head, &before, model, rig.now()).await.unwrap();
    assert!(!is_packed(&rig, &expected[0]).await);
    assert_eq!(search(&rig, 20).await, by_full_scan(&rig, 20).await);
}

#[tokio::test]
async fn a_crash_at_any_call_of_a_search_leaves_nothing_half_done() {
    let rig = with(2_100).await;
    let expected = by_full_scan(&rig, 20).await;
    let rig = die_in_search(rig, Fault::DieBefore).await;
    assert!(items(&rig, "pack").await.is_empty());
    assert_eq!(search(&rig, 20).await, expected);
    let packs = items(&rig, "pack").await;

    // The answer to publishing gets lost: all of the new packs are there, and none of the expired.
    rig.pass(Duration::from_hours(8 * 24));
    let rig = die_in_search(rig, Fault::DieAfter).await;
    let anew = items(&rig, "pack").await;
    assert!(anew.len() == packs.len() && anew.iter().all(|pack| !packs.contains(pack)));
    assert_eq!(search(&rig, 20).await, expected);
    assert_eq!(items(&rig, "pack").await, anew);
}

/// The process dies where a search publishes packs, and another one starts.
async fn die_in_search(rig: Rig, fault: Fault) -> Rig {
    let id = representation(&rig).await;
    rig.faults.replan(move |_, name| {
        if name == "TransactWriteItems" {
            fault
        } else {
            Fault::None
        }
    });
    let engine = Arc::clone(&rig.engine);
    let search = tokio::spawn(async move { engine.query_conclusions(&id, QUERY, 20, None).await.is_ok() });
    // Nobody hears the end of a search in a process that is dead.
    let _ = tokio::time::timeout(Duration::from_secs(20), search).await;
    assert!(rig.faults.is_dead());
    rig.restart().await
}

/// Another model: the same vectors, under another name and the other way round.
struct Other(StaticEmbedder);

#[async_trait]
impl Embedder for Other {
    fn model(&self) -> &'static str {
        "other-1"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let turned = |embedding: Embedding| Embedding {
            model: self.model().to_owned(),
            components: embedding.components.into_iter().map(|c| -c).collect(),
        };
        Ok(self.0.embed(texts).await?.into_iter().map(turned).collect())
    }
}

fn other() -> Arc<Other> {
    Arc::new(Other(StaticEmbedder::load().unwrap()))
}

#[tokio::test]
async fn after_a_change_of_model_everything_is_found_and_embedded_anew() {
    for count in [50, 2_100] {
        let rig = with(count).await;
        let expected = search(&rig, 10).await;
        let rig = rig.re_embedding(other());
        assert_eq!(search(&rig, 10).await, expected, "of {count}");
        let conclusions = items(&rig, "conclusion").await;
        assert_eq!(conclusions.len(), count);
        assert!(
            conclusions
                .iter()
                .all(|conclusion| conclusion["embedding"]["model"] == "other-1")
        );
        let packs = items(&rig, "pack").await;
        assert_eq!(packs.is_empty(), count < 2_000);
        assert_eq!(search(&rig, 10).await, expected);
        // And back: packs of the other model are not read.
        let rig = rig.re_embedding(Arc::new(StaticEmbedder::load().unwrap()));
        assert_eq!(search(&rig, 10).await, expected);
        assert!(items(&rig, "pack").await.iter().all(|pack| !packs.contains(pack)));
    }
}

#[tokio::test]
async fn a_dream_embeds_anew_what_another_model_embedded() {
    let rig = with(60).await.re_embedding(other());
    let body = json!({"observer": "maya", "dream_type": "omni"});
    rig.post("/v3/workspaces/w/schedule_dream", body).await;
    rig.settle().await;
    let conclusions = items(&rig, "conclusion").await;
    assert_eq!(conclusions.len(), 60);
    assert!(
        conclusions
            .iter()
            .all(|conclusion| conclusion["embedding"]["model"] == "other-1")
    );
}

/// Report 20: what no longer fits into one page, or one answer, is dreamt over and undone all the same.
#[tokio::test]
async fn a_dream_over_ten_thousand_conclusions_merges_and_is_undone() {
    let rig = Rig::with(config(), Arc::new(Offline), Faults::none()).await;
    rig.post("/v3/workspaces", json!({"id": "w"})).await;
    rig.post("/v3/workspaces/w/peers", json!({"id": "maya"})).await;
    let mut texts: Vec<String> = (0..9_990)
        .map(|n| format!("maya tagged sample {n} as item {}.", n * 7))
        .collect();
    texts.extend((0..10).map(|n| format!("Maya tagged sample {n} as item {}!", n * 7)));
    state(&rig, &texts).await;
    let count = || async { items(&rig, "conclusion").await.len() };
    assert_eq!(count().await, 10_000);

    let body = json!({"observer": "maya", "dream_type": "omni"});
    rig.post("/v3/workspaces/w/schedule_dream", body).await;
    rig.settle().await;
    let runs = rig.get("/v3/workspaces/w/dreams?observer=maya&observed=maya").await;
    let run = &runs["items"][0];
    assert_eq!(
        (&run["status"], &run["removed_count"]),
        (&json!("completed"), &json!(10)),
        "{run}"
    );

    let undo = format!("/v3/workspaces/w/dreams/{}/undo", run["id"].as_str().unwrap());
    rig.post(&undo, Value::Null).await;
    rig.settle().await;
    assert_eq!(count().await, 10_000);
}
