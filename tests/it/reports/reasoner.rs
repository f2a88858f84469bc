//! What a reasoner may answer, and what the run then says.

use std::sync::Arc;

use reverie_core::conclusion::{CardEntry, Level, Pattern};
use reverie_core::id::ConclusionId;
use reverie_core::reasoner::{ReasonerError, ThinkRequest, Thought};
use reverie_core::run::RemovalReason;
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use super::stands;
use crate::rig::{
    Faults, Rig, Scripted, config,
    steps::{HOUR, MINUTE, dream, facts, runs, say, scripted, status, thought},
};

type Answer = Box<dyn FnMut(&ThinkRequest<'_>) -> Result<Thought, ReasonerError> + Send>;

#[tokio::test]
async fn report_08_junk_from_a_reasoner_changes_nothing_and_the_run_tells_the_truth() {
    let unknown = || ConclusionId::trusted("x".repeat(36));
    let ghosts = move |request: &ThinkRequest<'_>| {
        let known = request.conclusions[0].id.clone();
        let create = |level, content: &str, sources: Vec<_>, replaces| Operation::Create {
            level,
            content: content.to_owned(),
            sources,
            pattern: Some(Pattern::Behavior),
            replaces,
        };
        vec![
            create(
                Level::Deductive,
                "of a ghost",
                vec![unknown()],
                vec![(known.clone(), RemovalReason::Superseded)],
            ),
            create(
                Level::Inductive,
                "of one and a ghost",
                vec![known.clone(), unknown()],
                vec![(known.clone(), RemovalReason::Other)],
            ),
            create(
                Level::Deductive,
                "  ",
                vec![known.clone()],
                vec![(known.clone(), RemovalReason::Superseded)],
            ),
            Operation::Merge {
                keep: unknown(),
                duplicates: vec![known.clone()],
            },
            Operation::Merge {
                keep: known.clone(),
                duplicates: vec![known.clone()],
            },
            Operation::Merge {
                keep: known.clone(),
                duplicates: vec![unknown()],
            },
            Operation::Remove {
                ids: vec![known.clone()],
                reason: RemovalReason::Duplicate,
                replaced_by: Some(unknown()),
            },
            Operation::Remove {
                ids: vec![unknown()],
                reason: RemovalReason::Other,
                replaced_by: None,
            },
            Operation::Card {
                entries: vec![CardEntry {
                    text: "IDENTITY: ghost".into(),
                    conclusions: vec![unknown()],
                }],
            },
        ]
    };
    let answers: [(&str, Answer); 3] = [
        (
            "failed",
            Box::new(|_| Err(ReasonerError::permanent("not the agreed shape".to_owned()))),
        ),
        ("completed", Box::new(|_| Ok(thought(Vec::new())))),
        ("failed", Box::new(move |request| Ok(thought(ghosts(request))))),
    ];
    for (ends, answer) in answers {
        let rig = scripted(Scripted::thinking(answer)).await;
        say(&rig, "s", "maya", &facts(0..3)).await;
        rig.settle().await;
        rig.ok(
            "PUT",
            "/v3/workspaces/w/peers/maya/card",
            Some(json!({"peer_card": ["IDENTITY: Maya"]})),
        )
        .await;
        let before = stands(&rig).await;
        let ran = dream(&rig).await;
        assert_eq!(stands(&rig).await, before);
        assert_eq!(ran["status"], ends);
        assert_eq!(ran["error"].is_string(), ends == "failed", "{}", ran["error"]);
        for count in ["created_count", "removed_count", "reinforced_count"] {
            assert_eq!(ran[count], 0);
        }
        assert_eq!(
            (&ran["created"], &ran["removed"], &ran["peer_card"]),
            (&json!([]), &json!([]), &Value::Null)
        );
        assert_eq!(ran["peer_card_updated"], false);
    }
}

#[tokio::test]
async fn report_09_an_empty_reflection_replaces_nothing_and_is_not_asked_for_every_turn() {
    let asked = Arc::new(Scripted::thinking(|request| {
        let empty = |text: &str| CardEntry {
            text: text.to_owned(),
            conclusions: vec![request.conclusions[0].id.clone()],
        };
        let all: Vec<_> = request
            .conclusions
            .iter()
            .map(|conclusion| conclusion.id.clone())
            .collect();
        let replaces = all.iter().map(|id| (id.clone(), RemovalReason::Superseded)).collect();
        Ok(thought(vec![
            Operation::Create {
                level: Level::Deductive,
                content: String::new(),
                sources: all.clone(),
                pattern: None,
                replaces,
            },
            Operation::Card { entries: Vec::new() },
            Operation::Card {
                entries: vec![empty(""), empty("IDENTITY: "), empty("nothing of a kind")],
            },
        ]))
    }));
    let rig = Rig::with(config(), Arc::clone(&asked) as _, Faults::none()).await;
    say(&rig, "s", "maya", &facts(0..5)).await;
    rig.settle().await;
    rig.ok(
        "PUT",
        "/v3/workspaces/w/peers/maya/card",
        Some(json!({"peer_card": ["IDENTITY: Maya"]})),
    )
    .await;
    let before = stands(&rig).await;
    rig.advance(61 * MINUTE).await;
    assert_eq!(
        (runs(&rig).await.len(), asked.thoughts()),
        (1, 2),
        "one dream, one question per phase"
    );
    assert_eq!(status(&rig).await["verdict"], "backing_off");
    for _ in 0..48 {
        rig.advance(HOUR).await;
    }
    // After 2, 4, 8, 16 hours, and after a day.
    assert_eq!((runs(&rig).await.len(), asked.thoughts()), (5, 10));
    assert!(runs(&rig).await.iter().all(|run| run["status"] == "failed"));
    assert_eq!(stands(&rig).await, before);
}
