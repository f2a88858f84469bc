//! What is disturbed.

use std::sync::{Arc, OnceLock};

use reverie_core::conclusion::Level;
use reverie_core::reasoner::{ReasonerError, ThinkRequest, Thought};
use reverie_core::run::{Phase, RemovalReason};
use reverie_core::toolbox::Operation;
use serde_json::json;

use super::{MESSAGES, think};
use crate::rig::steps::{HOUR, MINUTE, ask, facts, id, runs, say};
use crate::rig::{Fault, Faults, Rig, Scripted, TestClock, config};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    /// Messages become conclusions.
    Ingest,
    /// A dream of several turns.
    Dream,
    /// A dream of which an operation is refused, and whose next turn says what it was shown of that.
    Mend,
    /// A dream of which every turn takes longer than a delivery.
    Slices,
    /// A dream against a copy.
    DryRun,
    /// A card written from nothing.
    CardRefresh,
    /// A running dream is cancelled.
    Cancel,
    /// A dream is taken back.
    Undo,
    /// A record is past retention.
    Prune,
    /// Something of every kind is due.
    Tick,
}

impl Act {
    /// A rig at the point where the act begins, without faults, and its reasoner.
    pub(super) async fn begin(self) -> (Rig, Arc<Scripted>) {
        let clock: Arc<OnceLock<Arc<TestClock>>> = Arc::default();
        let reasoner = Arc::new(self.reasoner(Arc::clone(&clock)));
        let rig = Rig::with(config(), Arc::clone(&reasoner) as _, Faults::none()).await;
        self.before(&rig).await;
        if self == Self::Slices {
            clock.set(Arc::clone(&rig.clock)).unwrap();
        }
        rig.fix_ids();
        rig.faults.replan(|_, _| Fault::None);
        (rig, reasoner)
    }

    fn reasoner(self, clock: Arc<OnceLock<Arc<TestClock>>>) -> Scripted {
        match self {
            Self::Mend => Scripted::thinking(|request| Ok(mend(request))),
            Self::Cancel => Scripted::thinking(|request| match request.turn {
                0 => Ok(think(request)),
                _ => Err(ReasonerError::transient("overloaded")),
            }),
            Self::Tick => Scripted::idle(),
            _ => Scripted::thinking(move |request| {
                if let Some(clock) = clock.get() {
                    clock.pass(6 * MINUTE);
                }
                Ok(think(request))
            }),
        }
    }

    async fn before(self, rig: &Rig) {
        if self == Self::Tick {
            return something_of_every_kind(rig).await;
        }
        say(rig, "s", "maya", MESSAGES).await;
        if self == Self::Ingest {
            return;
        }
        rig.settle().await;
        match self {
            Self::Dream | Self::Mend | Self::Slices => rig.pass(HOUR),
            Self::Cancel | Self::Undo | Self::Prune | Self::CardRefresh => rig.advance(HOUR).await,
            _ => {}
        }
        match self {
            Self::Undo => {
                let run = id(&runs(rig).await[0]);
                rig.post(&format!("/v3/workspaces/w/dreams/{run}/undo"), json!({}))
                    .await;
            }
            Self::DryRun => schedule(rig, json!({"observer": "maya", "dry_run": true})).await,
            Self::CardRefresh => {
                let body = json!({"observer": "maya", "dream_type": "card_refresh", "rebuild": true});
                schedule(rig, body).await;
            }
            Self::Prune => rig.pass(31 * 24 * HOUR),
            _ => {}
        }
    }

    /// The act itself, from wherever it was left.
    pub(super) async fn go(self, rig: &Rig) {
        match self {
            Self::Cancel => {
                // Looked up without a call of its own: the runs are the same in every rig.
                let run = rig
                    .items()
                    .await
                    .iter()
                    .find(|item| item["type"] == "run")
                    .map(id)
                    .unwrap();
                // Of a dead process there is no answer; who asks again may be told that it has ended.
                let (status, answer) = rig
                    .call("POST", &format!("/v3/workspaces/w/dreams/{run}/cancel"), None)
                    .await;
                let known = rig.faults.is_dead() || status.is_success() || status == 409;
                assert!(known, "{status} {answer}");
                rig.settle().await;
            }
            Self::Prune | Self::Tick => {
                for wait in [MINUTE, 16 * MINUTE] {
                    rig.pass(wait);
                    let done = rig.engine.reconcile().await;
                    if rig.faults.is_dead() {
                        return;
                    }
                    done.unwrap();
                    rig.settle().await;
                }
            }
            _ => {
                rig.settle().await;
            }
        }
    }

