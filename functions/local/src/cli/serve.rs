//! `reverie serve`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use super::{Compose, config, log, minds};
use crate::runtime::{self, Options};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// The folder that holds everything; created if there is none.
    #[arg(long, value_name = "DIR", default_value = "./reverie-data")]
    data_dir: PathBuf,
}

pub(super) fn run(arguments: Arguments, compose: Compose) -> anyhow::Result<()> {
    log("info");
    let config = config()?;
    let tokio = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let options = Options {
        data_dir: arguments.data_dir,
        port: arguments.port,
        config,
        minds: tokio.block_on(minds())?,
    };
    tokio.block_on(async {
        let signals = runtime::signals().context("cannot catch signals")?;
        let running = runtime::start(&options, compose).await?;
        let mut out = std::io::stdout();
        // A closed standard output is no reason not to serve.
        let _ = writeln!(out, "Reverie listens on {}", running.url()).and_then(|()| out.flush());
        tracing::info!(url = running.url(), data_dir = %options.data_dir.display(), "serving");
        signals.await.context("cannot wait for a signal")?;
        tracing::info!("stopping");
        running.stop().await;
        Ok(())
    })
}
