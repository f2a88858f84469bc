//! `reverie demo`: the main job on a bundled conversation, every step checked.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use reverie_core::config::Config;
use reverie_core::time::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use super::dreams::{Detail, OwnView, Run};
use super::screen::{Screen, count, line};
use super::waiting::{Look, bar, spinner, until, until_caught_up};
use super::{Compose, InProcess, Thinks, log};
use crate::api::Api;
use crate::import::{self, Format, Selection, Session, upload};

mod snapshot;
mod story;

use snapshot::Snapshot;

/// The conversation between maya and her assistant: JSON lines, as `reverie import` reads them.
const CONVERSATION: &str = include_str!("../demo/conversation.jsonl");
/// Who is remembered.
const PEER: &str = "maya";
/// Who listens.
const HELPER: &str = "helper";
/// What maya says when the timer is already running.
const ONE_MORE: &str = "I adopted a puppy called Biscuit.";
/// A message of the conversation, and what is found in the conclusion from it.
const EXAMPLE: (&str, &str) = (
    "I work at Intel as a validation engineer.",
    "Intel as a validation engineer",
);
/// A quiet hour, in seconds.
const IDLE: Duration = Duration::from_secs(5);
/// Fewer than the conversation yields.
const THRESHOLD: u64 = 40;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Keep the data in this folder, to go on with `reverie serve`; a temporary one otherwise.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub(super) fn run(arguments: &Arguments, compose: Compose) -> anyhow::Result<()> {
    log("error");
    let started = Instant::now();
    let temporary = tempfile::Builder::new()
        .prefix("reverie-demo-")
        .tempdir()
        .context("cannot create a temporary folder")?;
    let data_dir = arguments.data_dir.as_deref().unwrap_or(temporary.path());
    let config = Config {
        threshold: THRESHOLD,
        idle: IDLE,
        reconcile_every: Duration::from_secs(1),
        ..Config::default()
    };
    let here = InProcess::start(data_dir.to_owned(), arguments.port, config, Thinks::Offline, compose)?;
    let api = unused_workspace(&here.url())?;
    let demo = Demo {
        api: &api,
        view: OwnView { api: &api, peer: PEER },
        screen: Screen::new(),
    };
    demo.screen
        .heading("Reverie: a memory that tidies itself while nobody is looking");
    demo.screen
        .row("API", &format!("{}/v3/workspaces/{}", here.url(), api.workspace()));
    demo.screen.row(
        "settings",
        &format!(
            "dream after {THRESHOLD} new conclusions and {} quiet seconds (defaults: 50, an hour)",
            IDLE.as_secs()
        ),
    );
    demo.tell()?;
    here.stop();
    story::go_on(demo.screen, arguments.data_dir.as_deref(), api.workspace());
    line("");
    line(
        &demo
            .screen
            .dim(&format!("done in {:.1} s", started.elapsed().as_secs_f64())),
    );
    Ok(())
}

/// A workspace that no earlier demo in the same folder has used.
fn unused_workspace(url: &str) -> anyhow::Result<Api> {
    #[derive(Deserialize)]
    struct Page {
        total: usize,
    }
    for number in 1.. {
        let name = if number == 1 {
            "demo".to_owned()
        } else {
            format!("demo-{number}")
        };
        let api = Api::new(url, &name, None);
        api.ensure_workspace()?;
        let sessions: Page = api.post("/sessions/list?size=1", &json!({}))?;
        if sessions.total == 0 {
            return Ok(api);
        }
    }
    anyhow::bail!("no workspace is free")
}

/// Why a representation dreams or does not, as far as the demo shows it.
#[derive(Clone, Debug, Deserialize)]
struct WhyNot {
    verdict: String,
    sentence: String,
    timer_due_at: Option<String>,
}

impl WhyNot {
    fn due(&self) -> Option<Time> {
        Time::parse(self.timer_due_at.as_deref()?).ok()
    }
}

struct Demo<'a> {
    api: &'a Api,
    view: OwnView<'a>,
    screen: Screen,
}

