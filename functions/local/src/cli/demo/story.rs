//! How the demo shows what a dream changed, and what can be done next.

use std::path::Path;

use super::snapshot::Snapshot;
use crate::cli::dreams::{CardChange, Detail};
use crate::cli::screen::{Screen, count, item, line};

/// The most sources shown of one conclusion.
const SOURCES: usize = 3;

/// Created with sources, removed with reason and replacement, card before and after.
pub(super) fn changes(screen: Screen, detail: &Detail, after: &Snapshot) {
    line("");
    line(&format!("  created ({})", detail.created.len()));
    for level in ["deductive", "contradiction", "inductive"] {
        let of_level = detail
            .created
            .iter()
            .filter(|created| created.conclusion.level.as_deref() == Some(level));
        for created in of_level {
            item(
                4,
                &screen.green("+"),
                &format!("{} {}", text(created.conclusion.content.as_ref()), screen.dim(level)),
            );
            for source in created.sources.iter().take(SOURCES) {
                let status = if source.status == "current" {
                    String::new()
                } else {
                    format!(" ({})", source.status)
                };
                item(
                    6,
                    &screen.dim("from"),
                    &screen.dim(&format!("{}{status}", text(source.content.as_ref()))),
                );
            }
            if created.sources.len() > SOURCES {
                let more = count(created.sources.len() - SOURCES, "more source");
                item(6, &screen.dim("and"), &screen.dim(&more));
            }
        }
    }
    line("");
    line(&format!("  removed ({})", detail.removed.len()));
    for removed in &detail.removed {
        item(4, &screen.red("−"), &text(removed.content.as_ref()));
        let replacement = removed
            .replaced_by
            .as_deref()
            .and_then(|id| after.content(id))
            .map_or_else(String::new, |content| format!(" → {content}"));
        item(6, " ", &screen.dim(&format!("{}{replacement}", removed.reason)));
    }
    if let Some(card) = &detail.peer_card {
        card_change(screen, card);
    }
}

fn card_change(screen: Screen, card: &CardChange) {
    line("");
    line("  peer card");
    match &card.before {
        None => screen.row("before", "none"),
        Some(entries) => entries.iter().for_each(|entry| screen.row("before", entry)),
    }
    for (index, entry) in card.after.iter().flatten().enumerate() {
        screen.row(if index == 0 { "after" } else { "" }, entry);
    }
}

fn text(content: Option<&String>) -> String {
    content.cloned().unwrap_or_else(|| "(no longer available)".to_owned())
}

/// How to keep it running and how to call it.
pub(super) fn go_on(screen: Screen, data_dir: Option<&Path>, workspace: &str) {
    let dir = data_dir.map_or_else(|| "./reverie-data".to_owned(), |path| path.display().to_string());
    let program = program();
    screen.heading("Go on");
    if data_dir.is_none() {
        line("  This demo's data is gone; keep the next one's, and leave it running:");
        line("");
        line(&format!("    {program} demo --data-dir {dir}"));
    } else {
        line("  Leave it running:");
        line("");
    }
    line(&format!("    {program} serve --data-dir {dir}"));
    line("");
    line("  Ask it with curl:");
    line("");
    line(&format!(
        "    curl -s http://127.0.0.1:8787/v3/workspaces/{workspace}/peers/maya/representation \\"
    ));
    line("      -H 'content-type: application/json' -d '{}'");
    line(&format!(
        "    curl -s 'http://127.0.0.1:8787/v3/workspaces/{workspace}/dreams?observer=maya&observed=maya'"
    ));
    line("");
    line("  Or with Honcho's SDK for Python (pip install honcho-ai):");
    line("");
    for code in [
        "from honcho import Honcho".to_owned(),
        format!("honcho = Honcho(base_url=\"http://127.0.0.1:8787\", workspace_id=\"{workspace}\")"),
        "maya, helper = honcho.peer(\"maya\"), honcho.peer(\"helper\")".to_owned(),
        "session = honcho.session(\"today\")".to_owned(),
        "session.add_messages([maya.message(\"I started learning to sail.\")])".to_owned(),
        "honcho.schedule_dream(observer=maya)".to_owned(),
        "print(maya.representation(), maya.get_card())  # a moment later".to_owned(),
    ] {
        line(&format!("    {code}"));
    }
}

/// How the program was called.
fn program() -> &'static str {
    let built_here = std::env::args_os()
        .next()
        .is_some_and(|path| Path::new(&path).components().any(|part| part.as_os_str() == "target"));
    if built_here {
        "cargo run --release --"
    } else {
        "reverie"
    }
}
