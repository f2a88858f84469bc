//! The documentation says what the code does, where that can be compared.

use std::path::Path;

use reverie_core::config::{VARIABLES, Variable};

pub(crate) fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row of the table: the first cell of such a row is a name in capitals.
fn row(variable: &Variable) -> String {
    let default = match variable.default {
        "" => "–".to_owned(),
        default => format!("`{default}`"),
    };
    format!("| `{}` | {default} | {} |", variable.name, variable.meaning)
}

#[test]
fn every_variable_is_documented_as_it_is_and_no_other() {
    let page = read("docs/configuration.md");
    let is_variable = |line: &&str| {
        let name = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
        name.is_some_and(|name| {
            name.chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        })
    };
    let documented: Vec<&str> = page.lines().filter(is_variable).collect();
    let of_models = reverie_models::config::VARIABLES;
    let expected: Vec<String> = VARIABLES.iter().chain(of_models).map(row).collect();
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
