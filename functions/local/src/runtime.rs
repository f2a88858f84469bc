//! Everything in one process: the API, the workers of both queues, timers, the reconciler's tick, disposal of expired
//! items. What runs in AWS on Lambda, SQS, EventBridge Scheduler and DynamoDB.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::serve::ListenerExt;
use reverie_aws::system::{SystemClock, SystemIds};
use reverie_aws::table::{Table, TableError, create_table};
use reverie_core::cause::chain;
use reverie_core::config::Config;
use reverie_core::id::IdSource;
use reverie_core::ports::{Clock, QueueName};
use reverie_models::Minds;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::data_dir::{DataDir, DataDirError};
use crate::embedded::{Storage, StorageError};
use crate::queue::{LocalQueues, QueueError};
use crate::worker::{self, Failure, Handler, stopped};

/// The table's name.
const TABLE: &str = "reverie";
/// Workers of each queue; a group is worked on by one at a time.
const WORKERS: usize = 4;
/// The precision of local schedules.
const TICK: Duration = Duration::from_millis(200);
/// The time between two disposals of expired items. Reads filter them, so it may be long.
const SWEEP: Duration = Duration::from_mins(10);
/// How long a stop waits for requests that are being answered.
const GRACE: Duration = Duration::from_secs(10);

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that holds everything.
    pub data_dir: PathBuf,
    /// The port on loopback; 0 takes a free one.
    pub port: u16,
    /// The settings.
    pub config: Config,
    /// Who thinks and who embeds.
    pub minds: Minds,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The port.
    #[error("cannot listen on 127.0.0.1:{port}")]
    Port {
        /// Which.
        port: u16,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The embedded storage.
    #[error("the storage does not open")]
    Storage(#[from] StorageError),
    /// The table in it.
    #[error("the table cannot be created")]
    Table(#[from] TableError),
    /// The queues.
    #[error("the queues do not open")]
    Queues(#[from] QueueError),
    /// What the dead predecessor held could not be freed.
    #[error("the work of the last process cannot be freed")]
    Recover(#[from] Failure),
}

/// What the handlers stand on.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct Foundation {
    /// The table, on embedded storage.
    pub table: Arc<Table>,
    /// Queues and schedules.
    pub queues: LocalQueues,
    /// The system's clock.
    pub clock: Arc<dyn Clock>,
    /// Random ids.
    pub ids: Arc<dyn IdSource>,
    /// The settings.
    pub config: Config,
    /// Who thinks and who embeds.
    pub minds: Minds,
}

/// What runs on it.
#[allow(missing_debug_implementations, reason = "the handlers are trait objects")]
pub struct Handlers {
    /// Of the ingest queue.
    pub ingest: Arc<dyn Handler>,
    /// Of the dream queue.
    pub dreams: Arc<dyn Handler>,
    /// What is done without a message.
    pub chores: Arc<dyn Chores>,
    /// The API.
    pub router: Router,
}

/// Work that no message asks for.
#[async_trait]
pub trait Chores: Send + Sync + 'static {
    /// Frees what a dead predecessor held. Once, before anything else runs.
    async fn recover(&self) -> Result<(), Failure>;

    /// One tick of the reconciler.
    async fn reconcile(&self) -> Result<(), Failure>;
}

/// A running Reverie.
#[allow(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct Running {
    address: SocketAddr,
    foundation: Foundation,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    /// Ours until the last task has ended.
    _data_dir: DataDir,
}

/// Opens the folder, frees what a dead predecessor held, and runs everything in the background.
pub async fn start(options: &Options, compose: impl FnOnce(&Foundation) -> Handlers) -> Result<Running, StartError> {
    let data_dir = DataDir::claim(&options.data_dir)?;
    let port = |source| StartError::Port {
        port: options.port,
        source,
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
        .await
        .map_err(port)?;
    let address = listener.local_addr().map_err(port)?;

    let storage = Storage::open(data_dir.path())?;
    let client = storage.client();
    create_table(&client, TABLE).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let foundation = Foundation {
        table: Arc::new(Table::new(client, TABLE)),
        queues: LocalQueues::open(data_dir.path(), Arc::clone(&clock))?,
        clock,
        ids: Arc::new(SystemIds),
        config: options.config.clone(),
        minds: options.minds.clone(),
    };
    let handlers = compose(&foundation);
    let freed = foundation.queues.release_in_flight().await?;
    handlers.chores.recover().await?;
    if freed > 0 {
        tracing::info!(messages = freed, "freed what the last process was working on");
    }

    let (stop, stopping) = watch::channel(false);
    let queues = &foundation.queues;
    let rhythm = |period| Rhythm::new(period, stopping.clone());
    let mut tasks = vec![
        tokio::spawn(serve(listener, handlers.router, stopping.clone())),
        tokio::spawn(tick(queues.clone(), rhythm(TICK))),
        tokio::spawn(reconcile(handlers.chores, rhythm(options.config.reconcile_every))),
        tokio::spawn(sweep(storage, rhythm(SWEEP))),
    ];
    tasks.extend(worker::spawn(
        queues,
        QueueName::Ingest,
        &handlers.ingest,
        WORKERS,
        &stopping,
    ));
    tasks.extend(worker::spawn(
        queues,
        QueueName::Dreams,
        &handlers.dreams,
        WORKERS,
        &stopping,
    ));
    Ok(Running {
        address,
        foundation,
        stop,
        tasks,
        _data_dir: data_dir,
    })
}

impl Running {
    /// Where the API listens: scheme, host and port.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the handlers stand on.
    pub fn foundation(&self) -> &Foundation {
        &self.foundation
    }

    /// Stops taking requests and messages, lets what has begun end within ten seconds, and gives the folder back.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a part of the program ended badly");
            }
        }
    }
}

