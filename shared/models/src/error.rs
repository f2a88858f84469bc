//! Why a model gave no answer. No error quotes what was sent or said, or a key.

use std::fmt;

use reverie_core::reasoner::{EmbedError, ReasonerError};
use reverie_core::time::Time;

/// Why a model gave no answer, after all retries.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    /// Asking again may help.
    #[error("{fault} ({origin})")]
    Transient {
        /// What went wrong.
        fault: TransientFault,
        /// Not before then: what the provider said, or the time of the failure when it said nothing.
        retry_at: Time,
        /// Where.
        origin: Box<Origin>,
    },
    /// Asking again does not help before something has been changed.
    #[error("{fault} ({origin})")]
    Permanent {
        /// What went wrong.
        fault: PermanentFault,
        /// Where.
        origin: Box<Origin>,
    },
}

/// What passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TransientFault {
    /// 429.
    #[error("the provider's rate limit is reached")]
    RateLimited,
    /// 529, 503.
    #[error("the provider is overloaded")]
    Overloaded,
    /// Other 5xx, 408, 409.
    #[error("the provider failed")]
    Unavailable,
    /// Connect, read or total timeout; 504.
    #[error("no answer came in time")]
    Timeout,
    /// No connection.
    #[error("no connection to the provider")]
    Connection,
    /// The answer ended before its end, or is not what was agreed though its status is.
    #[error("the answer is broken off")]
    Broken,
    /// Our own credentials are not to be had at the moment.
    #[error("the credentials cannot be read")]
    Credentials,
}

/// What stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PermanentFault {
    /// 400, 422: the request is not as this model wants it.
    #[error("the provider refuses the request")]
    InvalidRequest,
    /// 401, also with the secret read anew.
    #[error("the provider does not accept the key")]
    Authentication,
    /// 402, or a spend limit is reached.
    #[error("the provider wants to be paid, or a spend limit is reached")]
    Billing,
    /// 403.
    #[error("the key may not use this model")]
    Permission,
    /// 404.
    #[error("there is no such model or address")]
    NotFound,
    /// 413: the request has too many bytes.
    #[error("the request is too large")]
    TooLarge,
    /// The request has more tokens than the model's context.
    #[error("the request is longer than the model's context")]
    ContextOverflow,
    /// The answer is whole, but not of the agreed shape, or larger than any answer may be.
    #[error("the answer is not of the agreed shape")]
    BadAnswer,
    /// What we are configured with cannot work.
    #[error("the model is not configured as it must be")]
    Configuration,
}

impl PermanentFault {
    /// Whether another request to the same model may well work: the fault is the request's.
    pub const fn is_of_request(self) -> bool {
        matches!(self, Self::InvalidRequest | Self::TooLarge | Self::ContextOverflow)
    }
}

impl PermanentFault {
    /// Whether every request fails until somebody changes something: the key, a permission, the bill, a name.
    pub const fn is_of_setup(self) -> bool {
        matches!(
            self,
            Self::Authentication | Self::Billing | Self::Permission | Self::NotFound | Self::Configuration
        )
    }
}

impl ModelError {
    /// A fault that stays.
    pub fn permanent(fault: PermanentFault, origin: Origin) -> Self {
        Self::Permanent {
            fault,
            origin: Box::new(origin),
        }
    }

    /// A fault that passes, by `retry_at` at the earliest.
    pub fn transient(fault: TransientFault, retry_at: Time, origin: Origin) -> Self {
        Self::Transient {
            fault,
            retry_at,
            origin: Box::new(origin),
        }
    }

    /// Whether asking again may help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    /// Where it came from.
    pub const fn origin(&self) -> &Origin {
        match self {
            Self::Transient { origin, .. } | Self::Permanent { origin, .. } => origin,
        }
    }

    /// The earliest time to ask again; `None` when asking again does not help.
    pub const fn retry_at(&self) -> Option<Time> {
        match self {
            Self::Transient { retry_at, .. } => Some(*retry_at),
            Self::Permanent { .. } => None,
        }
    }
}

impl From<ModelError> for ReasonerError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Transient { retry_at, .. } => Self::Transient {
                reason: error.to_string(),
                retry_at: Some(retry_at),
            },
            ModelError::Permanent { fault, .. } if fault.is_of_setup() => Self::Setup {
                reason: error.to_string(),
            },
            ModelError::Permanent { .. } => Self::permanent(error.to_string()),
        }
    }
}

impl From<ModelError> for EmbedError {
    fn from(error: ModelError) -> Self {
        let busy = matches!(
            error,
            ModelError::Transient {
                fault: TransientFault::RateLimited | TransientFault::Overloaded,
                ..
            }
        );
        Self {
            reason: error.to_string(),
            busy,
        }
    }
}

/// Where an error came from: what operators need to find it at the provider's, and nothing that was said.
#[derive(Clone, Default)]
pub struct Origin {
    /// The model's id as configured; empty when no model is at fault.
    pub model: String,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The provider's words for the kind of error: types, codes, the name of the parameter.
    pub code: Option<String>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// What of ours went wrong, where no provider answered.
    pub detail: Option<String>,
    pub(crate) said: Option<String>,
}

impl Origin {
    /// Of a model.
    pub fn model(id: &str) -> Self {
        Self {
            model: id.to_owned(),
            ..Self::default()
        }
    }

    /// With what went wrong on our side; nothing that was said, no key.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The provider's own sentence, without the key. **It may quote what was sent**: show it only where that is the
    /// user's own and nobody else's, never log or store it.
    pub fn providers_words(&self) -> Option<&str> {
        self.said.as_deref()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (!self.model.is_empty()).then(|| self.model.clone()),
            self.status.map(|status| format!("status {status}")),
            self.code.clone(),
            self.request_id.as_ref().map(|id| format!("request {id}")),
            self.detail.clone(),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}
