//! The emulator as a process: one per test that needs it, with an own port and an own folder.

use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use reverie_tests::make::{Python, forget, run};
use tempfile::TempDir;

/// The region and the keys that the emulator takes.
const REGION: &str = "us-east-1";
const KEY: &str = "test";
/// How long the emulator may take to answer for the first time.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running emulator. Ends, with the functions that it started, when it is dropped.
#[derive(Debug)]
pub(crate) struct Emulator {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Emulator {
    /// Starts one and waits until it answers.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let log = File::create(folder.path().join("emulator.log")).unwrap();
        let mut command = Python::with("emulator", "emulator/requirements.txt").program("ministack");
        surround(&mut command, port);
        command
            .env("GATEWAY_PORT", port.to_string())
            .env("BIND_HOST", "127.0.0.1")
            .env("MINISTACK_HOST", "127.0.0.1")
            .env("STATE_DIR", folder.path().join("state"))
            // Where it unpacks functions.
            .env("TMPDIR", folder.path())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null());
        let mut emulator = Self {
            process: command.spawn().unwrap(),
            port,
            folder,
        };
        let health = format!("{}/_ministack/health", emulator.url());
        let start = Instant::now();
        while !ureq::get(&health).call().is_ok_and(|answer| answer.status() == 200) {
            let ended = emulator.process.try_wait().unwrap();
            assert!(
                ended.is_none() && start.elapsed() < PATIENCE,
                "the emulator does not answer ({ended:?}):\n{}",
                emulator.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        emulator
    }

    /// Where every service is.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it has said so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("emulator.log")).unwrap()
    }

    /// Lets a command find the emulator, and nothing of what the surroundings say about AWS.
    pub(crate) fn surroundings(&self, command: &mut Command) {
        surround(command, self.port);
    }

    /// What clients of the services are made from.
    pub(crate) async fn config(&self) -> SdkConfig {
        aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .endpoint_url(self.url())
            .credentials_provider(Credentials::new(KEY, KEY, None, None, "emulator"))
            .load()
            .await
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Asked to end, it also ends the functions; killed, it would leave them behind.
        run(
            "ending the emulator",
            Command::new("sh").args(["-c", &format!("kill {}", self.process.id())]),
        );
        self.process.wait().unwrap();
    }
}

/// Keys of an account that nobody else uses: the emulator takes an account's number for its key.
pub(crate) fn account(number: usize) -> Credentials {
    Credentials::new(format!("{:012}", number + 1), KEY, None, None, "emulator")
}

/// Sets the variables with which AWS's tools find the emulator.
fn surround(command: &mut Command, port: u16) {
    forget(
        command,
        &[
            "AWS_",
            "SAM_",
            "DREAM_",
            "DERIVER_",
            "PEER_CARD_",
            "SUMMARY_",
            "REVERIE_",
            "RUST_LOG",
        ],
    );
    command
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", KEY)
        .env("AWS_REGION", REGION)
        .env("AWS_DEFAULT_REGION", REGION)
        .env("NO_PROXY", "127.0.0.1");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
