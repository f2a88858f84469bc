//! When dreams come, and when not.

use std::sync::Arc;

use reverie_core::conclusion::Level;
use reverie_core::config::Config;
use reverie_core::run::Phase;
use reverie_core::toolbox::Operation;
use serde_json::json;

use crate::rig::{
    Faults, Rig, Scripted,
    steps::{HOUR, MINUTE, facts, quiet, runs, say, status, thought},
};

#[tokio::test]
async fn report_01_a_threshold_met_inside_the_cooldown_needs_no_further_message() {
    let rig = quiet().await;
    rig.pass(20 * HOUR + 51 * MINUTE);
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.advance(HOUR).await;
    assert_eq!(runs(&rig).await[0]["ended_at"], "2026-01-01T21:51:00Z");
    for number in 0..50 {
        rig.pass(MINUTE);
        say(&rig, "s", "maya", &[format!("maya noted late fact {number}")]).await;
        rig.settle().await;
    }
    // No more traffic. Nobody but the schedule looks.
    while rig.now().to_string().as_str() < "2026-01-02T05:50:00Z" {
        rig.advance(MINUTE).await;
        assert_eq!(runs(&rig).await.len(), 1, "{}", rig.now());
    }
    rig.advance(MINUTE).await;
    let ran = runs(&rig).await;
    assert_eq!((ran.len(), &ran[0]["started_at"]), (2, &json!("2026-01-02T05:51:00Z")));
}

#[tokio::test]
async fn report_05_what_a_dream_deduces_brings_the_next_one_no_nearer() {
    let reasoner = Scripted::thinking(|request| {
        let source = request.conclusions[0].id.clone();
        let deduced = |number| Operation::Create {
            level: Level::Deductive,
            content: format!("deduced {number}"),
            sources: vec![source.clone()],
            pattern: None,
            replaces: Vec::new(),
        };
        Ok(thought(if request.phase == Phase::Deduction {
            (0..30).map(deduced).collect()
        } else {
            Vec::new()
        }))
    });
    let rig = Rig::with(Config::default(), Arc::new(reasoner), Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..50)).await;
    rig.settle().await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(runs(&rig).await[0]["created_count"], 30);
    say(&rig, "s", "maya", &facts(50..70)).await;
    rig.advance(30 * HOUR).await;
    assert_eq!(runs(&rig).await.len(), 1);
    assert_eq!(status(&rig).await["new_conclusions"], 20);
}

#[tokio::test]
async fn report_19_times_are_utc_whatever_clocks_are_put_forward_or_back() {
    // The nights on which Europe and America change their clocks.
    for (night, due) in [
        ("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"),
        ("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
        ("2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z"),
        ("2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
        ("2026-12-31T23:30:00Z", "2027-01-01T00:30:00Z"),
    ] {
        let rig = quiet().await;
        while rig.now().to_string().as_str() < night {
            let far = rig.now().to_string()[..10] != night[..10];
            rig.pass(if far { 24 * HOUR } else { 30 * MINUTE });
        }
        assert_eq!(rig.now().to_string(), night);
        say(&rig, "s", "maya", &facts(0..5)).await;
        rig.settle().await;
        assert_eq!(status(&rig).await["timer_due_at"], due);
        rig.advance(59 * MINUTE).await;
        assert_eq!(runs(&rig).await.len(), 0);
        rig.advance(MINUTE).await;
        assert_eq!(runs(&rig).await[0]["started_at"], due);
    }
}
