//! A deletion that dies at any call, its request included, ends as if it had not.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Conclusion,
    Session,
    Workspace,
}

impl Act {
    /// Brings a fresh rig to where the deletion begins.
    async fn before(self) -> Rig {
        let rig = rig().await;
        dreamt(&rig).await;
        if self == Self::Workspace {
            assert_eq!(delete(&rig, "/w/sessions/a").await, StatusCode::ACCEPTED);
            rig.settle().await;
            // Of this one the workspace's job finds everything.
            assert_eq!(delete(&rig, "/w/sessions/b").await, StatusCode::ACCEPTED);
        }
        rig.fix_ids();
        rig
    }

    async fn ask(self, rig: &Rig) {
        let path = match self {
            Self::Conclusion => format!("/w/conclusions/{}", recorded(rig).await),
            Self::Session => "/w/sessions/a".to_owned(),
            Self::Workspace => "/w".to_owned(),
        };
        // An answer that was lost is no answer; who asks again may be told that it is gone.
        let (status, answer) = rig.call("DELETE", &format!("/v3/workspaces{path}"), None).await;
        let known = [
            StatusCode::ACCEPTED,
            StatusCode::NO_CONTENT,
            StatusCode::NOT_FOUND,
            StatusCode::INTERNAL_SERVER_ERROR,
        ];
        assert!(known.contains(&status), "{status} {answer}");
    }
}

/// What is left when everything has been looked at again.
async fn end(act: Act, rig: &Rig) -> String {
    act.ask(rig).await;
    rig.settle().await;
    rig.pass(2 * MINUTE);
    rig.engine.reconcile().await.unwrap();
    rig.settle().await;
    rig.fingerprint().await
}

async fn every_crash(act: Act) {
    let rig = act.before().await;
    rig.faults.replan(|_, _| Fault::None);
    act.ask(&rig).await;
    assert_eq!(rig.settle().await, 0);
    // What a read changes is nothing: to die before a write is to die at any read before it.
    let made = rig.faults.calls();
    let is_write = |name: &str| matches!(name, "TransactWriteItems" | "BatchWriteItem" | "SendMessage");
    let writes: Vec<usize> = (0..made.len()).filter(|call| is_write(&made[*call])).collect();
    let least = if act == Act::Conclusion { 2 } else { 7 };
    assert!(writes.len() >= least, "{made:?}");
    let expected = end(act, &rig).await;
    for call in writes {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let rig = act.before().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            act.ask(&rig).await;
            rig.settle().await;
            assert!(rig.faults.is_dead(), "{act:?} has no call {call}");
            let last = rig.faults.calls()[call].clone();
            let rig = rig.restart().await;
            rig.settle().await;
            assert_eq!(
                end(act, &rig).await,
                expected,
                "{act:?}: {fault:?} at call {call}, {last}"
            );
        }
    }
}

/// The conclusion that the first operation of the dream created: it is in the card, and recorded, and the row stays.
async fn recorded(rig: &Rig) -> String {
    let items = rig.items().await;
    let rows = items
        .iter()
        .filter(|item| item["type"] == "change" && item["kind"] == "created");
    let first = rows.min_by_key(|row| row["SK"].to_string()).unwrap();
    id(first)
}

#[tokio::test]
async fn a_conclusions_deletion_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Conclusion).await;
}

#[tokio::test]
async fn a_sessions_deletion_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Session).await;
}

#[tokio::test]
async fn a_workspaces_deletion_that_dies_at_any_call_ends_as_if_it_had_not() {
    every_crash(Act::Workspace).await;
}
