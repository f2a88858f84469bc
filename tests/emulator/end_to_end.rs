//! The whole job on the deployed template: over API Gateway's address, through both queues and the scheduler, by the
//! three functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_sqs::types::QueueAttributeName;
use reverie_aws::table::Table;
use reverie_core::id::{PeerName, RepresentationId, RunId, SessionName, WorkspaceName};
use reverie_local::api::Api;
use serde_json::{Value, json};

use crate::deployment::{Deployment, text};

/// Small enough that everything happens within minutes. An idle time above a minute, since a timer that moves by less
/// keeps its schedule; slices of no time, so that every delivery does one step and hands the run on.
const PARAMETERS: [(&str, &str); 7] = [
    ("ApiAuthorization", "NONE"),
    ("DeletionProtection", "false"),
    ("AlarmEmail", "nobody@example.com"),
    ("DreamDocumentThreshold", "4"),
    ("DreamMinHoursBetweenDreams", "1"),
    ("DreamIdleTimeoutMinutes", "1.5"),
    ("DreamSliceSeconds", "0"),
];
/// How long after its first message the peer speaks again: more than a minute, less than the idle time.
const SPEAKS_AGAIN: Duration = Duration::from_secs(65);
/// How long things may take that happen at once.
const SOON: Duration = Duration::from_mins(1);
/// How long it may take from the last message until the idle dream has ended.
const DREAMT: Duration = Duration::from_mins(6);
/// Longer than the test.
const STUCK: i32 = 12 * 3600;

/// The stack, and clients of what it is made of.
struct World {
    stack: Deployment,
    sqs: aws_sdk_sqs::Client,
    scheduler: aws_sdk_scheduler::Client,
    dynamodb: aws_sdk_dynamodb::Client,
    table: Table,
}

impl World {
    async fn deploy() -> Self {
        let stack = Deployment::new(&PARAMETERS).await;
        let config = stack.config().await;
        let dynamodb = aws_sdk_dynamodb::Client::new(&config);
        Self {
            sqs: aws_sdk_sqs::Client::new(&config),
            scheduler: aws_sdk_scheduler::Client::new(&config),
            table: Table::new(dynamodb.clone(), stack.output("TableName")),
            dynamodb,
            stack,
        }
    }