    /// How everything stands in the end.
    pub(super) async fn end(self, rig: &Rig) -> String {
        if self != Self::Tick {
            return rig.fingerprint().await;
        }
        // What a tick has done is done at its own time, which is later after a crash; ids and lists tell the time.
        let mut text = rig.fingerprint_without_times().await;
        for item in rig.items().await {
            match item["type"].as_str() {
                Some("run") => text = text.replace(&id(&item), &format!("run of {}", item["observed"])),
                Some("conclusion") => text = text.replace(&id(&item), &format!("of {}", item["content"])),
                Some("list_row") => {
                    let row = item["SK"].as_str().unwrap();
                    text = text.replace(&row["R#".len()..][..20], "then");
                }
                _ => {}
            }
        }
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    /// The least number of calls with an effect; fewer would prove little.
    pub(super) const fn least(self) -> usize {
        match self {
            Self::Cancel => 1,
            Self::Prune => 2,
            Self::CardRefresh => 4,
            Self::Undo => 3,
            Self::Ingest => 6,
            Self::Dream | Self::Mend | Self::Slices | Self::DryRun => 10,
            Self::Tick => 20,
        }
    }
}

async fn schedule(rig: &Rig, body: serde_json::Value) {
    rig.post("/v3/workspaces/w/schedule_dream", body).await;
}

/// Between what is good, something that is refused; the next turn states what it was told of it.
fn mend(request: &ThinkRequest<'_>) -> Thought {
    let all: Vec<_> = request.conclusions.iter().map(|found| found.id.clone()).collect();
    if request.phase != Phase::Deduction {
        return think(request);
    }
    if request.turn == 0 {
        let mut thought = think(request);
        let too_much = Operation::Remove {
            ids: all,
            reason: RemovalReason::Other,
            replaced_by: None,
        };
        thought.operations.insert(1, too_much.clone());
        thought.operations.push(too_much);
        return thought;
    }
    Thought {
        operations: vec![Operation::Create {
            level: Level::Deductive,
            content: format!("refused: {:?}", request.outcomes),
            sources: vec![all[0].clone()],
            pattern: None,
            replaces: Vec::new(),
        }],
        done: true,
        ..Thought::default()
    }
}

/// A record past retention, a lost timer, a lost start message, a lost wake-up, a deletion whose letter is lost, and a
/// representation for which dreams are on again.
async fn something_of_every_kind(rig: &Rig) {
    let cut = |call: &'static str| {
        rig.faults
            .replan(move |_, name| if name == call { Fault::Fail } else { Fault::None });
    };
    let dreams = async |enabled: bool| {
        let body = json!({"configuration": {"dream": {"enabled": enabled}}});
        rig.ok("PUT", "/v3/workspaces/w/sessions/off", Some(body)).await;
    };
    let nothing = || cut("");
    say(rig, "old", "fay", &facts(0..1)).await;
    rig.settle().await;
    assert_eq!(ask(rig, "fay").await, 204);
    rig.settle().await;
    rig.pass(31 * 24 * HOUR);
    cut("CreateSchedule");
    say(rig, "s", "bob", &facts(0..5)).await;
    rig.settle().await;
    nothing();
    rig.advance(45 * MINUTE).await;
    rig.post("/v3/workspaces/w/sessions", json!({"id": "off"})).await;
    dreams(false).await;
    say(rig, "off", "eve", &facts(0..5)).await;
    say(rig, "s", "cleo", &facts(0..1)).await;
    say(rig, "gone", "dora", &facts(0..1)).await;
    rig.settle().await;
    dreams(true).await;
    cut("SendMessage");
    assert_eq!(ask(rig, "cleo").await, 204);
    say(rig, "s", "maya", &facts(0..1)).await;
    rig.ok("DELETE", "/v3/workspaces/w/sessions/gone", None).await;
    nothing();
    rig.pass(15 * MINUTE);
}
