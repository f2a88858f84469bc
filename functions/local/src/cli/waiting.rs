//! Waiting for the server to get on with something, with a sign of life.

use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde::Deserialize;

use crate::api::{Api, ApiError};

/// Without any progress for so long something is wrong.
const PATIENCE: Duration = Duration::from_mins(5);

#[derive(Debug, Deserialize)]
struct QueueStatus {
    in_progress_work_units: u64,
    pending_work_units: u64,
}

/// Waits until nothing of the workspace waits to be derived or dreamt.
pub(super) fn until_caught_up(api: &Api, sign: &ProgressBar) -> anyhow::Result<()> {
    let mut last = None;
    until(sign, PATIENCE, || {
        let status: QueueStatus = api.get("/queue/status")?;
        let left = status.in_progress_work_units + status.pending_work_units;
        let moved = last.replace(left) != Some(left);
        Ok(match (left, moved) {
            (0, _) => Look::Done(()),
            (_, true) => Look::Moving,
            (_, false) => Look::Waiting,
        })
    })
}

/// What a look found.
pub(super) enum Look<T> {
    /// What was waited for.
    Done(T),
    /// Something has changed since the last look.
    Moving,
    /// Nothing has.
    Waiting,
}

/// Looks again and again, at first often, until it is done or nothing has moved for `patience`. A call that fails
/// for the moment is tried again. The sign of life stays, its message says what is waited for.
pub(super) fn until<T>(
    sign: &ProgressBar,
    patience: Duration,
    mut look: impl FnMut() -> Result<Look<T>, ApiError>,
) -> anyhow::Result<T> {
    let mut moved = Instant::now();
    let mut pause = Duration::from_millis(20);
    loop {
        match look() {
            Ok(Look::Done(done)) => return Ok(done),
            Ok(Look::Moving) => moved = Instant::now(),
            Ok(Look::Waiting) => {}
            Err(error) if error.is_transient() => tracing::debug!(%error, "a look failed"),
            Err(error) => return Err(error.into()),
        }
        if moved.elapsed() > patience {
            bail!("{}: nothing has changed for {} s", sign.message(), patience.as_secs());
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(500));
    }
}

/// A spinner on standard error, until it is dropped; invisible when that is no terminal.
pub(super) fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg} {elapsed}") {
        spinner.set_style(style);
    }
    spinner.set_message(what.to_owned());
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// A bar on standard error, until it is dropped; invisible when that is no terminal.
pub(super) fn bar(total: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(total as u64).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("  {bar:40} {human_pos}/{human_len} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}
