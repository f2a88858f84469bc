//! What the template says where the emulator does not listen, or where a limit of ours must match (`infra/template.yaml`).

use std::collections::BTreeSet;

use reverie_aws::deployment;
use reverie_core::config::VARIABLES;
use reverie_local::embedded::Storage;
use reverie_tests::make::{Python, run};
use serde_json::{Value, json};

use crate::deployment::{root, text};

const PARSE: &str = "import json, sys; from samtranslator.yaml_helper import yaml_parse; \
                     json.dump(yaml_parse(open(sys.argv[1]).read()), sys.stdout)";
const FUNCTIONS: [&str; 3] = ["Api", "Ingest", "DreamExecutor"];
const DEAD_LETTERS: [&str; 3] = ["IngestDeadLetters", "DreamsDeadLetters", "ScheduleDeadLetters"];
/// Each queue with its function, its event source and its dead letters.
const QUEUES: [[&str; 4]; 2] = [
    ["IngestQueue", "Ingest", "IngestSource", "IngestDeadLetters"],
    ["DreamsQueue", "DreamExecutor", "DreamSource", "DreamsDeadLetters"],
];
const FOURTEEN_DAYS: i64 = 14 * 24 * 3600;

fn sam() -> Python {
    Python::with("sam", "emulator/sam-requirements.txt")
}

fn template() -> Value {
    let mut parse = sam().program("python");
    let said = run(
        "reading the template",
        parse.args(["-c", PARSE]).arg(root().join("infra/template.yaml")),
    );
    serde_json::from_str(&said).unwrap()
}

/// A resource's properties.
fn properties(template: &Value, name: &str) -> Value {
    let resource = &template["Resources"][name];
    assert!(resource.is_object(), "no resource {name}");
    resource["Properties"].clone()
}

/// All statements of a function's own policies and of the managed ones that it refers to.
fn statements(template: &Value, function: &str) -> Vec<Value> {
    let policies = properties(template, function)["Policies"].as_array().unwrap().clone();
    let document = |policy: &Value| match policy["Ref"].as_str() {
        Some(managed) => properties(template, managed)["PolicyDocument"].clone(),
        None => policy.clone(),
    };
    let documents = policies.iter().map(document);
    documents
        .flat_map(|document| document["Statement"].as_array().unwrap().clone())
        .collect()
}

/// A statement's actions.
fn actions(statement: &Value) -> Vec<String> {
    match &statement["Action"] {
        Value::Array(actions) => actions.iter().map(text).collect(),
        one => vec![text(one)],
    }
}

fn every_action(template: &Value, function: &str) -> BTreeSet<String> {
    statements(template, function).iter().flat_map(actions).collect()
}

#[test]
fn the_linters_have_nothing_to_say() {
    let template = root().join("infra/template.yaml");
    run("cfn-lint", sam().program("cfn-lint").arg(&template));
    let mut validate = sam().program("sam");
    validate
        .env("SAM_CLI_TELEMETRY", "0")
        .env("AWS_DEFAULT_REGION", "us-east-1")
        .env("HOME", crate::deployment::home())
        .args(["validate", "--lint", "--template-file"]);
    run("sam validate", validate.arg(&template));
}

#[test]
fn every_variable_is_passed_with_its_documented_default_and_no_other() {
    let template = template();
    let passed = template["Globals"]["Function"]["Environment"]["Variables"].clone();
    for variable in VARIABLES {
        let value = &passed[variable.name];
        let default = match value["Ref"].as_str() {
            Some(parameter) => &template["Parameters"][parameter]["Default"],
            None => value,
        };
        let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        assert_eq!(default, variable.default, "{}", variable.name);
    }
    // The reconciler's ticks are as far apart as it is told.
    assert_eq!(
        properties(&template, "Ingest")["Events"]["Tick"]["Properties"]["Schedule"],
        "rate(5 minutes)"
    );
    assert_eq!(passed["REVERIE_RECONCILER_SECONDS"], "300");
    let ours = [
        deployment::TABLE,
        deployment::INGEST_QUEUE_URL,
        deployment::DREAMS_QUEUE_URL,
        deployment::DREAMS_QUEUE_ARN,
        deployment::SCHEDULE_GROUP,
        deployment::SCHEDULE_ROLE_ARN,
        deployment::SCHEDULE_DLQ_ARN,
        "RUST_LOG",
        "REVERIE_MODEL_PROVIDER",
        "REVERIE_MODEL",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
    ];
    let known: BTreeSet<_> = VARIABLES.iter().map(|variable| variable.name).chain(ours).collect();
    let passed: BTreeSet<_> = passed.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(passed, known);
}

