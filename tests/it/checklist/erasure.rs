//! Row H34 and what erasure means for later dreams (`design.md` section 6).

use http::StatusCode;
use reverie_core::run::Phase;
use serde_json::{Value, json};

use super::{
    HOUR, MINUTE, card, created, detail, dream, id, id_of, list, newest, removed, say, scripted, strings, texts,
};
use crate::rig::{Rig, Scripted};

async fn erase(rig: &Rig, id: &str) {
    let (status, _) = rig
        .call("DELETE", &format!("/v3/workspaces/w/conclusions/{id}"), None)
        .await;
    assert_eq!(status, StatusCode::NO_CONTENT);
}

/// The table holds these words nowhere in the clear, but in the messages themselves.
async fn assert_nowhere(rig: &Rig, words: &str) {
    for item in rig.items().await {
        assert!(!item.to_string().contains(words), "{words:?} is still in {item}");
    }
}

#[tokio::test]
async fn h34_deleting_a_conclusion_erases_every_copy() {
    let rig = Rig::new().await;
    say(&rig, "a", "maya", &["I live in Lisbon."]).await;
    rig.settle().await;
    rig.pass(24 * HOUR);
    say(&rig, "b", "maya", &["I moved to Oslo."]).await;
    rig.settle().await;
    let old = id_of(&rig, "maya lives in Lisbon.").await;
    let first = dream(&rig).await;
    assert!(
        removed(&first).contains(&"maya lives in Lisbon.".to_owned()),
        "{first:#}"
    );
    // A dream had removed it already; its recorded text goes all the same.
    erase(&rig, &old).await;
    let first = detail(&rig, &id(&first)).await;
    let gone = list(&first["removed"])
        .into_iter()
        .find(|removed| removed["id"] == json!(old))
        .unwrap();
    assert_eq!(gone["content"], Value::Null);
    assert_nowhere(&rig, "maya lives in Lisbon.").await;
}

#[tokio::test]
async fn h34_card_entries_go_with_what_they_rest_on_in_recorded_cards_too() {
    let rig = Rig::new().await;
    say(&rig, "a", "maya", &["My name is Maya Lopez.", "I live in Lisbon."]).await;
    rig.settle().await;
    let run = id(&dream(&rig).await);
    assert!(strings(&card(&rig).await).contains(&"IDENTITY: Lives in Lisbon".to_owned()));
    let home = id_of(&rig, "maya lives in Lisbon.").await;
    erase(&rig, &home).await;
    assert_eq!(card(&rig).await, json!(["IDENTITY: Name: Maya Lopez"]));
    assert_eq!(
        detail(&rig, &run).await["peer_card"]["after"],
        json!(["IDENTITY: Name: Maya Lopez"])
    );
    assert_nowhere(&rig, "Lives in Lisbon").await;
    // Nor does a later dream write it again.
    dream(&rig).await;
    assert!(!strings(&card(&rig).await).iter().any(|entry| entry.contains("Lisbon")));
}

#[tokio::test]
async fn an_erased_text_is_not_created_again_from_old_sources_but_from_new_ones() {
    let rig = Rig::new().await;
    say(&rig, "a", "maya", &["I live in Lisbon."]).await;
    rig.settle().await;
    let first = dream(&rig).await;
    assert_eq!(created(&first), ["maya lives in Portugal."]);
    rig.pass(MINUTE);
    erase(&rig, &id_of(&rig, "maya lives in Portugal.").await).await;
    rig.pass(MINUTE);
    for _ in 0..2 {
        let again = dream(&rig).await;
        assert_eq!(created(&again), [""; 0], "from what was said before the erasure");
        rig.pass(MINUTE);
    }
    say(&rig, "b", "maya", &["I live in Lisbon."]).await;
    rig.settle().await;
    dream(&rig).await;
    assert!(
        texts(&rig).await.contains(&"maya lives in Portugal.".to_owned()),
        "{:?}",
        newest(&rig).await
    );
}

#[tokio::test]
async fn an_erased_fact_returns_with_a_new_message_and_not_with_one_that_was_on_its_way() {
    let rig = super::quiet().await;
    say(&rig, "s", "maya", &["maya is shy"]).await;
    rig.settle().await;
    // The same again is on its way when the owner erases it.
    rig.pass(MINUTE);
    say(&rig, "s", "maya", &["Maya is  shy"]).await;
    rig.pass(MINUTE);
    erase(&rig, &id_of(&rig, "maya is shy").await).await;
    rig.pass(MINUTE);
    rig.settle().await;
    assert_eq!(texts(&rig).await, [""; 0]);
    say(&rig, "s", "maya", &["maya is shy"]).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, ["maya is shy"]);
}

#[tokio::test]
async fn a_statement_through_the_api_lifts_the_erasure() {
    let rig = super::quiet().await;
    let ids = super::state(&rig, "maya", "maya", &["maya is shy"]).await;
    rig.pass(MINUTE);
    erase(&rig, &ids[0]).await;
    super::state(&rig, "maya", "maya", &["maya is shy"]).await;
    assert_eq!(texts(&rig).await, ["maya is shy"]);
}

#[tokio::test]
async fn what_is_erased_while_a_dream_runs_is_not_used_by_it() {
    // Between the reasoner's answer and its effects stands a wait: the second turn is not answered at once.
    let mut waits = 1;
    let rig = scripted(Scripted::thinking(move |request| {
        if request.phase == Phase::Deduction && request.turn == 1 && waits > 0 {
            waits -= 1;
            return Err(reverie_core::reasoner::ReasonerError::transient(
                "overloaded".to_owned(),
            ));
        }
        Ok(crate::crash::think(request))
    }))
    .await;
    say(&rig, "s", "maya", crate::crash::MESSAGES).await;
    rig.settle().await;
    super::ask(&rig, "maya").await;
    rig.settle().await;
    rig.pass(MINUTE);
    erase(&rig, &id_of(&rig, "maya works at Qualcomm").await).await;
    rig.settle().await;
    let ran = newest(&rig).await;
    assert_eq!(ran["status"], "completed");
    assert_eq!(card(&rig).await, Value::Null, "the entry would have rested on it alone");
    assert_eq!(ran["created"][0]["sources"][0]["status"], "unavailable");
    assert_nowhere(&rig, "maya works at Qualcomm").await;
}
