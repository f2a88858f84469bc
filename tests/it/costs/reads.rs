//! Conclusions and representations as clients read and delete them, the queue's status, and the reconciler at rest.

use http::StatusCode;
use serde_json::json;

use super::{Costs, MINUTE, say, settle};
use crate::rig::Scripted;

pub(super) async fn measure(costs: &mut Costs) {
    let rig = super::rig(Scripted::idle()).await;
    say(&rig, &super::messages::hundred()).await;
    settle(&rig).await;
    let of_maya = json!({"filters": {"observer_id": "maya", "observed_id": "maya"}});
    let list = |path: &'static str, body: serde_json::Value| {
        let rig = &rig;
        async move {
            rig.post(&format!("/v3/workspaces/w/{path}"), body).await;
        }
    };
    costs
        .of(
            "list 50 of 100 conclusions of a representation",
            &rig,
            list("conclusions/list?size=50", of_maya.clone()),
        )
        .await;
    costs
        .of(
            "list 50 of 100 conclusions of a workspace",
            &rig,
            list("conclusions/list?size=50", json!({})),
        )
        .await;
    let query = json!({"query": "violin", "filters": of_maya["filters"]});
    costs
        .of("query 100 conclusions", &rig, list("conclusions/query", query))
        .await;
    costs
        .of(
            "POST representation over 100 conclusions",
            &rig,
            list("peers/maya/representation", json!({})),
        )
        .await;
    let all = rig.conclusions("w", "maya", "maya").await;
    let one = format!("/v3/workspaces/w/conclusions/{}", all[0]["id"].as_str().unwrap());
    costs
        .of("GET one conclusion", &rig, async { _ = rig.get(&one).await })
        .await;
    costs
        .of("DELETE one conclusion", &rig, async {
            let (status, answer) = rig.call("DELETE", &one, None).await;
            assert_eq!(status, StatusCode::NO_CONTENT, "{answer}");
        })
        .await;
    costs
        .of("GET queue/status, nothing waiting", &rig, async {
            rig.get("/v3/workspaces/w/queue/status").await;
        })
        .await;
    rig.advance(61 * MINUTE).await;
    costs
        .of("a tick of the reconciler, nothing due", &rig, async {
            let report = rig.engine.reconcile().await.unwrap();
            assert_eq!(report, reverie_engine::Report::default());
        })
        .await;
    let rig = super::rig(Scripted::idle()).await;
    let mut stated = Vec::new();
    for number in 0..30 {
        let name = format!("peer-{number}");
        rig.post("/v3/workspaces/w/peers", json!({ "id": name })).await;
        stated.push(json!({"content": "I play chess.", "observer_id": name, "observed_id": name}));
    }
    rig.post("/v3/workspaces/w/conclusions", json!({ "conclusions": stated }))
        .await;
    costs
        .of(
            "list 30 conclusions of a workspace of 30 representations",
            &rig,
            async {
                rig.post("/v3/workspaces/w/conclusions/list", json!({})).await;
            },
        )
        .await;
    costs
        .of("list the dreams of a workspace of 30 representations", &rig, async {
            rig.get("/v3/workspaces/w/dreams").await;
        })
        .await;
}
