//! The real template with the real functions, deployed by SAM as `docs/operations.md` says, on an emulator.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use reverie_local::api::Api;
use reverie_tests::make::{Python, programs, run, target};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::emulator::Emulator;

/// The functions, by the folder in which the template looks for them.
const FUNCTIONS: [(&str, &str); 3] = [
    ("api", "reverie-api"),
    ("ingest", "reverie-ingest"),
    ("dream-executor", "reverie-dream-executor"),
];

/// A deployed stack.
#[derive(Debug)]
pub(crate) struct Deployment {
    emulator: Emulator,
    outputs: HashMap<String, String>,
}

impl Deployment {
    /// Deploys with parameters that differ from their defaults.
    pub(crate) async fn new(parameters: &[(&str, &str)]) -> Self {
        let emulator = Emulator::start();
        let folder = laid_out();
        let sam = |arguments: &[&str]| {
            let mut sam = Python::with("sam", "emulator/sam-requirements.txt").program("sam");
            emulator.surroundings(&mut sam);
            sam.current_dir(folder.path())
                .env("HOME", home())
                .env("SAM_CLI_TELEMETRY", "0")
                .args(arguments);
            sam
        };
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut deploy = sam(&["deploy", "--no-confirm-changeset", "--parameter-overrides"]);
        run("deploying the template", deploy.args(parameters));
        let said = run(
            "asking for the stack's outputs",
            &mut sam(&["list", "stack-outputs", "--stack-name", "reverie", "--output", "json"]),
        );
        let outputs = json_in(&said)
            .as_array()
            .unwrap()
            .iter()
            .map(|output| (text(&output["OutputKey"]), text(&output["OutputValue"])))
            .collect();
        let this = Self { emulator, outputs };
        this.expire_by_the_templates_attribute().await;
        this
    }

    /// The emulator does not apply the template's time to live; AWS does. That the template has it is a test of its own.
    async fn expire_by_the_templates_attribute(&self) {
        let attribute = TimeToLiveSpecification::builder()
            .attribute_name("ttl")
            .enabled(true)
            .build()
            .unwrap();
        aws_sdk_dynamodb::Client::new(&self.config().await)
            .update_time_to_live()
            .table_name(self.output("TableName"))
            .time_to_live_specification(attribute)
            .send()
            .await
            .unwrap();
    }

    /// One of the stack's outputs.
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs.get(name).unwrap_or_else(|| panic!("no output {name}"))
    }

    /// Where the API answers: the emulator's own form of the address that API Gateway gives.
    pub(crate) fn url(&self) -> String {
        format!(
            "{}/_aws/execute-api/{}/$default",
            self.emulator.url(),
            self.output("ApiId")
        )
    }

    /// A client of the API in a workspace of its own.
    pub(crate) fn workspace(&self, name: &str) -> Api {
        let api = Api::new(&self.url(), name, None);
        api.ensure_workspace().unwrap();
        api
    }

    /// What clients of the services are made from.
    pub(crate) async fn config(&self) -> SdkConfig {
        self.emulator.config().await
    }

    /// What the emulator and the functions have said so far.
    pub(crate) fn log(&self) -> String {
        self.emulator.log()
    }

    /// Runs the check of a deployment that `docs/operations.md` names, in a workspace of its own.
    pub(crate) fn smoke(&self) -> String {
        let script = root().join("infra/smoke.py");
        let mut python = Command::new("python3");
        self.emulator.surroundings(&mut python);
        run("checking the deployment", python.arg("-B").arg(script).arg(self.url()))
    }

    /// Has the reconciler tick, as the template's rule does every five minutes.
    pub(crate) fn tick(&self) {
        let function = self.source("IngestQueueUrl")["FunctionArn"].clone();
        let path = format!("/2015-03-31/functions/{}/invocations", text(&function));
        let answer = self.lambda("POST", &path, &json!({"tick": true}));
        assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
    }

    /// Stops or starts the delivery of the ingest queue.
    pub(crate) fn deliver_to_ingest(&self, enabled: bool) {
        let id = self.source("IngestQueueUrl")["UUID"].clone();
        let path = format!("/2015-03-31/event-source-mappings/{}", text(&id));
        self.lambda("PUT", &path, &json!({"Enabled": enabled}));
    }

    /// The event source of a queue, named by the output that has its URL.
    fn source(&self, queue: &str) -> Value {
        let name = self.output(queue).rsplit('/').next().unwrap().to_owned();
        let sources = self.lambda("GET", "/2015-03-31/event-source-mappings/", &Value::Null);
        let source = sources["EventSourceMappings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|source| text(&source["EventSourceArn"]).ends_with(&name));
        source
            .unwrap_or_else(|| panic!("no source of {name} in {sources}"))
            .clone()
    }

    /// Calls Lambda's own API.
    fn lambda(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.emulator.url()))
            .header("content-type", "application/json")
            // Whose functions: the emulator checks no signature.
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/lambda/aws4_request",
            )
            .body(if body.is_null() {
                String::new()
            } else {
                body.to_string()
            })
            .unwrap();
        let mut answer = ureq::run(request).unwrap();
        let said = answer.body_mut().read_to_string().unwrap();
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{method} {path}: {error}: {said}"))
    }
}

/// A folder for what tools keep about their user.
pub(crate) fn home() -> PathBuf {
    let home = target().join("home");
    fs::create_dir_all(&home).unwrap();
    home
}

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The template and SAM's settings as they are in the repository, and beside them this build's functions where the
/// template looks for them. Stripped, as release builds are: SAM packs and sends them.
fn laid_out() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = |path: &str| {
        let to = folder.path().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        to
    };
    for file in ["samconfig.toml", "infra/template.yaml"] {
        fs::copy(root().join(file), place(file)).unwrap();
    }
    let built = programs(&FUNCTIONS.map(|(_, program)| (program, program)));
    for ((name, _), program) in FUNCTIONS.iter().zip(built) {
        let bootstrap = place(&format!("target/lambda/{name}/bootstrap"));
        run(
            "stripping a function",
            Command::new("strip").arg("-o").arg(bootstrap).arg(program),
        );
    }
    folder
}

/// The JSON list in what a command said around it.
fn json_in(said: &str) -> Value {
    let list = said.find('[').zip(said.rfind(']')).map(|(from, to)| &said[from..=to]);
    serde_json::from_str(list.unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The text of a JSON string.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
