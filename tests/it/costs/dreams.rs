//! Dreams: asked for, fired, run, read, taken back.

use std::time::Duration;

use http::StatusCode;
use reverie_core::reasoner::{ThinkRequest, Thought};
use reverie_core::run::Phase;
use reverie_core::toolbox::Operation;
use serde_json::{Value, json};

use super::{Costs, MINUTE, say, settle};
use crate::rig::{Rig, Scripted};

const FACTS: [&str; 5] = [
    "I work at Intel.",
    "I own a violin.",
    "I play the violin.",
    "I play go.",
    "I keep bees.",
];

/// Merges two facts in the first turn, and has nothing more to say.
fn merge(request: &ThinkRequest<'_>) -> Thought {
    let find = |text| {
        request
            .conclusions
            .iter()
            .find(|c| c.content == text)
            .map(|c| c.id.clone())
    };
    let merge = |(keep, duplicate)| Operation::Merge {
        keep,
        duplicates: vec![duplicate],
    };
    let both = find(FACTS[2]).zip(find(FACTS[1]));
    Thought {
        operations: both
            .filter(|_| request.phase == Phase::Deduction)
            .map(merge)
            .into_iter()
            .collect(),
        done: true,
        ..Thought::default()
    }
}

/// Five facts, and a timer for the dream about them.
async fn armed(reasoner: Scripted) -> Rig {
    let rig = super::rig(reasoner).await;
    say(&rig, &FACTS).await;
    settle(&rig).await;
    rig
}

async fn ask(rig: &Rig) {
    let body = json!({"observer": "maya"});
    let (status, answer) = rig.call("POST", "/v3/workspaces/w/schedule_dream", Some(body)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{answer}");
}

async fn get(rig: &Rig, path: &str) -> Value {
    rig.get(&format!("/v3/workspaces/w/dreams{path}")).await
}

pub(super) async fn measure(costs: &mut Costs) {
    let rig = armed(Scripted::idle()).await;
    costs
        .of("GET dreams/status", &rig, async {
            _ = get(&rig, "/status?observer=maya").await;
        })
        .await;
    rig.pass(Duration::from_secs(30));
    say(&rig, &["I keep cats."]).await;
    settle(&rig).await;
    rig.pass(Duration::from_secs(59 * 60 + 35));
    costs
        .of("a fire that is not due: the timer is set anew", &rig, settle(&rig))
        .await;
    rig.pass(MINUTE);
    costs
        .of("a fire that is due: claimed, nothing to do, ended", &rig, settle(&rig))
        .await;
    assert_eq!(get(&rig, "?observer=maya").await["total"], 1);

    let rig = armed(Scripted::thinking(|request| Ok(merge(request)))).await;
    rig.pass(61 * MINUTE);
    costs.of("the same with one merge", &rig, settle(&rig)).await;
    let runs = get(&rig, "?observer=maya&observed=maya").await;
    assert_eq!(runs["items"][0]["removed_count"], 1);
    let run = format!("/{}", runs["items"][0]["id"].as_str().unwrap());
    costs
        .of("list the dreams of one representation", &rig, async {
            get(&rig, "?observer=maya&observed=maya").await;
        })
        .await;
    costs
        .of("GET one dream", &rig, async { _ = get(&rig, &run).await })
        .await;
    costs
        .of("POST undo", &rig, async {
            rig.post(&format!("/v3/workspaces/w/dreams{run}/undo"), json!({})).await;
        })
        .await;
    costs.of("… the undo of one merge", &rig, settle(&rig)).await;
    assert_eq!(rig.texts("w", "maya", "maya").await.len(), FACTS.len());

    let rig = armed(Scripted::idle()).await;
    costs
        .of("POST schedule_dream, with a timer armed", &rig, ask(&rig))
        .await;
    costs
        .of("POST schedule_dream while one is pending", &rig, ask(&rig))
        .await;
    costs
        .of("… the dream that was asked for: nothing to do", &rig, settle(&rig))
        .await;
    costs.of("POST schedule_dream at rest", &rig, ask(&rig)).await;
}
