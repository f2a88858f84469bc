//! One-off schedules on EventBridge Scheduler, which send to a FIFO queue (`design.md` section 4, "On AWS").

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::error::{BuildError, SdkError};
use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::operation::delete_schedule::DeleteScheduleError;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode, SqsParameters, Target,
};
use reverie_core::ports::{Clock, PortError, QueueName, Schedule, Schedules};
use reverie_core::time::Time;

use crate::queues::failed;

/// Schedules are made at least this long ahead, so that none is in the past by the time it is stored.
const AHEAD: Duration = Duration::from_mins(1);
/// The service's own precision.
const MINUTE: i64 = 60;

/// The names that schedules are made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleNames {
    /// The schedules' group.
    pub group: String,
    /// The role that sends to the queue.
    pub role_arn: String,
    /// The dream queue.
    pub dreams_arn: String,
    /// The standard queue for what could not be sent: the service takes no FIFO queue for it.
    pub dead_letters_arn: String,
}

/// Creates and deletes one-off schedules. They delete themselves once they have fired.
#[derive(Clone)]
pub struct EventBridgeSchedules {
    client: Client,
    clock: Arc<dyn Clock>,
    names: ScheduleNames,
}

impl fmt::Debug for EventBridgeSchedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBridgeSchedules")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// A schedule was asked for that this deployment does not make.
#[derive(Debug, thiserror::Error)]
enum Unsupported {
    #[error("only the dream queue takes schedules")]
    Queue,
    #[error("this function does not call the scheduler")]
    Function,
}

impl EventBridgeSchedules {
    /// The schedules behind a client.
    pub fn new(client: Client, clock: Arc<dyn Clock>, names: ScheduleNames) -> Self {
        Self { client, clock, names }
    }

    fn target(&self, schedule: &Schedule) -> Result<Target, BuildError> {
        Target::builder()
            .arn(&self.names.dreams_arn)
            .role_arn(&self.names.role_arn)
            .input(&schedule.body)
            .sqs_parameters(SqsParameters::builder().message_group_id(&schedule.group).build())
            .dead_letter_config(DeadLetterConfig::builder().arn(&self.names.dead_letters_arn).build())
            .build()
    }
}

#[async_trait]
impl Schedules for EventBridgeSchedules {
    async fn create(&self, schedule: Schedule) -> Result<(), PortError> {
        const WHAT: &str = "creating a schedule";
        schedule.check().map_err(failed(WHAT))?;
        if schedule.queue != QueueName::Dreams {
            return Err(failed(WHAT)(Unsupported::Queue));
        }
        let window = FlexibleTimeWindow::builder()
            .mode(FlexibleTimeWindowMode::Off)
            .build()
            .map_err(failed(WHAT))?;
        let created = self
            .client
            .create_schedule()
            .name(&schedule.name)
            .group_name(&self.names.group)
            .schedule_expression(expression(schedule.at, self.clock.now()))
            .schedule_expression_timezone("UTC")
            .flexible_time_window(window)
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(self.target(&schedule).map_err(failed(WHAT))?)
            .send()
            .await;
        match created {
            Ok(_) => Ok(()),
            // A name stands for one generation of one representation: what is there is what was to be made.
            Err(SdkError::ServiceError(error)) if matches!(error.err(), CreateScheduleError::ConflictException(_)) => {
                Ok(())
            }
            Err(error) => Err(failed(WHAT)(error)),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), PortError> {
        let deleted = self
            .client
            .delete_schedule()
            .name(name)
            .group_name(&self.names.group)
            .send()
            .await;
        match deleted {
            Ok(_) => Ok(()),
            // It has fired, or somebody else has replaced it.
            Err(SdkError::ServiceError(error))
                if matches!(error.err(), DeleteScheduleError::ResourceNotFoundException(_)) =>
            {
                Ok(())
            }
            Err(error) => Err(failed("deleting a schedule")(error)),
        }
    }
}

/// When a schedule fires: never in the past, and on the full minute, rounded up so that it is due by then.
fn expression(at: Time, now: Time) -> String {
    let earliest = at.max(now + AHEAD);
    let minutes = (earliest + Duration::from_micros(999_999))
        .seconds()
        .saturating_add(MINUTE - 1)
        .div_euclid(MINUTE);
    let on_the_minute = Time::from_seconds(minutes.saturating_mul(MINUTE)).to_string();
    format!("at({})", on_the_minute.trim_end_matches('Z'))
}

/// For functions that do not call the scheduler: they wake ingest, which does.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSchedules;

#[async_trait]
impl Schedules for NoSchedules {
    async fn create(&self, _: Schedule) -> Result<(), PortError> {
        Err(failed("creating a schedule")(Unsupported::Function))
    }

    async fn delete(&self, _: &str) -> Result<(), PortError> {
        Err(failed("deleting a schedule")(Unsupported::Function))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn fires(at: &str, now: &str) -> String {
        expression(Time::parse(at).unwrap(), Time::parse(now).unwrap())
    }

    #[test]
    fn schedules_fire_on_the_full_minute_and_not_before_they_are_due() {
        let now = "2026-11-30T21:00:00Z";
        assert_eq!(fires("2026-11-30T22:00:00Z", now), "at(2026-11-30T22:00:00)");
        assert_eq!(fires("2026-11-30T22:00:00.000001Z", now), "at(2026-11-30T22:01:00)");
        assert_eq!(fires("2026-11-30T22:00:59.9Z", now), "at(2026-11-30T22:01:00)");
        assert_eq!(fires("2026-12-31T23:59:01Z", now), "at(2027-01-01T00:00:00)");
    }

    #[test]
    fn schedules_are_at_least_a_minute_ahead() {
        let now = "2026-11-30T21:00:30Z";
        for at in ["2020-01-01T00:00:00Z", "2026-11-30T21:00:30Z", "2026-11-30T21:01:20Z"] {
            assert_eq!(fires(at, now), "at(2026-11-30T21:02:00)", "{at}");
        }
        assert_eq!(
            fires("2020-01-01T00:00:00Z", "2026-11-30T21:00:00Z"),
            "at(2026-11-30T21:01:00)"
        );
    }
}
