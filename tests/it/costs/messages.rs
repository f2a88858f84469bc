//! Messages coming in, and read again.

use serde_json::json;

use super::{Costs, MESSAGES, MINUTE, said, say, settle};
use crate::rig::{Rig, Scripted};

/// A hundred messages of 90 bytes, no two alike.
pub(super) fn hundred() -> Vec<String> {
    let words = [
        "harbour", "violin", "ledger", "saffron", "glacier", "mitten", "quarry", "lantern", "orchard", "pulley",
        "thistle", "walnut", "ferry", "cobalt", "meadow", "anchor", "basil", "chimney", "dolphin", "ember",
    ];
    let word = |at: usize| words[at % words.len()];
    let texts = (0..100).map(|n| {
        let (a, b, c) = (word(n * 7 + n / 3), word(n * 11 + n / 7 + 3), word(n * 13 + n / 11 + 5));
        format!(
            "{n:03}: I saw the {a} beside a {b} on day {} and thought of the {c} that we lost",
            n * n + 17
        )
    });
    texts.map(|text| format!("{text:.<90}")).collect()
}

async fn keyed(rig: &Rig) {
    let (status, answer) = rig.keyed(MESSAGES, "k-1", &said(&["I keep bees."])).await;
    assert!(status.is_success(), "{answer}");
}

async fn get(rig: &Rig, path: &str) {
    rig.get(path).await;
}

async fn list(rig: &Rig, path: &str) {
    rig.post(path, json!({})).await;
}

pub(super) async fn measure(costs: &mut Costs) {
    let rig = super::rig(Scripted::idle()).await;
    costs
        .of(
            "POST one message: workspace, session and peer are new",
            &rig,
            say(&rig, &["I work at Intel."]),
        )
        .await;
    settle(&rig).await;
    rig.pass(MINUTE);
    costs
        .of(
            "POST one message to a session at rest",
            &rig,
            say(&rig, &["I play chess."]),
        )
        .await;
    costs
        .of(
            "POST one message seconds after another",
            &rig,
            say(&rig, &["I play go."]),
        )
        .await;
    settle(&rig).await;
    rig.pass(MINUTE);
    costs
        .of("POST one message with an `Idempotency-Key`", &rig, keyed(&rig))
        .await;
    costs.of("the same POST again", &rig, keyed(&rig)).await;
    settle(&rig).await;
    rig.pass(MINUTE);
    costs
        .of("POST 100 messages, 9 KB of text", &rig, say(&rig, &hundred()))
        .await;
    let new = "/v3/workspaces/w/sessions/t/messages";
    costs
        .of("POST one message to a new session of a known peer", &rig, async {
            rig.post(new, said(&["I sail."])).await;
        })
        .await;
    costs
        .of(
            "list 50 messages",
            &rig,
            list(&rig, &format!("{MESSAGES}/list?size=50")),
        )
        .await;
    let page = rig.post(&format!("{MESSAGES}/list"), json!({})).await;
    let one = format!("{MESSAGES}/{}", page["items"][3]["id"].as_str().unwrap());
    costs.of("GET one message", &rig, get(&rig, &one)).await;
    costs
        .of(
            "list 50 sessions of a workspace",
            &rig,
            list(&rig, "/v3/workspaces/w/sessions/list?size=50"),
        )
        .await;
}
