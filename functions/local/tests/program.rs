//! The program as a person runs it: processes, folders, kills.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use reverie_local::api::Api;
use serde_json::{Value, json};

const WORKSPACE: &str = "w";

fn reverie(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reverie"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Nothing of the surroundings.
    for name in ["RUST_LOG", "RUST_BACKTRACE", "HONCHO_API_KEY"] {
        command.env_remove(name);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running `reverie serve`, killed when it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(data_dir: &Path) -> Self {
        Self::with(data_dir, &[])
    }

    fn with(data_dir: &Path, settings: &[(&str, &str)]) -> Self {
        let mut command = reverie(&["serve", "--port", "0", "--data-dir", data_dir.to_str().unwrap()]);
        let mut child = command
            .envs(settings.iter().copied())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Self { child, url }
    }

    fn api(&self) -> Api {
        Api::new(&self.url, WORKSPACE, None)
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A file of JSON lines with so many messages, over sessions of 130.
    fn file(&self, messages: usize) -> String {
        let mut lines = String::new();
        for n in 0..messages {
            let line = json!({
                "session": format!("s{}", n / 130),
                "peer": if n % 2 == 0 { "maya" } else { "helper" },
                "content": format!("I like number {n}."),
                "created_at": format!("2026-01-01T{:02}:{:02}:{:02}Z", n / 3600, n / 60 % 60, n % 60),
            });
            writeln!(lines, "{line}").unwrap();
        }
        let path = self.dir.path().join(format!("{messages}.jsonl"));
        std::fs::write(&path, lines).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn import(file: &str, url: &str) -> Output {
        reverie(&["import", file, "--workspace", WORKSPACE, "--url", url])
            .output()
            .unwrap()
    }
}

/// Every message of a session, in order: number, peer and date.
fn messages(api: &Api, session: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for page in 1.. {
        let path = format!("/sessions/{session}/messages/list?page={page}&size=100");
        let page: Value = api.post(&path, &json!({})).unwrap();
        let items = page["items"].as_array().unwrap();
        found.extend(items.iter().map(|item| {
            let field = |name: &str| item[name].as_str().unwrap().to_owned();
            (field("content"), field("peer_id"), field("created_at"))
        }));
        if items.is_empty() || found.len() as u64 >= page["total"].as_u64().unwrap() {
            break;
        }
    }
    found
}

fn assert_complete(api: &Api, total: usize) {
    let mut found = Vec::new();
    for session in 0..total.div_ceil(130) {
        found.extend(messages(api, &format!("s{session}")));
    }
    let contents: Vec<_> = found.iter().map(|(content, ..)| content.clone()).collect();
    let expected: Vec<_> = (0..total).map(|n| format!("I like number {n}.")).collect();
    assert_eq!(contents, expected);
    assert_eq!(
        (found[1].1.as_str(), found[61].2.as_str()),
        ("helper", "2026-01-01T00:01:01Z")
    );
}

fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < Duration::from_mins(1) {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} did not happen");
}

#[test]
fn a_second_program_on_the_same_folder_is_refused_clearly() {
    let scene = Scene::new();
    let server = Server::start(&scene.data());
    let second = reverie(&["serve", "--port", "0", "--data-dir", scene.data().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(!second.status.success());
    let said = text(&second.stderr);
    assert!(said.contains("is in use by another reverie"), "{said}");
    assert!(said.contains(&server.child.id().to_string()), "{said}");
    server.kill();
    Server::start(&scene.data());
}

#[test]
fn a_port_that_is_taken_is_named() {
    let scene = Scene::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = reverie(&["serve", "--port", &port, "--data-dir", scene.data().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = text(&refused.stderr);
    assert!(said.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{said}");
}

#[test]
fn a_bad_setting_is_named() {
    let scene = Scene::new();
    let refused = reverie(&["serve", "--port", "0", "--data-dir", scene.data().to_str().unwrap()])
        .env("DREAM_ENABLED", "perhaps")
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = text(&refused.stderr);
    assert!(said.contains("DREAM_ENABLED is \"perhaps\""), "{said}");
}

/// `reverie check-model` with these variables and no others that could matter.
fn check_model(settings: &[(&str, &str)]) -> Output {
    let mut command = reverie(&["check-model"]);
    for variable in reverie_models::config::VARIABLES {
        command.env_remove(variable.name);
    }
    command.envs(settings.iter().copied()).output().unwrap()
}

#[test]
fn checking_models_without_one_says_that_none_is_asked() {
    let output = check_model(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("the offline reasoner works"));
}

#[test]
fn checking_a_model_that_is_not_configured_names_the_variable() {
    let output = check_model(&[("REVERIE_MODEL_PROVIDER", "anthropic"), ("REVERIE_MODEL", "m")]);
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("ANTHROPIC_API_KEY is not set"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn checking_a_model_that_is_not_there_fails_and_shows_no_key() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let output = check_model(&[
        ("REVERIE_MODEL_PROVIDER", "openai"),
        ("REVERIE_MODEL", "m"),
        ("REVERIE_MODEL_RETRIES", "0"),
        ("OPENAI_API_KEY", "sk-never-show-this-key"),
        ("OPENAI_BASE_URL", &format!("http://127.0.0.1:{port}/v1")),
    ]);
    assert!(!output.status.success());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("no connection to the provider"), "{out}");
    assert!(err.contains("5 checks failed"), "{err}");
    assert!(!out.contains("never-show") && !err.contains("never-show"));
}

#[test]
fn an_import_goes_on_where_it_stopped_and_twice_changes_nothing() {
    let scene = Scene::new();
    let server = Server::start(&scene.data());
    let sent = |file: &str| {
        let output = Scene::import(file, &server.url);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(sent(&scene.file(170)).contains("170 messages in"));
    let whole = scene.file(300);
    let more = sent(&whole);
    assert!(more.contains("130 messages (170 there already)"), "{more}");
    let again = sent(&whole);
    assert!(again.contains("0 messages (300 there already)"), "{again}");
    // An older copy of the file is no reason to complain either.
    assert!(sent(&scene.file(170)).contains("0 messages (170 there already)"));
    assert_complete(&server.api(), 300);
}

#[test]
fn another_conversation_under_the_same_names_is_refused() {
    let scene = Scene::new();
    let server = Server::start(&scene.data());
    assert!(Scene::import(&scene.file(5), &server.url).status.success());
    let other = scene.dir.path().join("other.jsonl");
    std::fs::write(&other, r#"{"session":"s0","peer":"maya","content":"Something else."}"#).unwrap();
    let refused = Scene::import(other.to_str().unwrap(), &server.url);
    assert!(!refused.status.success());
    let said = text(&refused.stderr);
    assert!(
        said.contains("session s0 already holds other messages: its message 1"),
        "{said}"
    );
    assert_eq!(messages(&server.api(), "s0").len(), 5);
}

#[test]
fn a_file_with_a_mistake_is_refused_by_its_line_before_anything_is_sent() {
    let scene = Scene::new();
    let server = Server::start(&scene.data());
    let path = scene.dir.path().join("bad.jsonl");
    let lines = format!(
        "{}\n{}\n",
        r#"{"session":"s0","peer":"maya","content":"Good."}"#, r#"{"session":"s0","peer":"maya"}"#
    );
    std::fs::write(&path, lines).unwrap();
    let refused = Scene::import(path.to_str().unwrap(), &server.url);
    assert!(!refused.status.success());
    let said = text(&refused.stderr);
    assert!(said.contains("line 2: missing field `content`"), "{said}");
    let workspace = server.api().post::<Value>("/sessions/list", &json!({}));
    assert!(workspace.is_err_and(|error| error.is_not_found()));
}

#[test]
fn an_import_killed_anywhere_loses_and_doubles_nothing() {
    let scene = Scene::new();
    let file = scene.file(700);
    let data = scene.data();
    let import = || {
        let mut command = reverie(&[
            "import",
            &file,
            "--workspace",
            WORKSPACE,
            "--data-dir",
            data.to_str().unwrap(),
        ]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    for milliseconds in [150, 300, 450, 600] {
        let mut child = import();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(import().wait().unwrap().success());
    assert_complete(&Server::start(&data).api(), 700);
}

#[test]
fn conclusions_and_the_timer_survive_kill_9() {
    let scene = Scene::new();
    // The reconciler never comes: the schedule itself must have survived.
    let settings = [
        ("DREAM_DOCUMENT_THRESHOLD", "3"),
        ("DREAM_IDLE_TIMEOUT_MINUTES", "0.1"),
        ("REVERIE_RECONCILER_SECONDS", "86400"),
    ];
    let server = Server::with(&scene.data(), &settings);
    let api = server.api();
    api.ensure_workspace().unwrap();
    let said = [
        "I live in Oslo.",
        "I work at Equinor.",
        "I have a dog.",
        "I love skiing.",
        "I play the violin.",
    ];
    let said: Vec<_> = said
        .iter()
        .map(|content| json!({ "peer_id": "maya", "content": content }))
        .collect();
    api.post::<Value>("/sessions/s/messages", &json!({ "messages": said }))
        .unwrap();
    // At once, with the wake-up on its way: nothing that was accepted is lost.
    server.kill();

    let server = Server::with(&scene.data(), &settings);
    let api = server.api();
    let status = "/dreams/status?observer=maya&observed=maya";
    until("the timer", || {
        let status = api.get::<Value>(status).ok()?;
        status["timer_due_at"].as_str().map(str::to_owned)
    });
    server.kill();

    let server = Server::with(&scene.data(), &settings);
    let api = server.api();
    let run = until("the dream", || {
        let runs: Value = api.get("/dreams?observer=maya&observed=maya").ok()?;
        runs["items"].get(0).filter(|run| run["status"] == "completed").cloned()
    });
    assert_eq!(run["trigger"], "idle");
    let filters = json!({ "filters": { "observer_id": "maya", "observed_id": "maya", "level": "explicit" } });
    let page: Value = api.post("/conclusions/list", &filters).unwrap();
    assert_eq!(page["total"], 5);
}

#[cfg(unix)]
#[test]
fn a_termination_signal_ends_it_well() {
    let scene = Scene::new();
    let mut server = Server::start(&scene.data());
    let killed = Command::new("kill")
        .arg(server.child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
    assert!(server.child.wait().unwrap().success());
}
