//! `reverie demo`.

use super::Compose;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_arguments: Arguments, _compose: Compose) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
