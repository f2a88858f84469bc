//! The crash harness over a dream by a model: the process dies at every call of the table and of the model, before it
//! takes effect and after. The end is the same, and no stored answer is asked for twice.

use std::sync::Arc;
use std::time::Duration;

use reverie_models::Provider;

use super::dreaming::{SAID, script};
use super::{asked_only, dreaming, reasoner};
use crate::models::TestPace;
use crate::rig::model_server::ModelServer;
use crate::rig::steps::{ask, state};
use crate::rig::{Fault, Faults, Rig};

/// A memory, and a dream of it that was asked for.
async fn begun(server: &ModelServer) -> Rig {
    let reasoner = reasoner(Provider::Anthropic, server, &TestPace::new());
    let rig = Rig::with(asked_only(), Arc::new(reasoner), Faults::none()).await;
    state(&rig, "maya", "maya", SAID).await;
    rig.settle().await;
    rig.pass(Duration::from_hours(1));
    ask(&rig, "maya").await;
    rig.fix_ids();
    rig
}

async fn server() -> ModelServer {
    let server = ModelServer::start([]).await;
    dreaming(&server, script);
    server
}

#[tokio::test]
async fn a_dream_by_a_model_that_dies_at_any_call_ends_as_if_it_had_not() {
    let calm = server().await;
    let rig = begun(&calm).await;
    rig.faults.replan(|_, _| Fault::None);
    assert_eq!(rig.settle().await, 0);
    let (expected, calls, asked_once) = (rig.fingerprint().await, rig.faults.calls().len(), calm.asked().len());
    assert_eq!(asked_once, 3);
    assert!(calls > 20, "{calls}");
    for call in 0..calls {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let server = server().await;
            let rig = begun(&server).await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            rig.settle().await;
            assert!(rig.faults.is_dead(), "there is no call {call}");
            let made = rig.faults.calls();
            let last = made[call].clone();
            let rig = rig.restart().await;
            rig.fix_ids();
            rig.settle().await;
            let at = format!("{fault:?} at call {call}, {last}");
            assert_eq!(rig.fingerprint().await, expected, "{at}");
            // An answer that was lost before it could be stored is asked for again; no other.
            let thought = made[..=call].iter().rposition(|name| name == "Think");
            let lost = thought.is_some_and(|thought| {
                (thought == call && fault == Fault::DieAfter) || (thought + 1 == call && fault == Fault::DieBefore)
            });
            let asked = server.asked().len();
            assert!(
                asked == asked_once || (lost && asked == asked_once + 1),
                "{at}: asked {asked} times"
            );
        }
    }
}
