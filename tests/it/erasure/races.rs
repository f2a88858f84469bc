//! What is going on when a deletion begins writes nothing that outlives it: the deletion comes, and is done to its end,
//! between any two calls of an ingest, a dream and an undo.

use super::*;

/// Does every deletion that waits, as deliveries of their own would.
async fn run_jobs(rig: &Rig) {
    for item in rig.items().await {
        if item["type"] == "erasure" {
            let session = &item["session"]["uid"];
            let letter = json!({"erase": {"workspace": item["workspace"], "session": session}});
            rig.engine.handle_ingest(&letter.to_string()).await.unwrap();
        }
    }
}

/// What is going on.
#[derive(Clone, Copy, Debug)]
enum Act {
    Ingest,
    Dream,
    DryRun,
    Undo,
}

impl Act {
    /// Brings a fresh rig to where it begins.
    async fn before(self) -> Arc<Rig> {
        let rig = rig().await;
        match self {
            Self::Ingest => {
                say(&rig, "a", "maya", A).await;
                say(&rig, "b", "maya", B).await;
            }
            Self::Dream => {
                told(&rig).await;
                crate::checklist::ask(&rig, "maya").await;
            }
            Self::DryRun => {
                told(&rig).await;
                let body = json!({"observer": "maya", "dream_type": "omni", "dry_run": true});
                rig.post("/v3/workspaces/w/schedule_dream", body).await;
            }
            Self::Undo => {
                let run = dreamt(&rig).await;
                rig.post(&format!("/v3/workspaces/w/dreams/{run}/undo"), Value::Null)
                    .await;
            }
        }
        Arc::new(rig)
    }
}

/// What comes in between.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deletion {
    Session,
    Workspace,
    Conclusion,
}

impl Deletion {
    async fn done(self, rig: &Rig) {
        match self {
            Self::Session => assert_eq!(delete(rig, "/w/sessions/a").await, StatusCode::ACCEPTED),
            Self::Workspace => {
                for path in ["/w/sessions/a", "/w/sessions/b", "/w"] {
                    assert_eq!(delete(rig, path).await, StatusCode::ACCEPTED, "{path}");
                }
            }
            Self::Conclusion => {
                // Live, or removed by what is going on.
                for item in rig.items().await {
                    let conclusion = if item["type"] == "grave" {
                        &item["conclusion"]
                    } else {
                        &item
                    };
                    if conclusion["content"]
                        .as_str()
                        .is_some_and(|text| text.contains("Intel"))
                    {
                        let status = delete(rig, &format!("/w/conclusions/{}", id(conclusion))).await;
                        assert_eq!(status, StatusCode::NO_CONTENT);
                    }
                }
            }
        }
        run_jobs(rig).await;
    }

    async fn assert_held(self, rig: &Rig, session: &str, workspace: &str) {
        match self {
            Self::Session => {
                assert_nowhere(rig, ONLY_A).await;
                assert_no_collection(rig, session).await;
                assert_counts(rig).await;
            }
            Self::Workspace => {
                assert_nowhere(rig, ONLY_A).await;
                assert_nowhere(rig, &["violin", "paint"]).await;
                workspaces::assert_only_closed_counters(rig, workspace).await;
            }
            Self::Conclusion => {
                let left = holding(rig, "Intel").await;
                // The messages are not what was deleted.
                let left: Vec<_> = left.iter().filter(|item| item["type"] != "block").collect();
                assert!(left.is_empty(), "{left:#?}");
                assert_nowhere(rig, &["an engineer"]).await;
                assert_counts(rig).await;
            }
        }
    }
}

async fn between_any_two_calls(act: Act, deletion: Deletion) {
    let rig = act.before().await;
    rig.faults.replan(|_, _| Fault::None);
    rig.settle().await;
    let made = rig.faults.calls();
    assert!(made.len() > 10, "{act:?} makes {} calls", made.len());
    let holds = |name: &str| match name {
        "TransactWriteItems" => true,
        // After a workspace's barrier all that is read is that it is gone.
        "GetItem" | "BatchGetItem" | "Query" => deletion != Deletion::Workspace,
        _ => false,
    };
    for (call, name) in made.iter().enumerate().filter(|(_, name)| holds(name)) {
        let rig = act.before().await;
        let session = uid(&rig, "a").await;
        let items = rig.items().await;
        let head = items.iter().find(|item| item["type"] == "workspace").unwrap();
        let workspace = head["uid"].as_str().unwrap();
        rig.faults
            .replan(move |number, _| if number == call { Fault::Hold } else { Fault::None });
        let going = tokio::spawn({
            let rig = Arc::clone(&rig);
            async move { rig.settle().await }
        });
        rig.faults.held().await;
        deletion.done(&rig).await;
        rig.faults.release();
        going.await.unwrap();
        // What failed comes again.
        for _ in 0..2 {
            rig.advance(3 * MINUTE).await;
            rig.engine.reconcile().await.unwrap();
        }
        rig.settle().await;
        println!("{act:?}, {deletion:?} before call {call}, {name}");
        deletion.assert_held(&rig, &session, workspace).await;
    }
}

#[tokio::test]
async fn h35_no_ingest_writes_behind_a_sessions_deletion() {
    between_any_two_calls(Act::Ingest, Deletion::Session).await;
}

#[tokio::test]
async fn h35_no_dream_writes_behind_a_sessions_deletion() {
    between_any_two_calls(Act::Dream, Deletion::Session).await;
}

#[tokio::test]
async fn h35_no_dry_run_plans_behind_a_sessions_deletion() {
    between_any_two_calls(Act::DryRun, Deletion::Session).await;
}

#[tokio::test]
async fn h35_no_undo_restores_behind_a_sessions_deletion() {
    between_any_two_calls(Act::Undo, Deletion::Session).await;
}

#[tokio::test]
async fn h36_no_ingest_writes_behind_a_workspaces_deletion() {
    between_any_two_calls(Act::Ingest, Deletion::Workspace).await;
}

#[tokio::test]
async fn h36_no_dream_writes_behind_a_workspaces_deletion() {
    between_any_two_calls(Act::Dream, Deletion::Workspace).await;
}

#[tokio::test]
async fn h34_no_dream_uses_what_is_erased_while_it_runs() {
    between_any_two_calls(Act::Dream, Deletion::Conclusion).await;
}

#[tokio::test]
async fn h34_no_undo_restores_what_is_erased_while_it_runs() {
    between_any_two_calls(Act::Undo, Deletion::Conclusion).await;
}
