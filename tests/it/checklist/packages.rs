//! Rows K2 and K8: what the design card names is what this is built from.

use std::path::{Path, PathBuf};

use super::{dream, quiet, say};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The names under a table's heading of a manifest.
fn keys(manifest: &Path, table: &str) -> Vec<String> {
    let text = std::fs::read_to_string(manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
    let heading = format!("[{table}]");
    text.lines()
        .skip_while(|line| line.trim() != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['=', '.', ' ']).next())
        .filter(|key| !key.is_empty() && !key.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn k8_the_packages_of_the_card_are_in_use() {
    const CARD: &[&str] = &[
        "lambda_runtime",
        "aws-sdk-dynamodb",
        "aws-sdk-sqs",
        "aws-sdk-scheduler",
        "tokio",
        "serde",
        "tracing",
    ];
    let root = root();
    let declared = keys(&root.join("Cargo.toml"), "workspace.dependencies");
    let members = [
        "functions/api",
        "functions/ingest",
        "functions/dream-executor",
        "shared/aws",
        "shared/core",
        "shared/engine",
    ];
    let used: Vec<String> = members
        .iter()
        .flat_map(|member| keys(&root.join(member).join("Cargo.toml"), "dependencies"))
        .collect();
    for package in CARD {
        assert!(
            declared.iter().any(|name| name == package),
            "{package} is not a dependency of the workspace"
        );
        assert!(
            used.iter().any(|name| name == package),
            "{package} is used by none of {members:?}"
        );
    }
    // The two that take queue messages run on lambda_runtime itself.
    for function in ["functions/ingest", "functions/dream-executor"] {
        assert!(
            keys(&root.join(function).join("Cargo.toml"), "dependencies")
                .iter()
                .any(|name| name == "lambda_runtime")
        );
    }
}

#[tokio::test]
async fn k2_everything_lies_in_one_table_under_two_keys() {
    let rig = quiet().await;
    say(&rig, "s", "maya", crate::crash::MESSAGES).await;
    rig.settle().await;
    dream(&rig).await;
    let items = rig.items().await;
    assert!(items.len() > 20);
    for item in items {
        assert!(item["PK"].is_string() && item["SK"].is_string(), "{item}");
        // Counters hold a number and nothing else.
        let counter = item["SK"].as_str().unwrap().starts_with("N#");
        assert!(
            counter || item["type"].is_string(),
            "it does not say what it is: {item}"
        );
    }
}