#[test]
fn k1_three_functions_on_the_custom_runtime_where_the_build_lays_them() {
    let template = template();
    let common = &template["Globals"]["Function"];
    assert_eq!(
        (&common["Runtime"], &common["Handler"]),
        (&json!("provided.al2023"), &json!("bootstrap"))
    );
    // What `infra/build.sh` builds on the usual machine, for glibc 2.34.
    assert_eq!(common["Architectures"], json!(["x86_64"]));
    let build = std::fs::read_to_string(root().join("infra/build.sh")).unwrap();
    for (function, folder) in FUNCTIONS.iter().zip(["api", "ingest", "dream-executor"]) {
        assert_eq!(
            properties(&template, function)["CodeUri"],
            format!("../target/lambda/{folder}/")
        );
        assert!(build.contains(&format!("-p reverie-{folder}")), "{folder}");
    }
}

#[tokio::test]
async fn k2_k5_one_table_with_the_keys_indexes_and_expiry_that_the_code_has() {
    let template = template();
    let tables = template["Resources"].as_object().unwrap().values();
    assert_eq!(tables.filter(|one| one["Type"] == "AWS::DynamoDB::Table").count(), 1);
    let table = properties(&template, "Table");

    let client = Storage::memory().unwrap().client();
    reverie_aws::table::create_table(&client, "table").await.unwrap();
    let code = client
        .describe_table()
        .table_name("table")
        .send()
        .await
        .unwrap()
        .table
        .unwrap();
    let keys = |schema: &[aws_sdk_dynamodb::types::KeySchemaElement]| -> Value {
        let keys = schema.iter();
        keys.map(|key| json!({"AttributeName": key.attribute_name(), "KeyType": key.key_type().as_str()}))
            .collect()
    };
    assert_eq!(table["KeySchema"], keys(code.key_schema()));
    let mut indexes: Vec<_> = code
        .global_secondary_indexes()
        .iter()
        .map(|index| {
            let projection = index.projection().unwrap().projection_type().unwrap().as_str();
            json!({"IndexName": index.index_name(), "KeySchema": keys(index.key_schema()), "Projection": {"ProjectionType": projection}})
        })
        .collect();
    let mut deployed = table["GlobalSecondaryIndexes"].as_array().unwrap().clone();
    indexes.sort_by_key(|index| index["IndexName"].to_string());
    deployed.sort_by_key(|index| index["IndexName"].to_string());
    assert_eq!(deployed, indexes);
    let expiry = client.describe_time_to_live().table_name("table").send().await.unwrap();
    let expiry = expiry.time_to_live_description.unwrap().attribute_name.unwrap();
    assert_eq!(
        table["TimeToLiveSpecification"],
        json!({"AttributeName": expiry, "Enabled": true})
    );
}

#[test]
fn the_table_is_kept_when_the_stack_goes_and_can_be_restored() {
    let template = template();
    let table = properties(&template, "Table");
    assert_eq!(
        table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"],
        true
    );
    assert_eq!(table["DeletionProtectionEnabled"], json!({"Ref": "DeletionProtection"}));
    assert_eq!(template["Parameters"]["DeletionProtection"]["Default"], "true");
    let resource = &template["Resources"]["Table"];
    assert_eq!(resource["DeletionPolicy"], "RetainExceptOnCreate");
    assert_eq!(resource["UpdateReplacePolicy"], "Retain");
}

