//! Batches: one derivation sees messages of one set of settings (`design.md` section 5), with the instructions that hold
//! for them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::MESSAGES;
use crate::rig::reasoner::verbatim;
use crate::rig::{Faults, Rig, Scripted, config};

/// What was asked of the deriver: the instructions and the texts of each call.
type Asked = Arc<Mutex<Vec<(Option<String>, Vec<String>)>>>;

async fn listening() -> (Rig, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let reasoner = Scripted::idle().deriving(move |request| {
        let texts = request.messages.iter().map(|message| message.content.clone()).collect();
        log.lock()
            .unwrap()
            .push((request.instructions.map(str::to_owned), texts));
        Ok(verbatim(request))
    });
    (Rig::with(config(), Arc::new(reasoner), Faults::none()).await, asked)
}

fn message(peer: &str, text: &str, instructions: &Value) -> Value {
    json!({"peer_id": peer, "content": text, "configuration": {"reasoning": {"custom_instructions": instructions}}})
}

async fn post(rig: &Rig, messages: &[Value]) {
    rig.post(MESSAGES, json!({ "messages": messages })).await;
    assert_eq!(rig.settle().await, 0);
}

fn asked_for(asked: &Asked) -> Vec<(Option<String>, String)> {
    let calls = std::mem::take(&mut *asked.lock().unwrap());
    calls
        .into_iter()
        .map(|(instructions, texts)| (instructions, texts.concat()))
        .collect()
}

fn call(instructions: Option<&str>, texts: &str) -> (Option<String>, String) {
    (instructions.map(str::to_owned), texts.to_owned())
}

#[tokio::test]
async fn c18_messages_with_other_instructions_are_derived_from_in_calls_of_their_own() {
    let (rig, asked) = listening().await;
    let none = Value::Null;
    post(
        &rig,
        &[
            message("maya", "a", &none),
            message("maya", "b", &json!("CRM")),
            message("tom", "c", &json!("CRM")),
            message("maya", "d", &json!("")),
            message("maya", "e", &none),
            message("maya", "f", &json!("other")),
        ],
    )
    .await;
    assert_eq!(
        asked_for(&asked),
        [
            call(None, "a"),
            call(Some("CRM"), "bc"),
            // None of one's own is the same as none at all.
            call(None, "de"),
            call(Some("other"), "f"),
        ]
    );
    let mut texts = rig.texts("w", "maya", "maya").await;
    texts.sort();
    assert_eq!(texts, ["a", "b", "d", "e", "f"]);
    assert_eq!(rig.texts("w", "tom", "tom").await, ["c"]);
    let queue = rig.get("/v3/workspaces/w/queue/status").await;
    assert_eq!(queue["total_work_units"], 0);
}

#[tokio::test]
async fn what_is_not_reasoned_over_parts_no_batch() {
    let (rig, asked) = listening().await;
    rig.post(
        "/v3/workspaces/w/peers",
        json!({"id": "bot", "configuration": {"observe_me": false}}),
    )
    .await;
    let crm = json!("CRM");
    let silent = json!({"peer_id": "maya", "content": "-",
        "configuration": {"reasoning": {"enabled": false, "custom_instructions": "unheard"}}});
    post(
        &rig,
        &[
            message("maya", "a", &crm),
            message("bot", "-", &Value::Null),
            message("maya", "b", &crm),
            silent,
            message("maya", "c", &crm),
        ],
    )
    .await;
    assert_eq!(asked_for(&asked), [call(Some("CRM"), "abc")]);
}

#[tokio::test]
async fn c9_c11_c12_c13_the_deriver_is_given_the_instructions_that_the_levels_resolve_to() {
    let whole =
        |own: Value, shared: Value| json!({"reasoning": {"custom_instructions": own}, "custom_instructions": shared});
    for (session, workspace, expected) in [
        (json!({}), json!({}), None),
        (json!({}), json!({"custom_instructions": "shared"}), Some("shared")),
        (json!({}), whole(json!("own"), json!("shared")), Some("own")),
        (
            json!({"custom_instructions": "nearer"}),
            whole(json!("own"), json!("shared")),
            Some("nearer"),
        ),
        (
            json!({"custom_instructions": ""}),
            whole(json!("own"), json!("shared")),
            None,
        ),
        (
            json!({"summary": {"custom_instructions": "not for it"}}),
            json!({"custom_instructions": "shared"}),
            Some("shared"),
        ),
    ] {
        let (rig, asked) = listening().await;
        rig.ok("PUT", "/v3/workspaces/w", Some(json!({ "configuration": workspace })))
            .await;
        rig.post(
            "/v3/workspaces/w/sessions",
            json!({"id": "s", "configuration": session}),
        )
        .await;
        post(&rig, &[json!({"peer_id": "maya", "content": "a"})]).await;
        assert_eq!(asked_for(&asked), [call(expected, "a")], "{session} {workspace}");
    }
}
