//! Runs that nobody will finish, and settings that change without traffic.

use super::*;

/// A run whose representation cannot be read: each executor stops at the same place.
#[tokio::test]
async fn a_run_that_nobody_can_carry_out_is_given_up_and_the_slot_is_free() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    let items = rig.items().await;
    let conclusion = items.iter().find(|item| item["type"] == "conclusion").unwrap();
    let partition = conclusion["PK"].as_str().unwrap();
    rig.spoil(&[("PK", partition), ("SK", "C#~")]).await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await[0]["status"], "running");
    for _ in 0..40 {
        rig.advance(MINUTE).await;
        rig.engine.reconcile().await.unwrap();
    }
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["status"]), (1, &json!("failed")), "{ran:#?}");
    assert!(ran[0]["error"].as_str().unwrap().contains("gave up"), "{ran:#?}");
    let why = status(&rig).await;
    assert_eq!(
        (&why["verdict"], &why["running"]),
        (&json!("backing_off"), &Value::Null)
    );
}

#[tokio::test]
async fn dreams_that_are_off_are_looked_at_every_fifteen_minutes_and_armed_without_traffic() {
    let rig = quiet().await;
    rig.post("/v3/workspaces", json!({"id": "w"})).await;
    enable(&rig, false).await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    let mut looked = Vec::new();
    for _ in 0..9 {
        rig.advance(5 * MINUTE).await;
        looked.push(rig.engine.reconcile().await.unwrap().representations);
    }
    assert_eq!(looked, [0, 0, 1, 0, 0, 1, 0, 0, 1]);
    enable(&rig, true).await;
    for _ in 0..3 {
        assert_eq!(status(&rig).await["timer_due_at"], Value::Null);
        rig.advance(5 * MINUTE).await;
        rig.engine.reconcile().await.unwrap();
    }
    assert_eq!(status(&rig).await["timer_due_at"], "2026-01-01T01:00:00Z");
    rig.advance(HOUR).await;
    assert_eq!(runs(&rig).await[0]["status"], "completed");
}

#[tokio::test]
async fn where_dreams_are_turned_off_the_timer_and_what_is_pending_go_without_traffic() {
    let rig = quiet().await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    say(&rig, "s", "bob", &facts(0..1)).await;
    rig.settle().await;
    cut(&rig, "SendMessage");
    assert_eq!(ask(&rig, "bob").await, StatusCode::NO_CONTENT);
    mend(&rig);
    enable(&rig, false).await;
    for _ in 0..14 {
        rig.advance(5 * MINUTE).await;
        rig.engine.reconcile().await.unwrap();
        rig.settle().await;
    }
    for peer in ["maya", "bob"] {
        let why = rig
            .get(&format!("/v3/workspaces/w/dreams/status?observer={peer}"))
            .await;
        assert_eq!(
            (&why["verdict"], &why["timer_due_at"], &why["pending"]),
            (&json!("disabled"), &Value::Null, &json!([])),
            "{peer}"
        );
    }
    assert!(runs(&rig).await.is_empty());
    assert_eq!(rig.get("/v3/workspaces/w/queue/status").await["pending_work_units"], 0);
}
