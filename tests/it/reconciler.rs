//! The reconciler, at its limits: items that fail for ever, more of them than a tick looks at, calls that take too long,
//! two at once. What is healthy is served all the same.

use http::StatusCode;
use reverie_core::time::Time;
use serde_json::{Value, json};

use crate::rig::steps::{HOUR, MINUTE, ask, dream, facts, quiet, runs, say, status, texts};
use crate::rig::{Fault, Rig};

mod starving;
mod stuck;
mod together;

/// What becomes due, one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Session,
    Timer,
    Disabled,
    Run,
    Prune,
    Erase,
    Summary,
}

const KINDS: [Kind; 7] = [
    Kind::Session,
    Kind::Timer,
    Kind::Disabled,
    Kind::Run,
    Kind::Prune,
    Kind::Erase,
    Kind::Summary,
];

/// From now on calls of this name do not get through.
fn cut(rig: &Rig, call: &'static str) {
    rig.faults
        .replan(move |_, name| if name == call { Fault::Fail } else { Fault::None });
}

fn mend(rig: &Rig) {
    rig.faults.replan(|_, _| Fault::None);
}

async fn enable(rig: &Rig, dreams: bool) {
    let body = json!({"configuration": {"dream": {"enabled": dreams}}});
    rig.ok("PUT", "/v3/workspaces/w", Some(body)).await;
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Timer => "timer",
            Self::Disabled => "disabled",
            Self::Run => "run",
            Self::Prune => "prune",
            Self::Erase => "erase",
            Self::Summary => "summary",
        }
    }

    /// Brings the rig to where one item of the kind is due, and nothing but the reconciler will come to it.
    async fn arise(self, rig: &Rig) {
        match self {
            Self::Session => {
                cut(rig, "SendMessage");
                say(rig, "s", "maya", &facts(0..1)).await;
                mend(rig);
                rig.advance(2 * MINUTE).await;
                assert_eq!(texts(rig).await, [""; 0]);
            }
            Self::Timer => {
                cut(rig, "CreateSchedule");
                say(rig, "s", "maya", &facts(0..5)).await;
                rig.settle().await;
                mend(rig);
                rig.advance(61 * MINUTE).await;
                assert_eq!(runs(rig).await.len(), 0);
            }
            Self::Disabled => {
                rig.post("/v3/workspaces", json!({"id": "w"})).await;
                enable(rig, false).await;
                say(rig, "s", "maya", &facts(0..5)).await;
                rig.settle().await;
                enable(rig, true).await;
                rig.advance(16 * MINUTE).await;
                assert_eq!(status(rig).await["timer_due_at"], Value::Null);
            }
            Self::Run => {
                say(rig, "s", "maya", &facts(0..1)).await;
                rig.settle().await;
                cut(rig, "SendMessage");
                assert_eq!(ask(rig, "maya").await, StatusCode::NO_CONTENT);
                mend(rig);
                rig.advance(2 * MINUTE).await;
                assert_eq!(runs(rig).await[0]["status"], "pending");
            }
            Self::Prune => {
                say(rig, "s", "maya", &facts(0..1)).await;
                rig.settle().await;
                dream(rig).await;
                rig.advance(31 * 24 * HOUR).await;
                assert!(!self.is_served(rig).await);
            }
            Self::Erase => {
                say(rig, "s", "maya", &facts(0..1)).await;
                rig.settle().await;
                cut(rig, "SendMessage");
                rig.ok("DELETE", "/v3/workspaces/w/sessions/s", None).await;
                mend(rig);
                rig.advance(2 * MINUTE).await;
                assert!(!self.is_served(rig).await);
            }
            Self::Summary => {
                cut(rig, "Summarise");
                say(rig, "s", "maya", &facts(0..20)).await;
                rig.settle().await;
                mend(rig);
                rig.advance(2 * MINUTE).await;
                assert!(!self.is_served(rig).await);
            }
        }
    }

    /// Whether what was due has been done.
    async fn is_served(self, rig: &Rig) -> bool {
        match self {
            Self::Session => texts(rig).await == facts(0..1),
            Self::Timer | Self::Run => runs(rig).await.first().is_some_and(|run| run["status"] == "completed"),
            Self::Disabled => !status(rig).await["timer_due_at"].is_null(),
            Self::Prune => !holds(rig, "run").await,
            Self::Erase => !holds(rig, "erasure").await,
            Self::Summary => holds(rig, "summary").await,
        }
    }
}

async fn holds(rig: &Rig, entity: &str) -> bool {
    rig.items().await.iter().any(|item| item["type"] == entity)
}

/// The place in the due index of the one item that is due by now.
async fn place(rig: &Rig, kind: Kind) -> String {
    let now = format!("{:020}", rig.now().micros());
    let items = rig.items().await;
    let places: Vec<&str> = items
        .iter()
        .filter(|item| item["due_sk"].as_str().is_some_and(|at| at <= now.as_str()))
        .filter_map(|item| item["due_pk"].as_str())
        .filter(|place| place.starts_with(&format!("DUE#{}#", kind.word())))
        .collect();
    assert_eq!(places.len(), 1, "{kind:?}: {places:?}");
    places[0].to_owned()
}

/// Items that nobody can read, in this place of the due index before everything else.
async fn spoil(rig: &Rig, place: &str, many: usize) {
    for number in 0..many {
        let (key, at) = (format!("X#{number}"), format!("{number:020}"));
        rig.spoil(&[("PK", &key), ("SK", "#"), ("due_pk", place), ("due_sk", &at)])
            .await;
    }
}

/// How often each spoilt item has been looked at, and when the next look is.
async fn looks(rig: &Rig) -> Vec<(i64, Time)> {
    let all = rig.items().await;
    let spoilt = all.iter().filter(|item| item["PK"].as_str().unwrap().starts_with("X#"));
    spoilt
        .map(|item| {
            let next = item["due_sk"].as_str().unwrap().parse().unwrap();
            (item["due_looks"].as_i64().unwrap_or(0), Time::from_micros(next))
        })
        .collect()
}
