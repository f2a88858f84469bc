//! `/v3/workspaces/{w}/peers/{p}/card`

use serde_json::json;

use super::play;

#[tokio::test]
async fn set_as_given_and_read_back_per_target() {
    let said = play(async |tape| {
        tape.put(
            "/w/peers/maya/card",
            json!({"peer_card": ["Name: Maya", "", "no prefix is needed", "Name: Maya"]}),
        )
        .await;
        tape.put("/w/peers/maya/card?target=bob", json!({"peer_card": ["Bob is kind"]}))
            .await;
        tape.get("/w/peers/maya/card").await;
        tape.get("/w/peers/maya/card?target=bob").await;
        tape.get("/w/peers/maya/card?target=stranger").await;
        tape.put("/w/peers/maya/card", json!({"peer_card": []})).await;
        tape.get("/w/peers/maya/card").await;
        tape.post("/w/peers/list", json!({})).await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn what_is_wrong_is_told_in_the_contracts_shape() {
    let said = play(async |tape| {
        tape.get("/w/peers/maya/card").await;
        tape.post("/w/peers", json!({"id": "maya"})).await;
        tape.get("/w/peers/maya/card").await;
        tape.get("/w/peers/nobody/card").await;
        tape.get("/w/peers/maya/card?target=no%20body").await;
        tape.put("/w/peers/maya/card", json!({})).await;
        tape.put("/w/peers/maya/card", json!({"peer_card": "text"})).await;
        tape.put(
            "/w/peers/maya/card?target=no%20body",
            json!({"peer_card": [1, null, "x"]}),
        )
        .await;
    })
    .await;
    insta::assert_json_snapshot!(said);
}
