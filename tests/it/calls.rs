//! What the hot paths call, as lists: a call that is added fails here (`design.md` section 11).

use std::sync::Arc;

use serde_json::json;

use crate::rig::{Faults, Rig, Scripted, config};

async fn rig() -> Rig {
    Rig::with(config(), Arc::new(Scripted::idle()), Faults::none()).await
}

fn one() -> serde_json::Value {
    json!({"messages": [{"peer_id": "maya", "content": "I work at Intel."}]})
}

#[tokio::test]
async fn a_message_to_a_known_session_takes_three_calls() {
    let rig = rig().await;
    let path = "/v3/workspaces/w/sessions/s/messages";
    rig.post(path, one()).await;
    rig.post(path, one()).await;
    rig.faults.replan(|_, _| crate::rig::Fault::None);
    rig.post(path, one()).await;
    assert_eq!(
        rig.faults.calls(),
        ["BatchGetItem", "TransactWriteItems", "SendMessage"]
    );
}
