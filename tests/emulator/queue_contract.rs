//! SQS and EventBridge Scheduler, through our adapters and in real time, under the contract of queues and schedules.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use reverie_aws::queues::{QueueUrls, SqsQueues};
use reverie_aws::schedules::{EventBridgeSchedules, ScheduleNames};
use reverie_aws::system::SystemClock;
use reverie_core::ports::{Clock, Queues, Schedules};
use reverie_core::time::Time;
use reverie_tests::contract::queue::{self, Driver, Received, Stale};
use serde_json::json;

use crate::cases;
use crate::emulator::Emulator;

/// Cases that fail on the emulator because it does otherwise than AWS, with how.
const OTHERWISE: cases::Otherwise = &[
    (
        "a_receipt_that_ran_out_is_refused",
        "the emulator takes a receipt until another one is given out; FIFO queues of SQS refuse it once it has expired",
    ),
    ("a_fire_is_deduplicated_by_its_body_also_after_delete", FIRES),
    ("a_fire_and_a_letter_with_its_digest_are_one_message", FIRES),
];
const FIRES: &str = "the emulator puts what a schedule sends into the queue past its deduplication; the service sends it \
                     like anybody else, and the queue has content-based deduplication";

/// Seconds of a case are stretched so much, so that a slow machine is not mistaken for a slow queue.
const STRETCH: u32 = 4;
/// What is stretched: less than this.
const SHORT: Duration = Duration::from_secs(10);
/// How long after its time a schedule has certainly fired: the emulator looks every 10 s.
const SWEEP: Duration = Duration::from_secs(15);
const MINUTE: i64 = 60;

fn stretched(time: Duration) -> Duration {
    if time < SHORT { time * STRETCH } else { time }
}

/// A queue and a group of schedules of one case.
struct AwsDriver {
    config: SdkConfig,
    sqs: aws_sdk_sqs::Client,
    scheduler: aws_sdk_scheduler::Client,
    url: String,
    dead_url: String,
    names: ScheduleNames,
}

impl AwsDriver {
    /// Makes what the template makes (`infra/template.yaml`), under the name of the case.
    async fn new(config: SdkConfig, case: usize) -> Self {
        let sqs = aws_sdk_sqs::Client::new(&config);
        let scheduler = aws_sdk_scheduler::Client::new(&config);
        let (dead_url, dead_arn) = queue(&sqs, &format!("case-{case}-dead.fifo"), &[]).await;
        let redrive = json!({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 5}).to_string();
        let attributes = [
            (QueueAttributeName::ContentBasedDeduplication, "true"),
            (QueueAttributeName::DeduplicationScope, "messageGroup"),
            (QueueAttributeName::FifoThroughputLimit, "perMessageGroupId"),
            (QueueAttributeName::VisibilityTimeout, "660"),
            (QueueAttributeName::RedrivePolicy, redrive.as_str()),
        ];
        let (url, dreams_arn) = queue(&sqs, &format!("case-{case}.fifo"), &attributes).await;
        let group = format!("case-{case}");
        scheduler.create_schedule_group().name(&group).send().await.unwrap();
        Self {
            sqs,
            scheduler,
            url,
            dead_url,
            names: ScheduleNames {
                group,
                role_arn: "arn:aws:iam::000000000000:role/schedules".to_owned(),
                dreams_arn,
                dead_letters_arn: dead_arn,
            },
            config,
        }
    }

    /// Whether all schedules have fired or are deleted.
    async fn no_schedules(&self) -> bool {
        let group = self.scheduler.list_schedules().group_name(&self.names.group);
        group.send().await.unwrap().schedules().is_empty()
    }
}

/// Creates a FIFO queue; its URL and ARN.
async fn queue(sqs: &aws_sdk_sqs::Client, name: &str, attributes: &[(QueueAttributeName, &str)]) -> (String, String) {
    let mut create = sqs
        .create_queue()
        .queue_name(name)
        .attributes(QueueAttributeName::FifoQueue, "true");
    for (attribute, value) in attributes {
        create = create.attributes(attribute.clone(), *value);
    }
    let url = create.send().await.unwrap().queue_url.unwrap();
    let arn = QueueAttributeName::QueueArn;
    let described = sqs.get_queue_attributes().queue_url(&url).attribute_names(arn.clone());
    let arn = described.send().await.unwrap().attributes.unwrap()[&arn].clone();
    (url, arn)
}

