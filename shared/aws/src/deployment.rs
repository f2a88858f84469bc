//! What a function is told about its deployment: the names of the table, the queues and the schedules' parts.

use crate::queues::QueueUrls;
use crate::schedules::ScheduleNames;

/// The table, by name.
pub const TABLE: &str = "REVERIE_TABLE";
/// The ingest queue, by URL.
pub const INGEST_QUEUE_URL: &str = "REVERIE_INGEST_QUEUE_URL";
/// The dream queue, by URL.
pub const DREAMS_QUEUE_URL: &str = "REVERIE_DREAMS_QUEUE_URL";
/// The dream queue, as schedules name it.
pub const DREAMS_QUEUE_ARN: &str = "REVERIE_DREAMS_QUEUE_ARN";
/// The group of the schedules.
pub const SCHEDULE_GROUP: &str = "REVERIE_SCHEDULE_GROUP";
/// The role with which schedules send.
pub const SCHEDULE_ROLE_ARN: &str = "REVERIE_SCHEDULE_ROLE_ARN";
/// The queue of what schedules could not send.
pub const SCHEDULE_DLQ_ARN: &str = "REVERIE_SCHEDULE_DLQ_ARN";

/// What every function needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The table's name.
    pub table: String,
    /// The queues.
    pub queues: QueueUrls,
}

/// A variable that the template sets is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not set: the function's environment must hold {meaning}")]
pub struct MissingName {
    name: &'static str,
    meaning: &'static str,
}

impl Deployment {
    /// Reads the variables through `lookup`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, MissingName> {
        Ok(Self {
            table: required(&lookup, TABLE, "the table's name")?,
            queues: QueueUrls {
                ingest: required(&lookup, INGEST_QUEUE_URL, "the ingest queue's URL")?,
                dreams: required(&lookup, DREAMS_QUEUE_URL, "the dream queue's URL")?,
            },
        })
    }
}

impl ScheduleNames {
    /// Reads the variables of the functions that make schedules through `lookup`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, MissingName> {
        Ok(Self {
            group: required(&lookup, SCHEDULE_GROUP, "the schedule group's name")?,
            role_arn: required(
                &lookup,
                SCHEDULE_ROLE_ARN,
                "the ARN of the role that sends what schedules send",
            )?,
            dreams_arn: required(&lookup, DREAMS_QUEUE_ARN, "the dream queue's ARN")?,
            dead_letters_arn: required(&lookup, SCHEDULE_DLQ_ARN, "the ARN of the schedules' dead-letter queue")?,
        })
    }
}

fn required(
    lookup: impl Fn(&str) -> Option<String>,
    name: &'static str,
    meaning: &'static str,
) -> Result<String, MissingName> {
    lookup(name)
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
        .ok_or(MissingName { name, meaning })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] = [
        TABLE,
        INGEST_QUEUE_URL,
        DREAMS_QUEUE_URL,
        DREAMS_QUEUE_ARN,
        SCHEDULE_GROUP,
        SCHEDULE_ROLE_ARN,
        SCHEDULE_DLQ_ARN,
    ];

    #[test]
    fn every_name_is_required_and_the_error_says_which() {
        for missing in ALL {
            for blank in [None, Some(" ".to_owned())] {
                let lookup = |name: &str| {
                    if name == missing {
                        blank.clone()
                    } else {
                        Some(name.to_lowercase())
                    }
                };
                let deployment = Deployment::read(lookup).map(|_| ());
                let error = deployment
                    .and(ScheduleNames::read(lookup).map(|_| ()))
                    .err()
                    .map(|error| error.to_string());
                assert!(
                    error.as_deref().is_some_and(|text| text.starts_with(missing)),
                    "{missing}: {error:?}"
                );
            }
        }
    }

    #[test]
    fn each_name_is_read_from_its_variable() {
        let lookup = |name: &str| Some(name.to_owned());
        let queues = QueueUrls {
            ingest: INGEST_QUEUE_URL.to_owned(),
            dreams: DREAMS_QUEUE_URL.to_owned(),
        };
        assert_eq!(
            Deployment::read(lookup),
            Ok(Deployment {
                table: TABLE.to_owned(),
                queues
            })
        );
        let names = ScheduleNames {
            group: SCHEDULE_GROUP.to_owned(),
            role_arn: SCHEDULE_ROLE_ARN.to_owned(),
            dreams_arn: DREAMS_QUEUE_ARN.to_owned(),
            dead_letters_arn: SCHEDULE_DLQ_ARN.to_owned(),
        };
        assert_eq!(ScheduleNames::read(lookup), Ok(names));
    }
}