/// Catches ctrl-c and the termination signal from now on; what is returned ends with the first of them.
///
/// Call it before anyone can know that the program runs: until then a signal ends the process where it stands.
pub fn signals() -> std::io::Result<impl Future<Output = std::io::Result<()>>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => Ok(()),
                _ = terminate.recv() => Ok(()),
            }
        })
    }
    #[cfg(not(unix))]
    Ok(tokio::signal::ctrl_c())
}

async fn serve(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let listener = listener.tap_io(|stream| {
        // Small answers should not wait for more to send; without it they are only slower.
        let _ = stream.set_nodelay(true);
    });
    let mut stopping = stop.clone();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move { stopped(&mut stopping).await });
    let deadline = async {
        stopped(&mut stop).await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        ended = server => {
            if let Err(error) = ended {
                tracing::error!(%error, "the API ended");
            }
        }
        () = deadline => tracing::warn!("requests were cut off"),
    }
}

/// Comes round again and again until the stop, the first time at once.
struct Rhythm {
    interval: tokio::time::Interval,
    stop: watch::Receiver<bool>,
}

impl Rhythm {
    fn new(period: Duration, stop: watch::Receiver<bool>) -> Self {
        let mut interval = tokio::time::interval(period);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { interval, stop }
    }

    /// Waits for the next time; false when there is none.
    async fn comes(&mut self) -> bool {
        tokio::select! {
            _ = self.interval.tick() => true,
            () = stopped(&mut self.stop) => false,
        }
    }
}

async fn tick(queues: LocalQueues, mut rhythm: Rhythm) {
    while rhythm.comes().await {
        if let Err(error) = queues.tick().await {
            tracing::error!(error = %chain(&error), "schedules cannot fire");
        }
    }
}

async fn reconcile(chores: Arc<dyn Chores>, mut rhythm: Rhythm) {
    while rhythm.comes().await {
        if let Err(failure) = chores.reconcile().await {
            tracing::error!(error = %chain(&*failure.source), "the reconciler's tick failed");
        }
    }
}

async fn sweep(storage: Storage, mut rhythm: Rhythm) {
    while rhythm.comes().await {
        let storage = storage.clone();
        match tokio::task::spawn_blocking(move || storage.sweep_ttl()).await {
            Ok(Ok(0)) => {}
            Ok(Ok(items)) => tracing::info!(items, "disposed of expired items"),
            Ok(Err(error)) => tracing::error!(error = %chain(&error), "expired items stay"),
            Err(error) => tracing::error!(%error, "expired items stay"),
        }
    }
}
