//! AWS without its SDKs: signed requests with the caller's credentials, and the two calls that read a secret.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reverie_core::time::Time;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::endpoint::{Auth, Call, Endpoint, Misread, Service};
use crate::error::{ModelError, Origin, PermanentFault, TransientFault};
use crate::secret::{AwsSecret, Keeper, Secret};

/// Credentials that end within this time are not used any more.
const MARGIN: Duration = Duration::from_mins(2);

/// How AWS is reached.
#[derive(Clone, Debug)]
pub struct AwsAccess {
    /// Whose requests they are: the task role's, or what the AWS chain finds.
    pub credentials: SharedCredentialsProvider,
    /// The region of the deployment.
    pub region: Option<String>,
}

/// Credentials, kept until they end, and the addresses of services.
pub(crate) struct Aws {
    access: AwsAccess,
    addresses: Addresses,
    service: Service,
    kept: Mutex<Option<Credentials>>,
}

/// Addresses that replace those of AWS, from `AWS_ENDPOINT_URL` and its forms for one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`.
    pub(crate) bedrock: Option<String>,
    /// `AWS_ENDPOINT_URL_SECRETS_MANAGER`.
    pub(crate) secrets_manager: Option<String>,
    /// `AWS_ENDPOINT_URL_SSM`.
    pub(crate) ssm: Option<String>,
}

/// What a request is signed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) service: &'static str,
    pub(crate) region: String,
}

impl Aws {
    pub(crate) fn new(access: AwsAccess, addresses: Addresses, service: Service) -> Self {
        Self {
            access,
            addresses,
            service,
            kept: Mutex::new(None),
        }
    }

    /// Credentials that are good for a while.
    async fn credentials(&self) -> Result<Credentials, ModelError> {
        let mut kept = self.kept.lock().await;
        let now = self.service.pace.now();
        if let Some(credentials) = kept.as_ref().filter(|credentials| is_good(credentials, now)) {
            return Ok(credentials.clone());
        }
        let fresh = self.access.credentials.provide_credentials().await.map_err(|error| {
            // The chain names what it tried, never a key.
            let said = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(": ");
            ModelError::transient(TransientFault::Credentials, now, Origin::default().detail(said))
        })?;
        *kept = Some(fresh.clone());
        Ok(fresh)
    }

    /// Forgets the credentials that a service did not accept.
    pub(crate) async fn forget(&self) {
        *self.kept.lock().await = None;
    }

    /// The headers that sign a POST.
    pub(crate) async fn sign(
        &self,
        scope: &Scope,
        url: &str,
        headers: &[(&'static str, String)],
        body: &[u8],
    ) -> Result<Vec<(String, String)>, ModelError> {
        let credentials = self.credentials().await?;
        let time = SystemTime::UNIX_EPOCH
            + Duration::from_micros(u64::try_from(self.service.pace.now().micros()).unwrap_or(0));
        signature(credentials, scope, time, url, headers, body).map_err(misconfigured)
    }

    /// Reads a secret.
    ///
    /// A boxed future: reading a key is itself a call that could want a key.
    pub(crate) fn read_secret<'a>(
        self: &'a Arc<Self>,
        named: &'a AwsSecret,
    ) -> Pin<Box<dyn Future<Output = Result<Secret, ModelError>> + Send + 'a>> {
        Box::pin(self.ask_for_secret(named))
    }

