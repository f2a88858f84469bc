//! The clients of AWS's services, from a function's environment.
//!
//! Credentials and region come from the variables that Lambda sets; `AWS_ENDPOINT_URL` and its service-specific forms
//! (`AWS_ENDPOINT_URL_DYNAMODB`) lead to an emulator.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;

/// How long a connection may take to be made. The services are in the same region.
const CONNECT: Duration = Duration::from_secs(1);
/// How long one attempt at a call may take. A request of the API ends within 10 s, whatever a service does.
const ATTEMPT: Duration = Duration::from_secs(3);
/// How long a call may take with all of its attempts.
const CALL: Duration = Duration::from_secs(8);

/// The clients. Each connects when it is first used.
#[derive(Clone, Debug)]
pub struct Clients {
    config: SdkConfig,
}

impl Clients {
    /// Reads the environment once; calls nothing.
    pub async fn from_environment() -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .operation_attempt_timeout(ATTEMPT)
            .operation_timeout(CALL)
            .build();
        let config = aws_config::defaults(BehaviorVersion::latest())
            .retry_config(RetryConfig::standard())
            .timeout_config(timeouts)
            .load()
            .await;
        Self { config }
    }

    /// Whose requests they are.
    pub fn credentials(&self) -> Option<SharedCredentialsProvider> {
        self.config.credentials_provider()
    }

    /// The region of the deployment.
    pub fn region(&self) -> Option<String> {
        self.config.region().map(ToString::to_string)
    }

    /// DynamoDB's.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.config)
    }

    /// SQS's.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }

    /// EventBridge Scheduler's.
    pub fn scheduler(&self) -> aws_sdk_scheduler::Client {
        aws_sdk_scheduler::Client::new(&self.config)
    }
}
