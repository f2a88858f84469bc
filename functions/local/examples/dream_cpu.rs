//! The CPU time of an offline dream over the whole engine and embedded storage, and of a second one with nothing new.
//!
//! ```sh
//! cargo run --release -p reverie-local --example dream_cpu [NUMBER OF CONCLUSIONS]…
//! ```
//!
//! Exits with 1 when a dream over 500 conclusions takes more than a second (`design.md` section 11).

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_aws::table::lists::Paging;
use reverie_aws::table::runs::Run;
use reverie_aws::table::workspaces::{Given, Workspace};
use reverie_aws::table::{Table, create_table};
use reverie_core::config::Config;
use reverie_core::id::{PeerName, WorkspaceName};
use reverie_core::offline::{Offline, StaticEmbedder};
use reverie_core::ports::{Clock, QueueName};
use reverie_core::run::DreamType;
use reverie_engine::{Engine, EngineParts, NewConclusion, NewDream};
use reverie_local::embedded::{Storage, client};
use reverie_local::queue::LocalQueues;

/// The most CPU time of a dream over [`BAR_SIZE`] conclusions.
const BAR: Duration = Duration::from_secs(1);
const BAR_SIZE: usize = 500;

/// One process on storage in memory, and the one peer in it.
struct World {
    engine: Engine,
    queues: LocalQueues,
    workspace: Workspace,
    maya: PeerName,
}

impl World {
    async fn new() -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let storage = Storage::memory()?;
        create_table(&storage.client(), "reverie").await?;
        let table = Arc::new(Table::new(client(storage.connector()), "reverie"));
        let queues = LocalQueues::memory(Arc::clone(&clock))?;
        let name = WorkspaceName::parse("w")?;
        let now = clock.now();
        let (workspace, _) = table
            .get_or_create_workspace(&name, Given::default(), &SystemIds, now)
            .await?;
        let maya = PeerName::parse("maya")?;
        table.ensure_peers(&workspace.uid, [&maya], now).await?;
        let engine = Engine::new(EngineParts {
            table,
            queues: Arc::new(queues.clone()),
            schedules: Arc::new(queues.clone()),
            reasoner: Arc::new(Offline),
            embedder: Arc::new(StaticEmbedder::load()?),
            clock,
            ids: Arc::new(SystemIds),
            config: Config::default(),
        });
        Ok(Self {
            engine,
            queues,
            workspace,
            maya,
        })
    }

    async fn state(&self, texts: Vec<String>) -> anyhow::Result<()> {
        for texts in texts.chunks(100) {
            let stated = texts.iter().map(|content| NewConclusion {
                observer: self.maya.clone(),
                observed: self.maya.clone(),
                content: content.clone(),
                session: None,
            });
            self.engine
                .create_conclusions(&self.workspace, stated.collect(), None)
                .await?;
        }
        Ok(())
    }

    /// Asks for a dream and runs it; gives its CPU time and its record.
    async fn dream(&self) -> anyhow::Result<(Duration, Run)> {
        let new = NewDream {
            observer: &self.maya,
            observed: &self.maya,
            dream_type: DreamType::Omni,
            session: None,
            rebuild: false,
            recording: None,
        };
        self.engine.schedule_dream(&self.workspace, new).await?;
        let hour = Duration::from_hours(1);
        let before = cpu();
        while let Some(delivery) = self.queues.receive(QueueName::Dreams, hour).await? {
            self.engine.handle_dream(&delivery.body).await?;
            self.queues.delete(QueueName::Dreams, &delivery.receipt).await?;
        }
        let took = cpu().saturating_sub(before);
        let newest = Paging {
            page: 1,
            size: 1,
            reverse: false,
        };
        let runs = self
            .engine
            .dreams(&self.workspace, Some(&self.maya), Some(&self.maya), newest);
        let run = runs.await?.items.pop().context("the dream left no record")?;
        Ok((took, run))
    }
}

/// What somebody may have said over the years: habits, places, changes of mind, and some of it more than once.
fn texts(number: usize) -> Vec<String> {
    let things = [
        "violin",
        "chess",
        "tennis",
        "piano",
        "cello",
        "guitar",
        "rugby",
        "badminton",
        "drums",
        "flute",
    ];
    let places = [
        "Berlin", "Lisbon", "Oslo", "Leeds", "Kyoto", "Quito", "Turin", "Bergen", "Porto", "Nantes",
    ];
    let with = [
        "Ana", "Ben", "Chloe", "David", "Eva", "Farid", "Gita", "Hugo", "Ines", "Jonas", "Kim",
    ];
    let text = |n: usize| {
        let (thing, place, with) = (things[n % 10], places[n / 10 % 10], with[n / 7 % 11]);
        match n % 8 {
            0 => format!(
                "maya plays the {thing} with {with} every {}",
                ["Monday", "Friday"][n / 8 % 2]
            ),
            1 => format!("maya lives in {place}"),
            2 => format!("maya went to {place} with {with} in {}", 1990 + n % 35),
            3 => format!("maya likes {thing} more than {}", things[n / 3 % 10]),
            4 => format!("maya works as engineer number {} at {place} Instruments", n / 100),
            5 => format!("maya has {} friends in {place}", n % 90 + 2),
            6 => format!("maya does not like {thing}"),
            _ => format!("maya told {with} about trip {n} to {place}"),
        }
    };
    (0..number).map(text).collect()
}

/// The CPU time of this process so far, user and system, of all threads.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let given = std::env::args().skip(1).map(|number| number.parse());
    let mut sizes = given
        .collect::<Result<Vec<usize>, _>>()
        .context("a number of conclusions")?;
    if sizes.is_empty() {
        sizes = vec![BAR_SIZE, 5_000];
    }
    let mut slow = false;
    println!("| conclusions | dream, CPU ms | created | removed | reinforced | second dream, CPU ms | its changes |");
    println!("|---|---|---|---|---|---|---|");
    for size in sizes {
        let world = World::new().await?;
        world.state(texts(size)).await?;
        let (first, run) = world.dream().await?;
        let (second, nothing) = world.dream().await?;
        println!(
            "| {size} | {} | {} | {} | {} | {} | {} |",
            first.as_millis(),
            run.created_count,
            run.removed_count,
            run.reinforced_count,
            second.as_millis(),
            nothing.created_count + nothing.removed_count + nothing.reinforced_count,
        );
        slow |= size == BAR_SIZE && first > BAR;
    }
    if slow {
        eprintln!(
            "a dream over {BAR_SIZE} conclusions took more than {} s of CPU",
            BAR.as_secs()
        );
    }
    Ok(if slow { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
