//! Makes what a test runs: programs from the sources as they are, Python environments with pinned packages. Everything
//! lies in the target folder, where the next run finds it again; what cannot be made fails the test.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command to its end; when it fails, the test does, with all that it said.
pub fn run(what: &str, command: &mut Command) -> String {
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
pub fn forget(command: &mut Command, prefixes: &[&str]) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// The folder of this build's profile, such as `target/debug`.
pub fn profile() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.ancestors()
        .find(|folder| folder.file_name() != Some(OsStr::new("deps")) && folder.join("deps").is_dir())
        .unwrap()
        .into()
}

/// The target folder.
pub fn target() -> PathBuf {
    profile().parent().unwrap().into()
}

/// Programs by package and name, built with this build's profile from the sources as they are. Cargo does not hand one
/// package's program to another's tests.
pub fn programs(wanted: &[(&str, &str)]) -> Vec<PathBuf> {
    let profile = profile();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--target-dir"])
        .arg(profile.parent().unwrap());
    for (package, program) in wanted {
        cargo.args(["--package", package, "--bin", program]);
    }
    if profile.file_name() == Some(OsStr::new("release")) {
        cargo.arg("--release");
    }
    // What cargo tells this test about its package would make the build scripts of others run again.
    forget(
        &mut cargo,
        &["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_PRIMARY_"],
    );
    run("building programs", cargo.current_dir(env!("CARGO_MANIFEST_DIR")));
    wanted
        .iter()
        .map(|(_, program)| profile.join(format!("{program}{}", std::env::consts::EXE_SUFFIX)))
        .collect()
}

/// A Python environment that has what a file of requirements pins.
#[derive(Clone, Debug)]
pub struct Python {
    folder: PathBuf,
}

impl Python {
    /// Installs what `requirements` pins, a path in the folder of the tests, unless it is there.
    pub fn with(name: &str, requirements: &str) -> Self {
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join(requirements);
        let folder = target().join(format!("{name}-venv"));
        let this = Self { folder };
        // Two runs at once would install into one folder.
        let lock = File::create(target().join(format!("{name}-venv.lock"))).unwrap();
        lock.lock().unwrap();
        let stamp = this.folder.join("installed");
        let wanted = fs::read_to_string(&requirements).unwrap()
            + &run("asking for Python's version", Command::new("python3").arg("-VV"));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return this;
        }
        run(
            "making a Python environment",
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&this.folder),
        );
        let mut pip = this.program("python");
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--requirement"]);
        run("installing Python packages", pip.arg(requirements));
        fs::write(stamp, wanted).unwrap();
        this
    }

    /// One of its programs, to be run without what the surroundings say about Python.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(name));
        forget(&mut command, &["PYTHON"]);
        command
    }
}
