//! One contract for queues and schedules, whoever keeps them: the cases are written against [`Driver`], and every
//! adapter runs the very same ones.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::ports::{Letter, Queues, Schedule, Schedules};
use reverie_core::time::Time;

pub mod cases;

/// What a case needs of an adapter beyond the two ports: the consuming side, which in AWS belongs to Lambda, and time.
///
/// Every driver starts with an empty dream queue whose messages die after five receives, and which tells equal ids of
/// different groups apart.
#[async_trait]
pub trait Driver: Send + Sync {
    /// The sending side of the adapter.
    fn queues(&self) -> Arc<dyn Queues>;

    /// The scheduling side of the adapter.
    fn schedules(&self) -> Arc<dyn Schedules>;

    /// Now, by the adapter's clock.
    fn now(&self) -> Time;

    /// Receives one message of the dream queue; whole seconds of visibility.
    async fn receive(&self, visibility: Duration) -> Option<Received>;

    /// Deletes a received message.
    async fn delete(&self, receipt: &str) -> Result<(), Stale>;

    /// Sets when a received message is visible again; whole seconds.
    async fn change_visibility(&self, receipt: &str, visibility: Duration) -> Result<(), Stale>;

    /// The bodies of the dead letters.
    async fn dead(&self) -> Vec<String>;

    /// Lets time pass. Schedules fire within it, if their time comes.
    async fn pass(&self, time: Duration);

    /// Lets time pass until a schedule of that time must have fired.
    async fn pass_fire(&self, at: Time);

    /// Ends the adapter without a goodbye, as `kill -9` would, and starts it again on what it had stored.
    async fn kill_and_restart(&self);
}

/// A message as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Names this delivery.
    pub receipt: String,
    /// Its group.
    pub group: String,
    /// Its body.
    pub body: String,
    /// How often it was received, this time included.
    pub receive_count: u32,
}

/// The receipt was refused.
#[derive(Debug)]
pub struct Stale;

/// Short for the cases.
impl dyn Driver + '_ {
    /// Sends a letter that must be taken.
    pub async fn send(&self, group: &str, deduplication: &str, body: &str) {
        self.queues()
            .send(QUEUE, letter(group, deduplication, body))
            .await
            .unwrap();
    }

    /// Creates a schedule that must be taken.
    pub async fn schedule(&self, name: &str, at: Time, body: &str) {
        self.schedules().create(schedule(name, at, body)).await.unwrap();
    }

    /// Receives a message and its body.
    pub async fn take(&self) -> Option<String> {
        self.receive(MINUTE).await.map(|received| received.body)
    }

    /// Receives and deletes until nothing is left; the bodies.
    pub async fn drain(&self) -> Vec<String> {
        let mut bodies = Vec::new();
        while let Some(received) = self.receive(MINUTE).await {
            self.delete(&received.receipt).await.unwrap();
            bodies.push(received.body);
        }
        bodies
    }
}

/// The queue that the cases use.
pub const QUEUE: reverie_core::ports::QueueName = reverie_core::ports::QueueName::Dreams;
/// The visibility that most cases take.
pub const MINUTE: Duration = Duration::from_mins(1);

/// A letter.
pub fn letter(group: &str, deduplication: &str, body: &str) -> Letter {
    Letter {
        group: group.to_owned(),
        deduplication: deduplication.to_owned(),
        body: body.to_owned(),
    }
}

/// A schedule for the dream queue.
pub fn schedule(name: &str, at: Time, body: &str) -> Schedule {
    Schedule {
        name: name.to_owned(),
        at,
        queue: QUEUE,
        group: "scheduled".to_owned(),
        body: body.to_owned(),
    }
}

/// Hands the names of all cases to a macro, once for all adapters.
#[macro_export]
macro_rules! queue_cases {
    ($then:ident) => {
        $then! {
            an_empty_queue_gives_nothing,
            a_group_is_received_in_order_and_one_at_a_time,
            groups_do_not_wait_for_each_other,
            a_deduplication_id_is_taken_for_five_minutes_and_then_free,
            a_deduplication_id_stays_taken_after_the_message_was_deleted,
            a_refused_duplicate_does_not_prolong_the_five_minutes,
            the_first_of_two_bodies_with_one_id_is_the_one_received,
            another_state_of_the_same_entity_is_another_message,
            one_id_in_two_groups_is_two_messages,
            a_message_comes_back_when_its_visibility_runs_out_during_work,
            a_stale_receipt_neither_deletes_nor_prolongs,
            a_receipt_that_ran_out_is_refused,
            a_heartbeat_keeps_a_message_and_its_group_locked,
            a_back_off_hides_a_message_and_holds_its_group,
            a_message_received_five_times_in_vain_goes_to_the_dead_letters,
            a_dead_letter_no_longer_holds_its_group,
            a_schedule_fires_once_at_its_time_and_not_before,
            a_schedule_created_twice_fires_once_and_keeps_its_first_time,
            a_deleted_schedule_does_not_fire,
            deleting_a_schedule_that_is_gone_is_success,
            replacing_a_schedule_fires_the_new_one_only,
            a_schedule_of_the_past_still_fires,
            a_fire_is_deduplicated_by_its_body_also_after_delete,
            a_fire_and_a_letter_with_its_digest_are_one_message,
            a_fired_name_can_be_used_again,
            everything_accepted_survives_a_kill,
            what_the_wire_would_refuse_is_refused,
        }
    };
}
