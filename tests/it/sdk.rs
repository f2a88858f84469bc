//! Honcho's published Python SDK drives the program itself (`tests/sdk/honcho_smoke.py`).

use std::path::Path;

use reverie_tests::make::{Python, forget, programs, run};

#[test]
fn the_published_python_sdk_drives_the_program_through_a_kill() {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk");
    let mut smoke = Python::with("sdk", "sdk/requirements.txt").program("python");
    smoke
        .arg("-B")
        .arg(sdk.join("honcho_smoke.py"))
        .args(programs(&[("reverie-local", "reverie")]));
    // The surroundings must not say where Honcho is, nor how Reverie is set.
    forget(
        &mut smoke,
        &[
            "HONCHO_",
            "DREAM_",
            "DERIVER_",
            "PEER_CARD_",
            "SUMMARY_",
            "REVERIE_",
            "RUST_LOG",
        ],
    );
    let said = run("driving the program", &mut smoke);
    println!("{said}");
    assert!(said.contains("killed: "), "{said}");
}
