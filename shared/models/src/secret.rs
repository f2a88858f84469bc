//! Keys: where they come from, and that nobody sees them.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::aws::SharedAws;
use crate::error::ModelError;

/// A key. Shown as `[redacted]`, whatever asks.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    /// Of a text, white space around it taken off.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text with every occurrence of the key taken out.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(&*self.0, "[redacted]")
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretSource {
    /// The variable holds the key itself.
    Value(Secret),
    /// The variable names a secret in AWS, which is read when it is first needed.
    Aws(AwsSecret),
}

/// A secret kept by AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AwsSecret {
    /// Its ARN.
    pub(crate) arn: String,
    /// Who keeps it.
    pub(crate) keeper: Keeper,
    /// The region in the ARN.
    pub(crate) region: String,
    /// The member to take, when the secret is a JSON object.
    pub(crate) member: Option<String>,
}

/// Who keeps a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// Secrets Manager.
    SecretsManager,
    /// A parameter of SSM.
    Parameter,
}

impl SecretSource {
    /// Reads the value of a variable: an ARN of Secrets Manager or of an SSM parameter, with `#member` at its end for a
    /// member of a JSON secret, or else the key itself. The error says what is wrong and quotes nothing.
    pub(crate) fn parse(value: &str) -> Result<Self, &'static str> {
        let value = value.trim();
        if !value.starts_with("arn:") {
            return if value.chars().all(|c| c.is_ascii_graphic()) {
                Ok(Self::Value(Secret::new(value)))
            } else {
                Err("a key without spaces or special characters")
            };
        }
        let (arn, member) = match value.split_once('#') {
            Some((arn, member)) => (arn, Some(member.to_owned())),
            None => (value, None),
        };
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let [_, _, service, region, _, resource] = parts[..] else {
            return Err("a key, or a whole ARN");
        };
        let keeper = match service {
            "secretsmanager" if resource.starts_with("secret:") => Keeper::SecretsManager,
            "ssm" if resource.starts_with("parameter/") => Keeper::Parameter,
            _ => return Err("a key, or the ARN of a Secrets Manager secret or of an SSM parameter"),
        };
        if region.is_empty() || member.as_deref() == Some("") {
            return Err("a key, or a whole ARN");
        }
        Ok(Self::Aws(AwsSecret {
            arn: arn.to_owned(),
            keeper,
            region: region.to_owned(),
            member,
        }))
    }

    /// Whether AWS has to be asked for it.
    pub(crate) const fn needs_aws(&self) -> bool {
        matches!(self, Self::Aws(_))
    }
}

/// A key, or the place where it is kept.
pub(crate) enum Key {
    /// The key itself.
    Value(Secret),
    /// Read when it is first needed, kept, and read again when a provider does not accept it any more.
    Aws {
        named: AwsSecret,
        aws: SharedAws,
        kept: Mutex<Option<Secret>>,
    },
}

impl Key {
    pub(crate) fn of_aws(named: AwsSecret, aws: SharedAws) -> Self {
        Self::Aws {
            named,
            aws,
            kept: Mutex::new(None),
        }
    }

    /// The key.
    pub(crate) async fn get(&self) -> Result<Secret, ModelError> {
        let (named, aws, kept) = match self {
            Self::Value(secret) => return Ok(secret.clone()),
            Self::Aws { named, aws, kept } => (named, aws, kept),
        };
        // Held while it is read, so that many calls at once ask once.
        let mut kept = kept.lock().await;
        if let Some(secret) = &*kept {
            return Ok(secret.clone());
        }
        let secret = aws.read_secret(named).await?;
        *kept = Some(secret.clone());
        Ok(secret)
    }

    /// A provider did not accept `refused`. Whether reading it anew gives another key.
    pub(crate) async fn renew(&self, refused: &Secret) -> bool {
        let Self::Aws { kept, .. } = self else { return false };
        {
            let mut kept = kept.lock().await;
            if kept.as_ref() == Some(refused) {
                *kept = None;
            }
        }
        self.get().await.is_ok_and(|secret| secret != *refused)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_variable_holds_the_key_or_names_it() {
        assert_eq!(
            SecretSource::parse(" sk-1 \n").unwrap(),
            SecretSource::Value(Secret::new("sk-1"))
        );
        let named = |text: &str| match SecretSource::parse(text).unwrap() {
            SecretSource::Aws(secret) => secret,
            SecretSource::Value(_) => panic!("{text} is no key"),
        };
        let secret = named("arn:aws:secretsmanager:eu-west-1:123456789012:secret:reverie/model-AbCdEf#anthropic");
        assert_eq!(secret.keeper, Keeper::SecretsManager);
        assert_eq!(secret.region, "eu-west-1");
        assert_eq!(secret.member.as_deref(), Some("anthropic"));
        assert!(secret.arn.ends_with("model-AbCdEf"));
        let parameter = named("arn:aws-cn:ssm:cn-north-1:123456789012:parameter/reverie/key");
        assert_eq!((parameter.keeper, parameter.member), (Keeper::Parameter, None));
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_without_being_quoted() {
        for text in [
            "arn:aws:s3:::bucket",
            "arn:aws:ssm",
            "arn:aws:secretsmanager::1:secret:x",
            "arn:aws:ssm:eu-west-1:1:parameter/x#",
            "two words",
            "schlüssel",
        ] {
            let error = SecretSource::parse(text).unwrap_err();
            assert!(!error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let secret = Secret::new("sk-very-secret");
        let shown = format!("{secret:?} {:?}", SecretSource::Value(secret.clone()));
        assert!(!shown.contains("very"), "{shown}");
        assert_eq!(secret.redact("key sk-very-secret is bad"), "key [redacted] is bad");
    }
}
