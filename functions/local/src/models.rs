//! What the clients of models stand on in this program.

use reverie_models::AwsAccess;

/// The credentials and the region that the AWS chain finds: variables, profiles, a container's or a machine's role.
/// None when it finds no credentials' source at all.
pub async fn aws_access() -> Option<AwsAccess> {
    let found = aws_config::defaults(aws_config::BehaviorVersion::latest()).load().await;
    Some(AwsAccess {
        credentials: found.credentials_provider()?,
        region: found.region().map(ToString::to_string),
    })
}
