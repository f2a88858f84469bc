//! The program's commands.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Parser, Subcommand};
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_core::config::Config;
use reverie_models::{Minds, ModelConfig};

use crate::models::aws_access;
use crate::runtime::{self, Foundation, Handlers, Options, Running};

mod check_model;
mod demo;
mod dreams;
mod import;
mod screen;
mod serve;
mod waiting;

/// Memory for AI agents that tidies itself while nobody is looking.
#[derive(Debug, Parser)]
#[command(name = "reverie", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything on this machine: API, ingest, dreams, timers.
    Serve(serve::Arguments),
    /// Feed a file of conversations through the API; doing it twice changes nothing.
    Import(import::Arguments),
    /// Show the main job on a short conversation: messages in, a dream, its history, an undo.
    Demo(demo::Arguments),
    /// Ask the configured models for everything that Reverie will ask of them, and tell what works.
    CheckModel(check_model::Arguments),
}

/// Puts the handlers on what they stand on.
pub type Compose = fn(&Foundation) -> Handlers;

/// Runs the program with the arguments of the process.
pub fn run(compose: Compose) -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(arguments, compose),
        Command::Import(arguments) => import::run(arguments, compose),
        Command::Demo(arguments) => demo::run(&arguments, compose),
        Command::CheckModel(arguments) => check_model::run(&arguments),
    }
}

/// Logs go to standard error as JSON lines, as `RUST_LOG` says, else from `level` on.
fn log(level: &str) {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| level.to_owned());
    reverie_aws::log::start(&filter, std::io::stderr);
}

/// The settings, from the environment.
fn config() -> anyhow::Result<Config> {
    Ok(Config::read(|name| std::env::var(name).ok())?)
}

/// Who thinks and who embeds, from the environment.
async fn minds() -> anyhow::Result<Minds> {
    let config = ModelConfig::read(|name| std::env::var(name).ok())?;
    let aws = if config.needs_aws() { aws_access().await } else { None };
    Ok(Minds::new(&config, aws, Arc::new(SystemClock), Arc::new(SystemIds))?)
}

/// Who thinks in a command.
#[derive(Clone, Copy, Debug)]
enum Thinks {
    /// The offline reasoner, so that it is the same everywhere and costs nothing.
    Offline,
    /// Who is configured.
    AsConfigured,
}

/// A Reverie in this process, for commands that are themselves clients of it.
struct InProcess {
    tokio: tokio::runtime::Runtime,
    running: Running,
}

impl InProcess {
    fn start(data_dir: PathBuf, port: u16, config: Config, thinks: Thinks, compose: Compose) -> anyhow::Result<Self> {
        let tokio = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        let options = Options {
            data_dir,
            port,
            config,
            minds: match thinks {
                Thinks::Offline => Minds::offline()?,
                Thinks::AsConfigured => tokio.block_on(minds())?,
            },
        };
        let running = tokio.block_on(runtime::start(&options, compose))?;
        Ok(Self { tokio, running })
    }

    fn url(&self) -> String {
        self.running.url()
    }

    fn stop(self) {
        self.tokio.block_on(self.running.stop());
    }
}