impl Demo<'_> {
    fn tell(&self) -> anyhow::Result<()> {
        self.converse().context("the conversation did not go in")?;
        let due = self.timer().context("the timer did not do what it should")?;
        let before = Snapshot::take(&self.view)?;
        let dream = self.dream(due).context("the dream did not come")?;
        self.changes(&dream, &before)
            .context("the dream did not do what it should")?;
        self.after()?;
        self.undo(&dream, &before).context("the undo did not do what it should")
    }

    fn converse(&self) -> anyhow::Result<()> {
        let sessions = import::parse(CONVERSATION, Some(Format::Lines), &Selection::default())?;
        let total = sessions.iter().map(|session| session.messages.len()).sum();
        self.screen.heading("1  A conversation goes in over HTTP");
        // What the assistant says is not to be remembered about the assistant.
        let silent = json!({ "id": HELPER, "configuration": { "observe_me": false } });
        self.api.post::<Value>("/peers", &silent)?;
        let bar = bar(total, "messages");
        let mut known = 0;
        for (index, session) in sessions.iter().enumerate() {
            upload(self.api, session, &mut |messages| bar.inc(messages as u64))?;
            until_caught_up(self.api, &bar)?;
            let conclusions = self.view.conclusions()?;
            bar.suspend(|| self.session(session, conclusions - known));
            known = conclusions;
            if index == 0 {
                let why = self.why_not()?;
                ensure!(why.verdict == "below_threshold", "the verdict is {}", why.verdict);
                bar.suspend(|| self.verdict("why no dream?", &why));
            }
        }
        bar.finish_and_clear();
        ensure!(
            known as u64 >= THRESHOLD,
            "only {known} conclusions came out of {total} messages"
        );
        self.screen.row(
            "together",
            &format!(
                "{}, {} about {PEER}",
                count(total, "message"),
                count(known, "conclusion")
            ),
        );
        let (said, part) = EXAMPLE;
        let snapshot = Snapshot::take(&self.view)?;
        let concluded = snapshot
            .containing(part)
            .with_context(|| format!("nothing was concluded from “{said}”"))?;
        self.screen.row("for example", &format!("“{said}” → {concluded}"));
        Ok(())
    }

    fn session(&self, session: &Session, conclusions: usize) {
        let first = session.messages.first().and_then(|message| message.created_at);
        let date = first.map_or_else(String::new, Time::to_date);
        let name = session.name.as_str();
        let (messages, said) = (session.messages.len(), self.screen.dim("→"));
        self.screen.raw_row(
            &date,
            &format!("{name:16} {messages:2} messages {said} {conclusions:2} conclusions"),
        );
    }

    fn why_not(&self) -> anyhow::Result<WhyNot> {
        Ok(self.view.status()?)
    }

    fn verdict(&self, label: &str, why: &WhyNot) {
        self.screen
            .row(label, &format!("{}: {}", self.screen.bold(&why.verdict), why.sentence));
    }

    /// The timer is set, and a new message replaces it; gives when it is due at last.
    fn timer(&self) -> anyhow::Result<Time> {
        self.screen.heading("2  A timer waits for a quiet moment");
        let armed = until(&spinner("waiting for the timer"), IDLE, || {
            let why: WhyNot = self.view.status()?;
            Ok(if why.timer_due_at.is_some() {
                Look::Done(why)
            } else {
                Look::Waiting
            })
        })?;
        ensure!(armed.verdict == "waiting_for_idle", "the verdict is {}", armed.verdict);
        let first = armed.due().context("the timer has no time")?;
        self.verdict("why no dream?", &armed);
        self.screen.row("timer set", &clock(first));
        // Long enough for the difference to be seen.
        std::thread::sleep(Duration::from_secs(1));
        let message = json!({ "messages": [{ "peer_id": PEER, "content": ONE_MORE }] });
        self.api.post::<Value>("/sessions/a-quiet-evening/messages", &message)?;
        self.screen.row(&format!("{PEER} says"), &format!("“{ONE_MORE}”"));
        until_caught_up(self.api, &spinner("deriving conclusions"))?;
        let second = until(&spinner("waiting for the new timer"), IDLE, || {
            let why: WhyNot = self.view.status()?;
            Ok(why.due().filter(|due| *due > first).map_or(Look::Waiting, Look::Done))
        })?;
        self.screen.row(
            "timer replaced",
            &format!("{}, {:.1} s later", clock(second), second.since(first).as_secs_f64()),
        );
        Ok(second)
    }

    fn dream(&self, due: Time) -> anyhow::Result<Run> {
        let run = self
            .view
            .until_dreamt(&format!("{PEER} is quiet, the timer runs"), None)?;
        ensure!(run.status == "completed", "run {} ended as {}", run.id, run.status);
        ensure!(run.trigger == "idle", "the dream's trigger is {}", run.trigger);
        let started = run.started_at.as_deref().and_then(|text| Time::parse(text).ok());
        ensure!(
            started.is_some_and(|started| started >= due),
            "the dream began before the timer ran out"
        );
        Ok(run)
    }

    fn changes(&self, run: &Run, before: &Snapshot) -> anyhow::Result<()> {
        let detail = self.view.detail(&run.id)?;
        let after = Snapshot::take(&self.view)?;
        let took = run.seconds().unwrap_or_default();
        self.screen.heading("3  A dream");
        self.screen.row(
            "run",
            &format!("{} ({}, {}, {took:.2} s)", run.id, run.dream_type, run.trigger),
        );
        self.screen
            .row("conclusions", &format!("{} → {}", before.len(), after.len()));
        story::changes(self.screen, &detail, &after);
        ensure!(
            detail.created.len() == run.created_count,
            "the record lacks created conclusions"
        );
        ensure!(
            detail.removed.len() == run.removed_count,
            "the record lacks removed conclusions"
        );
        check(&detail)
    }

    fn after(&self) -> anyhow::Result<()> {
        self.screen.heading("4  And now?");
        let why = self.why_not()?;
        self.verdict("why no dream?", &why);
        ensure!(why.timer_due_at.is_none(), "another timer is set");
        Ok(())
    }

    fn undo(&self, dream: &Run, before: &Snapshot) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        struct Accepted {
            id: String,
        }
        self.screen.heading("5  Undo");
        let accepted: Accepted = self.api.post(&format!("/dreams/{}/undo", dream.id), &json!({}))?;
        let undo = self.view.until_dreamt("undoing", Some(dream))?;
        ensure!(undo.id == accepted.id, "another run came: {}", undo.id);
        ensure!(undo.status == "completed", "the undo ended as {}", undo.status);
        let conflicts = self.view.detail(&undo.id)?.conflicts;
        ensure!(conflicts.is_empty(), "the undo left conflicts: {conflicts:?}");
        self.screen.row(
            "run",
            &format!(
                "{} brought {} back and took {} away",
                undo.id,
                count(undo.created_count, "conclusion"),
                undo.removed_count
            ),
        );
        let after = Snapshot::take(&self.view)?;
        if let Some(difference) = before.difference(&after) {
            anyhow::bail!("the representation is not as before: {difference}");
        }
        let card = if after.card.is_none() {
            "no card"
        } else {
            "the same card"
        };
        self.screen.row(
            "proof",
            &format!(
                "{} {}, {card}: exactly as before the dream",
                self.screen.green("✓"),
                count(after.len(), "conclusion")
            ),
        );
        Ok(())
    }
}

