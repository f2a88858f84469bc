//! `reverie import`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::dreams::OwnView;
use super::screen::{Screen, count, thousands};
use super::waiting::{bar, spinner, until_caught_up};
use super::{Compose, InProcess, Thinks, config, log};
use crate::api::Api;
use crate::import::{Format, Selection, Session, Uploaded, peers, read, upload};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A LoCoMo file, or JSON lines of {session, peer, content, created_at}.
    file: PathBuf,
    /// The workspace to import into; created if there is none.
    #[arg(long)]
    workspace: String,
    /// A running Reverie; without it, one runs in this process on --data-dir.
    #[arg(long)]
    url: Option<String>,
    /// The key for --url, if it wants one.
    #[arg(long, env = "HONCHO_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// The folder of the Reverie in this process.
    #[arg(long, value_name = "DIR", default_value = "./reverie-data", conflicts_with = "url")]
    data_dir: PathBuf,
    /// How the file is written; the content tells, if this does not.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Only this conversation of a LoCoMo file, for example conv-26.
    #[arg(long)]
    sample: Option<String>,
    /// Only this session; may be given several times.
    #[arg(long = "session", value_name = "SESSION")]
    sessions: Vec<String>,
    /// Afterwards let every peer dream, and tell what came of it.
    #[arg(long)]
    dream: bool,
}

pub(super) fn run(arguments: Arguments, compose: Compose) -> anyhow::Result<()> {
    log("error");
    let selection = Selection {
        sample: arguments.sample,
        sessions: arguments.sessions,
    };
    let sessions = read(&arguments.file, arguments.format, &selection)
        .with_context(|| format!("{} cannot be imported", arguments.file.display()))?;
    reverie_core::id::check_name(&arguments.workspace)
        .with_context(|| format!("--workspace {:?}", arguments.workspace))?;

    let in_process = match arguments.url {
        Some(_) => None,
        None => Some(InProcess::start(
            arguments.data_dir,
            0,
            config()?,
            Thinks::AsConfigured,
            compose,
        )?),
    };
    let url = match (&arguments.url, &in_process) {
        (Some(url), _) => url.clone(),
        (None, Some(here)) => here.url(),
        (None, None) => bail!("nowhere to import to"),
    };
    let api = Api::new(&url, &arguments.workspace, arguments.api_key);
    let work = Work {
        api: &api,
        sessions: &sessions,
        screen: Screen::new(),
        ours: in_process.is_some(),
    };
    work.send(&arguments.file)?;
    if work.ours || arguments.dream {
        work.derive()?;
    }
    if arguments.dream {
        work.dream()?;
    }
    if let Some(here) = in_process {
        here.stop();
    }
    Ok(())
}

struct Work<'a> {
    api: &'a Api,
    sessions: &'a [Session],
    screen: Screen,
    /// Whether the server is this process.
    ours: bool,
}

impl Work<'_> {
    fn send(&self, file: &Path) -> anyhow::Result<()> {
        let total: usize = self.sessions.iter().map(|session| session.messages.len()).sum();
        let names: Vec<_> = peers(self.sessions).iter().map(ToString::to_string).collect();
        self.screen
            .heading(&format!("{} → workspace {}", file.display(), self.api.workspace()));
        self.screen.row(
            "holds",
            &format!(
                "{}, {}, {}",
                count(self.sessions.len(), "session"),
                count(total, "message"),
                people(&names)
            ),
        );
        let started = Instant::now();
        self.api.ensure_workspace()?;
        let bar = bar(total, "messages");
        let mut sum = Uploaded::default();
        for session in self.sessions {
            let done = upload(self.api, session, &mut |messages| bar.inc(messages as u64))
                .with_context(|| format!("session {} is not complete; run the same command again", session.name))?;
            sum.sent += done.sent;
            sum.found += done.found;
        }
        bar.finish_and_clear();
        let found = match sum.found {
            0 => String::new(),
            found => format!(" ({} there already)", thousands(found)),
        };
        self.screen.row(
            "sent",
            &format!(
                "{}{found} in {}",
                count(sum.sent, "message"),
                seconds(started.elapsed())
            ),
        );
        Ok(())
    }

    fn derive(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        until_caught_up(self.api, &spinner("deriving conclusions"))?;
        let mut conclusions = 0;
        for peer in peers(self.sessions) {
            let view = OwnView {
                api: self.api,
                peer: peer.as_str(),
            };
            conclusions += view.conclusions()?;
        }
        self.screen.row(
            "conclusions",
            &format!(
                "{} ({} more to derive them)",
                thousands(conclusions),
                seconds(started.elapsed())
            ),
        );
        Ok(())
    }

    fn dream(&self) -> anyhow::Result<()> {
        for peer in peers(self.sessions) {
            self.dream_of(peer.as_str())
                .with_context(|| format!("the dream of {peer} did not come to its end"))?;
        }
        Ok(())
    }

    fn dream_of(&self, peer: &str) -> anyhow::Result<()> {
        let (screen, view) = (self.screen, OwnView { api: self.api, peer });
        screen.heading(peer);
        let said = self.sessions.iter().flat_map(|session| &session.messages);
        let said = said.filter(|message| message.peer.as_str() == peer).count();
        screen.row("messages", &thousands(said));
        let before = view.conclusions()?;
        if before == 0 {
            screen.row("conclusions", "none, so there is nothing to dream of");
            return Ok(());
        }
        let newest = view.newest()?;
        let (wall, cpu) = (Instant::now(), processor_time());
        view.schedule()?;
        let run = view.until_dreamt(&format!("{peer} dreams"), newest.as_ref())?;
        let (wall, cpu) = (wall.elapsed(), processor_time().saturating_sub(cpu));
        if run.status != "completed" {
            bail!(
                "run {} ended as {}: {}",
                run.id,
                run.status,
                run.error.unwrap_or_default()
            );
        }
        let detail = view.detail(&run.id)?;
        screen.row(
            "conclusions",
            &format!("{} → {}", thousands(before), thousands(view.conclusions()?)),
        );
        for (label, number) in [
            ("merged", detail.removed_for("duplicate")),
            ("superseded", detail.removed_for("superseded")),
            ("contradictions", detail.created_at_level("contradiction")),
            ("deductions", detail.created_at_level("deductive")),
            ("patterns", detail.created_at_level("inductive")),
        ] {
            screen.row(label, &thousands(number));
        }
        let card = view.card()?.unwrap_or_default();
        if card.is_empty() {
            screen.row("card", "none");
        }
        for (index, entry) in card.iter().enumerate() {
            screen.row(if index == 0 { "card" } else { "" }, entry);
        }
        let ran = run
            .seconds()
            .map_or_else(String::new, |ran| format!(", the run itself {ran:.2} s"));
        let cpu = if self.ours {
            format!(", CPU {}", seconds(cpu))
        } else {
            String::new()
        };
        screen.row("time", &format!("{} from request to end{ran}{cpu}", seconds(wall)));
        Ok(())
    }
}

/// CPU time of this process so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// Up to four names, then their number.
fn people(names: &[String]) -> String {
    match names {
        [] => "no peers".to_owned(),
        names if names.len() <= 4 => format!("{}: {}", count(names.len(), "peer"), names.join(", ")),
        names => count(names.len(), "peer"),
    }
}