    async fn ask_for_secret(self: &Arc<Self>, named: &AwsSecret) -> Result<Secret, ModelError> {
        let (service, target, body, address) = match named.keeper {
            Keeper::SecretsManager => (
                "secretsmanager",
                "secretsmanager.GetSecretValue",
                json!({ "SecretId": named.arn }),
                &self.addresses.secrets_manager,
            ),
            Keeper::Parameter => (
                "ssm",
                "AmazonSSM.GetParameter",
                json!({ "Name": named.arn, "WithDecryption": true }),
                &self.addresses.ssm,
            ),
        };
        let base = address.clone().unwrap_or_else(|| service_url(service, &named.region));
        let call = Call {
            path: "/".to_owned(),
            headers: vec![("x-amz-target", target.to_owned())],
            body,
            content_type: "application/x-amz-json-1.1",
        };
        let scope = Scope {
            service,
            region: named.region.clone(),
        };
        let auth = Auth::Signed {
            aws: Arc::clone(self),
            scope,
        };
        let endpoint = Endpoint::new(base, auth, self.service.clone());
        let text = endpoint
            .call("", &call, |answer| {
                let text = match named.keeper {
                    Keeper::SecretsManager => &answer["SecretString"],
                    Keeper::Parameter => &answer["Parameter"]["Value"],
                };
                text.as_str()
                    .map(str::to_owned)
                    .ok_or(Misread("the secret has no text"))
            })
            .await
            .map_err(|error| match error {
                // A secret that is not there, or not allowed, is answered with 400: no message is to blame for it.
                ModelError::Permanent { mut origin, .. } => {
                    origin.detail.get_or_insert_with(|| named.arn.clone());
                    ModelError::Permanent {
                        fault: PermanentFault::Configuration,
                        origin,
                    }
                }
                passing @ ModelError::Transient { .. } => passing,
            })?;
        member(&text, named.member.as_deref()).map_err(|detail| misconfigured(format!("{}: {detail}", named.arn)))
    }
}

fn misconfigured(detail: impl Into<String>) -> ModelError {
    ModelError::permanent(PermanentFault::Configuration, Origin::default().detail(detail))
}

/// The member of a JSON secret, or all of it.
fn member(text: &str, member: Option<&str>) -> Result<Secret, &'static str> {
    let Some(member) = member else {
        return Ok(Secret::new(text));
    };
    let value: Value = serde_json::from_str(text).map_err(|_| "the secret is not a JSON object")?;
    value[member]
        .as_str()
        .map(Secret::new)
        .ok_or("the secret has no such member")
}

fn is_good(credentials: &Credentials, now: Time) -> bool {
    credentials.expiry().is_none_or(|end| {
        let end = end.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let end = Time::from_micros(i64::try_from(end.as_micros()).unwrap_or(i64::MAX));
        now + MARGIN < end
    })
}

/// The address of a service.
pub(crate) fn service_url(service: &str, region: &str) -> String {
    let suffix = if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    };
    format!("https://{service}.{region}.{suffix}")
}

fn signature(
    credentials: Credentials,
    scope: &Scope,
    time: SystemTime,
    url: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> Result<Vec<(String, String)>, String> {
    let identity = credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(&scope.region)
        .name(scope.service)
        .time(time)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| error.to_string())?
        .into();
    let signed = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let request = SignableRequest::new("POST", url, signed, SignableBody::Bytes(body)).map_err(|e| e.to_string())?;
    let (instructions, _) = sign(request, &params).map_err(|error| error.to_string())?.into_parts();
    Ok(instructions
        .headers()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

impl std::fmt::Debug for Aws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aws")
    }
}

/// A shared pointer, for the many that sign.
pub(crate) type SharedAws = Arc<Aws>;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// The suite of Signature Version 4 that AWS published: `post-vanilla`, with the key of its documentation.
    #[test]
    fn a_request_is_signed_as_aws_says() {
        let credentials = Credentials::new(
            "AKIDEXAMPLE",
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            None,
            None,
            "test",
        );
        let scope = Scope {
            service: "service",
            region: "us-east-1".to_owned(),
        };
        let time = SystemTime::UNIX_EPOCH + Duration::from_mins(24_015_636);
        let headers = signature(credentials, &scope, time, "https://example.amazonaws.com/", &[], b"").unwrap();
        let authorization = headers.iter().find(|(name, _)| name == "authorization").unwrap();
        assert_eq!(
            authorization.1,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, \
             Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
    }

    #[test]
    fn a_member_of_a_json_secret_is_taken_out() {
        assert_eq!(member("sk-1\n", None), Ok(Secret::new("sk-1")));
        assert_eq!(member(r#"{"a":"sk-1"}"#, Some("a")), Ok(Secret::new("sk-1")));
        assert!(member(r#"{"a":"sk-1"}"#, Some("b")).is_err());
        assert!(member("sk-1", Some("a")).is_err());
    }
}
