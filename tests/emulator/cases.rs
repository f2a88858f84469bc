//! Cases of a contract, run all at once.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinSet;

use crate::emulator::Emulator;

/// A case and its name.
pub(crate) type Case = (&'static str, Pin<Box<dyn Future<Output = ()> + Send>>);

/// Cases that fail on the emulator because it does otherwise than AWS, with how. One that holds after all is to be taken
/// from the list: the test says so.
pub(crate) type Otherwise = &'static [(&'static str, &'static str)];

/// Runs the cases; all must hold but those that the emulator does otherwise, and these must not.
pub(crate) async fn hold(cases: Vec<Case>, otherwise: Otherwise, emulator: &Emulator) {
    let mut running = JoinSet::new();
    for (name, case) in cases {
        running.spawn(async move { (name, tokio::spawn(case).await.is_ok()) });
    }
    let mut wrong = Vec::new();
    while let Some(done) = running.join_next().await {
        let (name, held) = done.unwrap();
        let otherwise = otherwise.iter().find(|(case, _)| *case == name);
        match (held, otherwise) {
            (true, None) => println!("{name}: held"),
            (false, Some((_, why))) => println!("{name}: not on the emulator: {why}"),
            (true, Some(_)) => wrong.push(format!("{name} holds now: the emulator does as AWS does")),
            (false, None) => wrong.push(format!("{name} does not hold")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", emulator.log());
}
