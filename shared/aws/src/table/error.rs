//! Outcomes of table calls as types of ours: a failed condition, a conflict, a throttle, and the rest.

use std::error::Error;

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Conditions of a write did not hold; the places of those that failed, in the order of the writes.
    #[error("condition failed at {0:?}")]
    Condition(Vec<usize>),
    /// Others wrote the same items all the time that we tried.
    #[error("the items are being written by others")]
    Conflict,
    /// The table's capacity was exceeded all the time that we tried.
    #[error("the table is throttled")]
    Throttled,
    /// The call failed otherwise.
    #[error("cannot {what}")]
    Call {
        /// What was tried.
        what: &'static str,
        /// Its cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// An item is not what its key says. Never expected; the item is left as it is.
    #[error("the item {key} cannot be read")]
    Malformed {
        /// Its key.
        key: String,
        /// Its cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The entity does not fit into the table's limits.
    #[error("{0} is too large to store")]
    TooLarge(&'static str),
}

impl TableError {
    /// Whether a condition failed.
    pub fn is_condition(&self) -> bool {
        matches!(self, Self::Condition(_))
    }
}

impl From<BuildError> for TableError {
    fn from(source: BuildError) -> Self {
        Self::Call {
            what: "build the request",
            source: Box::new(source),
        }
    }
}

/// What a code of DynamoDB means for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Condition,
    Conflict,
    Throttle,
    Other,
}

impl Kind {
    pub(crate) fn of_code(code: &str) -> Self {
        match code {
            "ConditionalCheckFailed" | "ConditionalCheckFailedException" => Self::Condition,
            "TransactionConflict" | "TransactionConflictException" | "TransactionInProgressException" => Self::Conflict,
            "ThrottlingError"
            | "ThrottlingException"
            | "ProvisionedThroughputExceeded"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded" => Self::Throttle,
            _ => Self::Other,
        }
    }
}

/// The kind of a failed call.
pub(crate) fn kind<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> Kind {
    match error {
        SdkError::ServiceError(service) => service.err().code().map_or(Kind::Other, Kind::of_code),
        _ => Kind::Other,
    }
}

/// A failed call as an error of ours.
pub(crate) fn failure<E, R>(what: &'static str, error: SdkError<E, R>) -> TableError
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match kind(&error) {
        Kind::Condition => TableError::Condition(vec![0]),
        Kind::Conflict => TableError::Conflict,
        Kind::Throttle => TableError::Throttled,
        Kind::Other => TableError::Call {
            what,
            source: Box::new(error),
        },
    }
}
