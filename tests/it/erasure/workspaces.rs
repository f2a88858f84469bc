//! Workspaces deleted.

use super::*;

async fn workspace_uid(rig: &Rig, name: &str) -> String {
    let items = rig.items().await;
    let head = items
        .iter()
        .find(|item| item["type"] == "workspace" && item["name"] == name);
    head.unwrap()["uid"].as_str().unwrap().to_owned()
}

/// All that is left of a workspace: counters that refuse whoever is late, until they expire.
pub(super) async fn assert_only_closed_counters(rig: &Rig, uid: &str) {
    let mut items = rig.items_in_the_clear().await;
    items.retain(|item| item.to_string().contains(uid));
    let closed = |item: &Value| item["closed"] == true && item["ttl"].is_i64() && item["type"].is_null();
    assert!(items.iter().all(closed), "{items:#?}");
    assert_eq!(items.len(), 48);
}

#[tokio::test]
async fn h36_a_workspaces_deletion_erases_everything_and_a_new_one_of_the_name_inherits_nothing() {
    let rig = rig().await;
    dreamt(&rig).await;
    say_in(&rig, "other", "a", "maya", A).await;
    rig.settle().await;
    rig.put_card(&["INSTRUCTION: call me Maya"]).await;
    let body = json!({"messages": [{"peer_id": "maya", "content": "maya repeats herself"}]});
    let (status, _) = rig.keyed("/v3/workspaces/w/sessions/b/messages", "k", &body).await;
    assert_eq!(status, StatusCode::CREATED);
    rig.settle().await;
    let old = workspace_uid(&rig, "w").await;
    let there = workspace_uid(&rig, "other").await;
    let others = async || {
        let mut items = rig.items_in_the_clear().await;
        let words = ["LW", "DUE"];
        items.retain(|item| !item.to_string().contains(&old) && !words.iter().any(|word| item["PK"] == *word));
        items
    };
    assert_eq!(delete(&rig, "/none").await, StatusCode::NOT_FOUND);
    assert_eq!(delete(&rig, "/w").await, StatusCode::CONFLICT);
    assert_eq!(delete(&rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
    assert_eq!(delete(&rig, "/w").await, StatusCode::CONFLICT, "one is active still");
    assert_eq!(delete(&rig, "/w/sessions/b").await, StatusCode::ACCEPTED);
    // The sessions' jobs have not run: the workspace's does their work, or they its.
    assert_eq!(delete(&rig, "/w").await, StatusCode::ACCEPTED);
    assert_eq!(delete(&rig, "/w").await, StatusCode::NOT_FOUND);

    // The name is free at once.
    say(&rig, "a", "maya", &["maya is new here"]).await;
    assert_eq!(rig.settle().await, 0);
    assert_ne!(workspace_uid(&rig, "w").await, old);
    assert_eq!(texts(&rig).await, ["maya is new here"]);
    assert_eq!(card(&rig).await, Value::Null);
    assert_eq!(listed(&rig, "observer=maya").await, [Value::Null; 0]);
    assert_eq!(rig.post("/v3/workspaces/w/sessions/list", json!({})).await["total"], 1);
    assert_eq!(rig.post("/v3/workspaces/w/peers/list", json!({})).await["total"], 1);
    assert_eq!(rig.post("/v3/workspaces/list", json!({})).await["total"], 2);

    assert_only_closed_counters(&rig, &old).await;
    assert_nowhere(&rig, &["call me Maya", "owns a violin", "artistic"]).await;
    let left = others().await;
    let of_other = left
        .iter()
        .filter(|item| item["type"] == "conclusion" && item.to_string().contains("Intel"));
    assert_eq!(of_other.count(), 1);
    assert_eq!(rig.texts("other", "maya", "maya").await, A);
    assert!(left.iter().any(|item| item.to_string().contains(&there)));
    assert_counts(&rig).await;
}

#[tokio::test]
async fn a_workspace_with_work_waiting_and_a_dream_pending_is_deleted_whole() {
    let rig = rig().await;
    told(&rig).await;
    let old = workspace_uid(&rig, "w").await;
    crate::checklist::ask(&rig, "maya").await;
    for session in ["a", "b"] {
        say(&rig, session, "maya", &["maya says more"]).await;
        assert_eq!(
            delete(&rig, &format!("/w/sessions/{session}")).await,
            StatusCode::ACCEPTED
        );
    }
    assert_eq!(delete(&rig, "/w").await, StatusCode::ACCEPTED);
    rig.settle().await;
    assert_only_closed_counters(&rig, &old).await;
    rig.pass(10 * MINUTE);
    let report = rig.engine.reconcile().await.unwrap();
    assert_eq!(report, reverie_engine::Report::default(), "nothing is due any more");
}

#[tokio::test]
async fn a_lost_letter_of_a_workspaces_deletion_is_made_good_and_a_long_one_is_handed_on() {
    let rig = rig().await;
    dreamt(&rig).await;
    for number in 0..120 {
        rig.post("/v3/workspaces/w/peers", json!({"id": format!("peer{number}")}))
            .await;
    }
    let old = workspace_uid(&rig, "w").await;
    rig.faults.replan(|_, name| {
        if name == "SendMessage" {
            Fault::Fail
        } else {
            Fault::None
        }
    });
    for path in ["/w/sessions/a", "/w/sessions/b", "/w"] {
        assert_eq!(delete(&rig, path).await, StatusCode::ACCEPTED);
    }
    rig.faults.replan(|_, _| Fault::None);
    rig.settle().await;
    assert!(!holding(&rig, "Intel").await.is_empty());
    rig.pass(2 * MINUTE);
    assert_eq!(rig.engine.reconcile().await.unwrap().erasures, 3);
    let clock = Arc::clone(&rig.clock);
    rig.faults.replan(move |_, _| {
        clock.pass(Duration::from_secs(3));
        Fault::None
    });
    rig.settle().await;
    let sent = rig.faults.calls().iter().filter(|call| *call == "SendMessage").count();
    assert!(sent >= 2, "{sent} messages");
    assert_only_closed_counters(&rig, &old).await;
    assert_counts(&rig).await;
}

impl Rig {
    async fn put_card(&self, entries: &[&str]) {
        let body = json!({ "peer_card": entries });
        self.ok("PUT", "/v3/workspaces/w/peers/maya/card", Some(body)).await;
    }
}
