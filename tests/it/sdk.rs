//! Honcho's published Python SDK drives the program itself (`tests/sdk/honcho_smoke.py`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command to its end; when it fails, the test does, with all that it said.
fn run(what: &str, command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what}: {command:?} cannot be started: {error}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success(),
        "{what}: {command:?} ended with {}:\n{said}",
        output.status
    );
    said
}

/// Keeps variables whose names begin so from a command.
fn forget(command: &mut Command, prefixes: &[&str]) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// The folder of this build's profile, such as `target/debug`.
fn profile() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.ancestors()
        .find(|folder| folder.file_name() != Some(OsStr::new("deps")) && folder.join("deps").is_dir())
        .unwrap()
        .into()
}

/// The program, built from the sources as they are. Cargo does not hand one package's program to another's tests.
fn reverie(profile: &Path) -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--quiet",
        "--package",
        "reverie-local",
        "--bin",
        "reverie",
        "--target-dir",
    ]);
    cargo.arg(profile.parent().unwrap());
    if profile.file_name() == Some(OsStr::new("release")) {
        cargo.arg("--release");
    }
    // What cargo tells this test about its package would make the build scripts of others run again.
    forget(
        &mut cargo,
        &["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_PRIMARY_"],
    );
    run("building the program", cargo.current_dir(env!("CARGO_MANIFEST_DIR")));
    profile.join(format!("reverie{}", std::env::consts::EXE_SUFFIX))
}

/// A Python that has what `requirements.txt` pins, in the target folder, where the next run finds it again.
fn python(target: &Path, requirements: &Path) -> PathBuf {
    let folder = target.join("sdk-venv");
    let python = folder.join("bin/python");
    let stamp = folder.join("installed");
    // Two runs at once would install into one folder.
    let lock = File::create(target.join("sdk-venv.lock")).unwrap();
    lock.lock().unwrap();
    let wanted = fs::read_to_string(requirements).unwrap()
        + &run("asking for Python's version", Command::new("python3").arg("-VV"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return python;
    }
    run(
        "making a Python environment",
        Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder),
    );
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--requirement",
    ]);
    run("installing the SDK", pip.arg(requirements));
    fs::write(stamp, wanted).unwrap();
    python
}

#[test]
fn the_published_python_sdk_drives_the_program_through_a_kill() {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk");
    let profile = profile();
    let python = python(profile.parent().unwrap(), &sdk.join("requirements.txt"));
    let program = reverie(&profile);
    let mut smoke = Command::new(python);
    smoke.arg("-B").arg(sdk.join("honcho_smoke.py")).arg(program);
    // The surroundings must not say where Honcho is, nor how Reverie is set.
    forget(
        &mut smoke,
        &[
            "HONCHO_",
            "DREAM_",
            "DERIVER_",
            "PEER_CARD_",
            "REVERIE_",
            "PYTHON",
            "RUST_LOG",
        ],
    );
    let said = run("driving the program", &mut smoke);
    println!("{said}");
    assert!(said.contains("killed: "), "{said}");
}
