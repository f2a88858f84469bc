//! The documentation says what the code does, where that can be compared.

use std::path::Path;

use reverie_core::config::VARIABLES;

pub(crate) fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_variable_is_documented_as_it_is_and_no_other() {
    let page = read("docs/configuration.md");
    let documented: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `") && line.matches('`').count() == 4)
        .collect();
    let expected: Vec<String> = VARIABLES
        .iter()
        .map(|v| format!("| `{}` | `{}` | {} |", v.name, v.default, v.meaning))
        .collect();
    assert_eq!(documented, expected);
}

#[test]
fn the_readmes_commands_are_the_ones_that_ci_runs() {
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    for command in ["cargo run --release -- demo", "cargo test --workspace"] {
        assert!(readme.contains(command), "README.md: {command}");
        assert!(ci.lines().any(|line| line.contains(command)), ".ci/run: {command}");
    }
}

#[test]
fn k7_the_top_level_is_as_on_the_card() {
    for name in [
        "Cargo.toml",
        "functions",
        "infra",
        "shared",
        "tests",
        "samconfig.toml",
        "README.md",
    ] {
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .unwrap()
                .join(name)
                .exists(),
            "{name}"
        );
    }
}