    /// Looks until something is there.
    async fn until<T>(&self, what: &str, patience: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = look().await {
                println!("{what}: after {:.1} s", start.elapsed().as_secs_f64());
                return found;
            }
            assert!(
                start.elapsed() < patience,
                "{what}: not within {patience:?}\n{}",
                self.stack.log()
            );
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn send(&self, queue: &str, group: &str, deduplication: &str, body: &str) {
        let message = self
            .sqs
            .send_message()
            .queue_url(self.stack.output(queue))
            .message_group_id(group)
            .message_deduplication_id(deduplication)
            .message_body(body);
        message.send().await.unwrap();
    }

    /// Messages of a queue, those in flight included.
    async fn left(&self, queue: &str) -> u64 {
        let described = self
            .sqs
            .get_queue_attributes()
            .queue_url(self.stack.output(queue))
            .attribute_names(QueueAttributeName::All);
        let attributes = described.send().await.unwrap().attributes.unwrap();
        let count = |name| attributes[&name].parse::<u64>().unwrap();
        count(QueueAttributeName::ApproximateNumberOfMessages)
            + count(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
    }

    async fn quiet(&self) {
        self.until("the queues are empty", SOON, async || {
            let left = self.left("IngestQueueUrl").await + self.left("DreamsQueueUrl").await;
            (left == 0).then_some(())
        })
        .await;
    }

    /// Everything that the table holds, by key.
    async fn everything(&self) -> BTreeMap<String, HashMap<String, AttributeValue>> {
        let pages = self.dynamodb.scan().table_name(self.stack.output("TableName"));
        let mut items = pages.consistent_read(true).into_paginator().items().send();
        let mut all = BTreeMap::new();
        while let Some(item) = items.next().await {
            let item = item.unwrap();
            all.insert(format!("{:?} {:?}", item["PK"], item["SK"]), item);
        }
        all
    }

    /// What maya's representation of herself is called inside.
    async fn representation(&self, api: &Api) -> RepresentationId {
        let workspace = WorkspaceName::parse(api.workspace()).unwrap();
        let workspace = self.table.workspace(&workspace).await.unwrap().unwrap();
        let maya = PeerName::parse("maya").unwrap();
        RepresentationId::of(&workspace.uid, &maya, &maya)
    }

    /// The names of a representation's schedules.
    async fn schedules(&self, of: &RepresentationId) -> Vec<String> {
        let group = self
            .scheduler
            .list_schedules()
            .group_name(self.stack.output("ScheduleGroup"));
        let all = group.send().await.unwrap().schedules;
        let names = all.into_iter().map(|schedule| schedule.name.unwrap());
        names.filter(|name| name.starts_with(&format!("{of}."))).collect()
    }

    async fn schedule(&self, name: &str) -> GetScheduleOutput {
        let group = self.stack.output("ScheduleGroup");
        let schedule = self.scheduler.get_schedule().group_name(group).name(name);
        schedule.send().await.unwrap()
    }

    /// A run's detail once it has ended.
    async fn ended(&self, api: &Api, run: &str) -> Value {
        self.until("the run ends", SOON, async || {
            let detail: Value = api.get(&format!("/dreams/{run}")).unwrap();
            (!["pending", "running"].contains(&text(&detail["status"]).as_str())).then_some(detail)
        })
        .await
    }
}

/// Maya says something in a session.
fn say(api: &Api, session: &str, messages: &[&str]) {
    let messages: Vec<_> = messages
        .iter()
        .map(|content| json!({"peer_id": "maya", "content": content}))
        .collect();
    let path = format!("/sessions/{session}/messages");
    api.post::<Value>(&path, &json!({ "messages": messages })).unwrap();
}

/// What is concluded about maya, by id.
fn conclusions(api: &Api) -> BTreeMap<String, Value> {
    let filters = json!({"filters": {"observer": "maya", "observed": "maya"}});
    let page: Value = api.post("/conclusions/list?size=100", &filters).unwrap();
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| (text(&item["id"]), item.clone())).collect()
}

fn status(api: &Api) -> Value {
    api.get("/dreams/status?observer=maya&observed=maya").unwrap()
}

fn dreams(api: &Api) -> Vec<Value> {
    let page: Value = api.get("/dreams?observer=maya&observed=maya").unwrap();
    page["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn k1_k2_k3_k4_k6_the_template_as_it_is_does_the_whole_job() {
    let world = World::deploy().await;
    let story = Story::begin(&world).await;

    // While its schedule waits.
    let stuck = Stuck::new(&world).await;
    let poison = Poison::send(&world).await;
    println!("{}", tokio::task::block_in_place(|| world.stack.smoke()));
    poison.lies_with_the_dead_letters(&world).await;

    let dream = story.activity_replaces_the_schedule(&world).await;
    stuck.the_tick_repairs(&world).await;
    let run = story.it_dreams(&world).await;
    story.its_history_is_read(&run);
    dream.delivered_again_does_nothing(&world, &run).await;
    story.it_is_undone(&world, &run, &dream.before).await;
}

/// What maya says, up to the dream about it.
struct Story {
    api: Api,
    representation: RepresentationId,
    /// When the timer was armed.
    armed: Instant,
    /// The schedule's name, and the status, then.
    schedule: String,
    waiting: Value,
}

/// The dream to come: what it will look at, and what sends it there.
struct Ahead {
    before: BTreeMap<String, Value>,
    fire: GetScheduleOutput,
}

impl Story {
    /// Messages in, conclusions out, and a schedule once there are enough.
    async fn begin(world: &World) -> Self {
        let api = world.stack.workspace("story");
        say(&api, "first", &["I live in Berlin. I work as a nurse at the Charité."]);
        world
            .until("the first conclusions", SOON, async || {
                (conclusions(&api).len() >= 2).then_some(())
            })
            .await;
        assert_eq!(status(&api)["verdict"], "below_threshold", "{}", status(&api));
        say(&api, "first", &["I have a dog named Pixel. I love rock climbing."]);
        let armed = Instant::now();
        let representation = world.representation(&api).await;
        let schedule = world
            .until("an idle schedule", SOON, async || {
                world.schedules(&representation).await.pop()
            })
            .await;
        let waiting = status(&api);
        assert_eq!(waiting["verdict"], "waiting_for_idle", "{waiting}");
        Self {
            api,
            representation,
            armed,
            schedule,
            waiting,
        }
    }

    async fn activity_replaces_the_schedule(&self, world: &World) -> Ahead {
        tokio::time::sleep(SPEAKS_AGAIN.saturating_sub(self.armed.elapsed())).await;
        let moved = ["I moved to Hamburg last week. I live in Hamburg now."];
        say(&self.api, "first", &moved);
        let name = world
            .until("the schedule is replaced", SOON, async || {
                let names = world.schedules(&self.representation).await;
                (names.len() == 1 && names[0] != self.schedule).then(|| names[0].clone())
            })
            .await;
        assert!(text(&status(&self.api)["timer_due_at"]) > text(&self.waiting["timer_due_at"]));
        Ahead {
            before: conclusions(&self.api),
            fire: world.schedule(&name).await,
        }
    }

    /// The schedule fires into the queue, and the dream runs in its function, in many short slices.
    async fn it_dreams(&self, world: &World) -> String {
        let mut verdicts = BTreeSet::new();
        let run = world
            .until("an idle dream", DREAMT, async || {
                verdicts.insert(text(&status(&self.api)["verdict"]));
                dreams(&self.api).into_iter().find(|run| run["ended_at"] != Value::Null)
            })
            .await;
        // Between its due time and the schedule's full minute it counts as queued.
        let told = [
            "waiting_for_idle",
            "waiting_for_ingest",
            "queued",
            "running",
            "below_threshold",
        ];
        assert!(
            verdicts.iter().all(|verdict| told.contains(&verdict.as_str())),
            "{verdicts:?}"
        );
        assert!(verdicts.contains("waiting_for_idle"), "{verdicts:?}");
        let after = status(&self.api);
        assert_eq!(after["verdict"], "below_threshold", "{after}");
        assert_ne!(after["cooldown_until"], Value::Null, "{after}");
        let ended = (&run["status"], &run["trigger"]);
        assert_eq!(ended, (&json!("completed"), &json!("idle")), "{run}");
        assert!(
            world.schedules(&self.representation).await.is_empty(),
            "a fired schedule goes"
        );
        let id = text(&run["id"]);
        let stored = world.table.run(&RunId::parse(&id).unwrap()).await.unwrap().unwrap();
        assert!(stored.fence >= 3, "only {} deliveries", stored.fence);
        id
    }

    fn its_history_is_read(&self, run: &str) {
        let detail: Value = self.api.get(&format!("/dreams/{run}")).unwrap();
        let removed = detail["removed"].as_array().unwrap();
        let outdated = |one: &Value| text(&one["content"]).contains("Berlin") && one["reason"] == "superseded";
        assert!(removed.iter().any(outdated), "{detail}");
        let created = detail["created"].as_array().unwrap();
        assert!(!created.is_empty(), "{detail}");
        assert!(created.iter().all(|one| one["sources"] != json!([])), "{detail}");
        assert!(detail["peer_card"]["after"].to_string().contains("Hamburg"), "{detail}");
    }

    async fn it_is_undone(&self, world: &World, run: &str, before: &BTreeMap<String, Value>) {
        assert_ne!(conclusions(&self.api), *before);
        let undo: Value = self.api.post(&format!("/dreams/{run}/undo"), &json!({})).unwrap();
        let undone = world.ended(&self.api, &text(&undo["id"])).await;
        let ended = (&undone["status"], &undone["undo_of"]);
        assert_eq!(ended, (&json!("completed"), &json!(run)), "{undone}");
        assert_eq!(conclusions(&self.api), *before);
    }
}

impl Ahead {
    /// The wake-up of the session, the fire of the schedule and the start of the run, each twice more under other
    /// deduplication ids: nothing in the table changes.
    async fn delivered_again_does_nothing(&self, world: &World, run: &str) {
        world.quiet().await;
        let table = world.everything().await;
        let workspace = world.table.workspace(&WorkspaceName::parse("story").unwrap()).await;
        let workspace = workspace.unwrap().unwrap().uid;
        let session = world
            .table
            .session(&workspace, &SessionName::parse("first").unwrap())
            .await;
        let session = session.unwrap().unwrap().uid;
        let wake = json!({"session": {"workspace": "story", "session": "first", "uid": session}}).to_string();
        let start = json!({"start": {"run": run}}).to_string();
        let target = self.fire.target().unwrap();
        let (look, group) = (
            target.input().unwrap(),
            target.sqs_parameters().unwrap().message_group_id().unwrap(),
        );
        for again in ["again", "and-again"] {
            world.send("IngestQueueUrl", session.as_str(), again, &wake).await;
            world
                .send("DreamsQueueUrl", group, &format!("look-{again}"), look)
                .await;
            world
                .send("DreamsQueueUrl", group, &format!("start-{again}"), &start)
                .await;
        }
        world.quiet().await;
        let mut after = world.everything().await;
        assert!(table.keys().all(|key| after.contains_key(key)), "something is gone");
        after.retain(|key, item| table.get(key) != Some(item));
        assert!(after.is_empty(), "changed: {after:#?}");
        for dead in ["IngestDeadLettersUrl", "DreamsDeadLettersUrl", "ScheduleDeadLettersUrl"] {
            assert_eq!(world.left(dead).await, 0, "{dead}");
        }
    }
}

/// Messages that nobody can read, one on each queue.
struct Poison {
    other: Api,
}

impl Poison {
    const BODY: &str = r#"{"poison":true}"#;
    const QUEUES: [(&str, &str); 2] = [
        ("IngestQueueUrl", "IngestDeadLettersUrl"),
        ("DreamsQueueUrl", "DreamsDeadLettersUrl"),
    ];

    async fn send(world: &World) -> Self {
        for (queue, _) in Self::QUEUES {
            world.send(queue, "poison", "poison", Self::BODY).await;
        }
        Self {
            other: world.stack.workspace("other"),
        }
    }

    /// They end in the dead letters, and what other groups send meanwhile is dealt with.
    async fn lies_with_the_dead_letters(self, world: &World) {
        say(&self.other, "s", &["I live in Lima."]);
        world
            .until("another group's message", SOON, async || {
                (conclusions(&self.other).len() == 1).then_some(())
            })
            .await;
        for (_, dead) in Self::QUEUES {
            let message = world
                .until("the poison is set aside", SOON, async || {
                    let receive = world.sqs.receive_message().queue_url(world.stack.output(dead));
                    receive.send().await.unwrap().messages?.pop()
                })
                .await;
            assert_eq!(message.body.as_deref(), Some(Self::BODY));
            let receipt = message.receipt_handle.unwrap();
            let delete = world.sqs.delete_message().queue_url(world.stack.output(dead));
            delete.receipt_handle(receipt).send().await.unwrap();
        }
    }
}

/// A session whose wake-up was received by somebody who died, so that its group stands still.
struct Stuck {
    api: Api,
    receipt: String,
}

impl Stuck {
    async fn new(world: &World) -> Self {
        let api = world.stack.workspace("stuck");
        world.stack.deliver_to_ingest(false);
        say(&api, "s", &["I live in Oslo."]);
        let message = world
            .until("the wake-up", SOON, async || {
                let receive = world
                    .sqs
                    .receive_message()
                    .queue_url(world.stack.output("IngestQueueUrl"));
                receive.visibility_timeout(STUCK).send().await.unwrap().messages?.pop()
            })
            .await;
        assert!(message.body.unwrap().contains("\"stuck\""));
        world.stack.deliver_to_ingest(true);
        say(&api, "s", &["I have a cat named Byte."]);
        Self {
            api,
            receipt: message.receipt_handle.unwrap(),
        }
    }

    /// The reconciler's tick sends again what was lost, past the group that stands still.
    async fn the_tick_repairs(self, world: &World) {
        assert!(conclusions(&self.api).is_empty());
        world
            .until("the tick repairs", SOON, async || {
                world.stack.tick();
                (conclusions(&self.api).len() == 2).then_some(())
            })
            .await;
        let delete = world
            .sqs
            .delete_message()
            .queue_url(world.stack.output("IngestQueueUrl"));
        delete.receipt_handle(self.receipt).send().await.unwrap();
    }
}