#[test]
fn k3_schedules_have_a_group_a_role_that_only_sends_and_a_standard_queue_for_what_fails() {
    let template = template();
    assert_eq!(
        properties(&template, "Schedules")["Name"],
        json!({"Ref": "AWS::StackName"})
    );
    let policies = properties(&template, "ScheduleRole")["Policies"].clone();
    let statements = policies[0]["PolicyDocument"]["Statement"].as_array().unwrap().clone();
    assert_eq!((policies.as_array().unwrap().len(), statements.len()), (1, 1));
    assert_eq!(actions(&statements[0]), ["sqs:SendMessage"]);
    let arn = |of: &str| json!({"Fn::GetAtt": [of, "Arn"]});
    assert_eq!(
        statements[0]["Resource"],
        json!([arn("DreamsQueue"), arn("ScheduleDeadLetters")])
    );
    // The scheduler refuses a FIFO queue here.
    assert_eq!(properties(&template, "ScheduleDeadLetters")["FifoQueue"], Value::Null);
}

#[test]
fn k4_queues_are_fifo_and_locked_a_minute_longer_than_their_function_runs() {
    let template = template();
    for [queue, function, source, dead] in QUEUES {
        let queue_properties = properties(&template, queue);
        let timeout = properties(&template, function)["Timeout"].as_i64().unwrap();
        assert_eq!(queue_properties["VisibilityTimeout"], timeout + 60, "{queue}");
        // Schedules cannot name a deduplication id; equal ids of different groups are different messages.
        assert_eq!(queue_properties["ContentBasedDeduplication"], true, "{queue}");
        assert_eq!(queue_properties["DeduplicationScope"], "messageGroup", "{queue}");
        assert_eq!(queue_properties["FifoThroughputLimit"], "perMessageGroupId", "{queue}");
        let redrive = json!({"deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]}, "maxReceiveCount": 5});
        assert_eq!(queue_properties["RedrivePolicy"], redrive, "{queue}");
        for each in [queue, dead] {
            assert_eq!(properties(&template, each)["FifoQueue"], true, "{each}");
        }
        let source = properties(&template, source);
        assert_eq!(
            source["FunctionResponseTypes"],
            json!(["ReportBatchItemFailures"]),
            "{queue}"
        );
        assert_eq!(source["FunctionName"], json!({"Ref": function}));
    }
    for queue in DEAD_LETTERS.iter().chain(&["IngestQueue", "DreamsQueue"]) {
        assert_eq!(
            properties(&template, queue)["MessageRetentionPeriod"],
            FOURTEEN_DAYS,
            "{queue}"
        );
    }
    assert_eq!(properties(&template, "DreamSource")["BatchSize"], 1);
    // A slice ends long before the executor's timeout.
    let slice = template["Parameters"]["DreamSliceSeconds"]["MaxValue"]
        .as_i64()
        .unwrap();
    assert!(slice + 60 < properties(&template, "DreamExecutor")["Timeout"].as_i64().unwrap());
}

#[test]
fn k6_api_gateway_is_in_front_and_nothing_costs_while_it_is_idle() {
    let template = template();
    let route = properties(&template, "HttpRoute");
    assert_eq!(route["RouteKey"], "$default");
    assert_eq!(route["AuthorizationType"], json!({"Ref": "ApiAuthorization"}));
    assert_eq!(template["Parameters"]["ApiAuthorization"]["Default"], "AWS_IAM");
    let integration = properties(&template, "HttpIntegration");
    assert_eq!(integration["IntegrationUri"], json!({"Fn::GetAtt": ["Api", "Arn"]}));
    assert_eq!(integration["PayloadFormatVersion"], "2.0");
    // API Gateway gives up after 30 s; the function must have answered by then.
    assert!(properties(&template, "Api")["Timeout"].as_i64().unwrap() < 30);
    assert_eq!(properties(&template, "Table")["BillingMode"], "PAY_PER_REQUEST");
    // Billed by use, all of them. Alarms cost ten cents a month each, and are off by default.
    let by_use = [
        "AWS::ApiGatewayV2::Api",
        "AWS::ApiGatewayV2::Integration",
        "AWS::ApiGatewayV2::Route",
        "AWS::ApiGatewayV2::Stage",
        "AWS::DynamoDB::Table",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::SNS::Topic",
        "AWS::SQS::Queue",
        "AWS::Scheduler::ScheduleGroup",
        "AWS::Serverless::Function",
    ];
    for (name, resource) in template["Resources"].as_object().unwrap() {
        let kind = text(&resource["Type"]);
        let is_alarm = kind == "AWS::CloudWatch::Alarm" && resource["Condition"] == "Alarms";
        assert!(is_alarm || by_use.contains(&kind.as_str()), "{name} is a {kind}");
        for provisioned in [
            "ProvisionedConcurrencyConfig",
            "ProvisionedThroughput",
            "ProvisionedPollerConfig",
        ] {
            assert_eq!(resource["Properties"][provisioned], Value::Null, "{name}");
        }
    }
}

#[test]
fn functions_may_do_what_they_do_and_nothing_else() {
    let template = template();
    for function in FUNCTIONS {
        for statement in statements(&template, function) {
            assert_eq!(statement["Effect"], "Allow");
            assert_ne!(statement["Resource"], "*", "{function}: {statement}");
            assert!(
                actions(&statement).iter().all(|action| !action.contains('*')),
                "{function}: {statement}"
            );
        }
        let allowed = every_action(&template, function);
        assert!(!allowed.contains("dynamodb:Scan"), "{function}");
        let schedules = allowed.iter().any(|action| action.starts_with("scheduler:"));
        assert_eq!(
            schedules,
            function != "Api",
            "only ingest and the executor call the scheduler"
        );
    }
    assert!(!every_action(&template, "Api").contains("sqs:ReceiveMessage"));
}

#[test]
fn logs_expire() {
    let template = template();
    assert_eq!(
        properties(&template, "Logs")["RetentionInDays"],
        json!({"Ref": "LogRetentionDays"})
    );
    assert_eq!(template["Parameters"]["LogRetentionDays"]["Default"], 30);
    assert_eq!(
        template["Globals"]["Function"]["LoggingConfig"]["LogGroup"],
        json!({"Ref": "Logs"})
    );
}

#[test]
fn alarms_watch_every_queue_and_function_and_are_explained() {
    let template = template();
    let page = std::fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let mut watched = BTreeSet::new();
    for (name, resource) in template["Resources"].as_object().unwrap() {
        if resource["Type"] != "AWS::CloudWatch::Alarm" {
            continue;
        }
        let alarm = &resource["Properties"];
        assert_eq!(alarm["AlarmActions"], json!([{"Ref": "AlarmTopic"}]), "{name}");
        assert!(
            page.contains(&format!("`{name}`")),
            "docs/operations.md does not explain {name}"
        );
        let of = &alarm["Dimensions"][0]["Value"];
        let of = of["Ref"].as_str().or_else(|| of["Fn::GetAtt"][0].as_str()).unwrap();
        watched.insert(format!("{} of {of}", text(&alarm["MetricName"])));
    }
    let wanted: BTreeSet<_> = DEAD_LETTERS
        .iter()
        .map(|queue| format!("ApproximateNumberOfMessagesVisible of {queue}"))
        .chain(
            QUEUES
                .iter()
                .map(|[queue, ..]| format!("ApproximateAgeOfOldestMessage of {queue}")),
        )
        .chain(
            FUNCTIONS
                .iter()
                .flat_map(|of| [format!("Errors of {of}"), format!("Throttles of {of}")]),
        )
        .chain(["Invocations of Ingest".to_owned()])
        .collect();
    assert_eq!(watched, wanted);
}