#[async_trait]
impl Driver for AwsDriver {
    fn queues(&self) -> Arc<dyn Queues> {
        let urls = QueueUrls {
            ingest: "https://nobody.sends.here.invalid".to_owned(),
            dreams: self.url.clone(),
        };
        Arc::new(SqsQueues::new(self.sqs.clone(), urls))
    }

    fn schedules(&self) -> Arc<dyn Schedules> {
        Arc::new(EventBridgeSchedules::new(
            self.scheduler.clone(),
            Arc::new(SystemClock),
            self.names.clone(),
        ))
    }

    fn now(&self) -> Time {
        SystemClock.now()
    }

    async fn receive(&self, visibility: Duration) -> Option<Received> {
        let received = self
            .sqs
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(1)
            .visibility_timeout(i32::try_from(stretched(visibility).as_secs()).unwrap())
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .unwrap();
        let message = received.messages?.pop()?;
        let attributes = message.attributes.unwrap();
        Some(Received {
            receipt: message.receipt_handle.unwrap(),
            group: attributes[&MessageSystemAttributeName::MessageGroupId].clone(),
            body: message.body.unwrap(),
            receive_count: attributes[&MessageSystemAttributeName::ApproximateReceiveCount]
                .parse()
                .unwrap(),
        })
    }

    async fn delete(&self, receipt: &str) -> Result<(), Stale> {
        let delete = self.sqs.delete_message().queue_url(&self.url).receipt_handle(receipt);
        delete.send().await.map(|_| ()).map_err(|error| {
            assert!(error.as_service_error().is_some(), "{error:?}");
            Stale
        })
    }

    async fn change_visibility(&self, receipt: &str, visibility: Duration) -> Result<(), Stale> {
        let change = self
            .sqs
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(receipt)
            .visibility_timeout(i32::try_from(stretched(visibility).as_secs()).unwrap());
        change.send().await.map(|_| ()).map_err(|error| {
            assert!(error.as_service_error().is_some(), "{error:?}");
            Stale
        })
    }

    async fn dead(&self) -> Vec<String> {
        let receive = self
            .sqs
            .receive_message()
            .queue_url(&self.dead_url)
            .max_number_of_messages(10)
            .visibility_timeout(0);
        let messages = receive.send().await.unwrap().messages.unwrap_or_default();
        messages.into_iter().map(|message| message.body.unwrap()).collect()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(stretched(time)).await;
    }

    /// Schedules are made for the full minute after their time, and fire a little later.
    async fn pass_fire(&self, at: Time) {
        let full = Time::from_seconds((at.seconds() / MINUTE + 1) * MINUTE);
        tokio::time::sleep(full.since(self.now()) + SWEEP).await;
        // One that was made just after the minute had turned is a minute later.
        let mut left = MINUTE;
        while left > 0 && !self.no_schedules().await {
            tokio::time::sleep(Duration::from_secs(1)).await;
            left -= 1;
        }
    }

    /// Nothing of ours keeps anything: what was accepted is the services'. New clients, new connections.
    async fn kill_and_restart(&self) {
        let restarted = aws_sdk_sqs::Client::new(&self.config);
        let arn = QueueAttributeName::QueueArn;
        let described = restarted
            .get_queue_attributes()
            .queue_url(&self.url)
            .attribute_names(arn);
        described.send().await.unwrap();
    }
}

/// Every case, on a queue of its own.
fn every_case(config: &SdkConfig) -> Vec<cases::Case> {
    let mut numbers = 0..;
    macro_rules! all {
        ($($case:ident),+ $(,)?) => {
            vec![$((stringify!($case), {
                let (config, number) = (config.clone(), numbers.next().unwrap());
                Box::pin(async move { queue::cases::$case(&AwsDriver::new(config, number).await).await }) as _
            })),+]
        };
    }
    reverie_tests::queue_cases!(all)
}

/// All at once, since they mostly wait: for five minutes of deduplication, and for schedules, which are a minute ahead
/// at least.
#[tokio::test(flavor = "multi_thread")]
async fn k3_k4_every_case_holds_on_sqs_and_scheduler() {
    let emulator = Emulator::start();
    let config = emulator.config().await;
    cases::hold(every_case(&config), OTHERWISE, &emulator).await;
}
