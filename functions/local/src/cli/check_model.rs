//! `reverie check-model`.

use std::sync::Arc;

use anyhow::{Context, bail};
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_models::{ModelConfig, Models, Pace, SystemPace, Task};

use super::log;
use super::screen::{Screen, count, thousands};
use crate::check_model::{Found, Report, check};
use crate::models::aws_access;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: &Arguments) -> anyhow::Result<()> {
    log("error");
    let config = ModelConfig::read(|name| std::env::var(name).ok())?;
    let screen = Screen::new();
    screen.heading("Configured");
    match &config.language {
        None => screen.row("language", "none: the offline reasoner works (REVERIE_MODEL_PROVIDER)"),
        Some(language) => {
            for (label, task) in [
                ("deriver", Task::Deriver),
                ("dream", Task::Dream),
                ("summary", Task::Summary),
                ("chat", Task::Chat),
            ] {
                screen.row(label, &language.of(task).to_string());
            }
            if let Some(fallback) = &language.fallback {
                screen.row("fallback", &fallback.to_string());
            }
        }
    }
    if config.embedding.is_none() {
        screen.row("embedding", "built in (REVERIE_EMBEDDING_PROVIDER)");
    }
    let tokio = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let reports = tokio.block_on(async {
        let aws = if config.needs_aws() { aws_access().await } else { None };
        let pace: Arc<dyn Pace> = Arc::new(SystemPace::new(Arc::new(SystemClock), Arc::new(SystemIds)));
        let models = Models::new(&config, aws, &pace)?;
        anyhow::Ok(check(&models).await)
    })?;
    for report in &reports {
        show(screen, report);
    }
    let failed: usize = reports.iter().map(Report::failed).sum();
    if failed > 0 {
        bail!("{} failed", count(failed, "check"));
    }
    Ok(())
}

fn show(screen: Screen, report: &Report) {
    screen.heading(&report.model);
    for check in &report.checks {
        let text = match &check.found {
            Found::Works(more) if more.is_empty() => screen.green("yes"),
            Found::Works(more) => format!("{} {more}", screen.green("yes")),
            Found::Missing(price) => format!("{} {price}", screen.bold("no ")),
            Found::Fails(why) => format!("{} {why}", screen.red("no ")),
            Found::Skipped => screen.dim("not tried"),
        };
        screen.row(check.what, &text);
    }
    let usage = report.usage;
    let read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
    if read + usage.output_tokens > 0 {
        let number = |tokens: u64| thousands(usize::try_from(tokens).unwrap_or(usize::MAX));
        let text = format!("{} tokens read, {} written", number(read), number(usage.output_tokens));
        screen.row("cost", &text);
    }
}