/// What the bundled conversation must yield, whichever rules the reasoner has.
fn check(detail: &Detail) -> anyhow::Result<()> {
    let created = |level| detail.created_at_level(level);
    ensure!(detail.removed_for("duplicate") > 0, "no duplicate was merged");
    ensure!(detail.removed_for("superseded") > 0, "nothing outdated was replaced");
    ensure!(created("deductive") > 0, "nothing was deduced");
    ensure!(created("inductive") > 0, "no pattern was found");
    ensure!(created("contradiction") > 0, "no contradiction was found");
    ensure!(
        detail.created.iter().all(|created| !created.sources.is_empty()),
        "a created conclusion has no source"
    );
    let card = detail.peer_card.as_ref().and_then(|card| card.after.as_ref());
    ensure!(card.is_some_and(|entries| !entries.is_empty()), "the card is empty");
    Ok(())
}

/// `due 23:41:05.12 UTC, in 3.9 s`.
fn clock(due: Time) -> String {
    use reverie_core::ports::Clock;
    let left = due.since(reverie_aws::system::SystemClock.now()).as_secs_f64();
    let text = due.to_string();
    let time = text.get(11..).unwrap_or_default().trim_end_matches('Z');
    format!("due {} UTC, in {left:.1} s", time.get(..10).unwrap_or(time))
}
