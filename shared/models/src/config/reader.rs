//! Reads variables one by one.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;

use super::ModelConfigError;
use crate::secret::SecretSource;

pub(super) struct Reader<F> {
    lookup: F,
}

impl<F: Fn(&str) -> Option<String>> Reader<F> {
    pub(super) fn new(lookup: F) -> Self {
        Self { lookup }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.lookup)(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }

    pub(super) fn secret(&self, name: &'static str) -> Result<Option<SecretSource>, ModelConfigError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        SecretSource::parse(&value)
            .map(Some)
            .map_err(|expected| ModelConfigError::BadSecret { name, expected })
    }

    /// An address, without a slash at its end.
    pub(super) fn url(&self, name: &'static str) -> Result<Option<String>, ModelConfigError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        let is_good = Url::parse(&value).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.host_str().is_some_and(|host| !host.is_empty())
                && url.query().is_none()
                && url.fragment().is_none()
                // Keys have variables of their own; in an address they would be shown.
                && url.username().is_empty()
                && url.password().is_none()
        });
        if is_good {
            Ok(Some(value.trim_end_matches('/').to_owned()))
        } else {
            Err(ModelConfigError::BadSecret {
                name,
                expected: "an http or https address without user, password, query or fragment",
            })
        }
    }

    pub(super) fn whole(
        &self,
        name: &'static str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, ModelConfigError> {
        self.within(name, &range, "a whole number in its range")
    }

    pub(super) fn number(
        &self,
        name: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, ModelConfigError> {
        self.within(name, &range, "a number in its range")
    }

    fn within<T: FromStr + PartialOrd>(
        &self,
        name: &'static str,
        range: &RangeInclusive<T>,
        expected: &'static str,
    ) -> Result<Option<T>, ModelConfigError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(ModelConfigError::Bad { name, value, expected }),
        }
    }

    /// A time between a tenth of a second and an hour.
    pub(super) fn seconds(&self, name: &'static str, default: Duration) -> Result<Duration, ModelConfigError> {
        let number = self.number(name, 0.1..=3600.0)?;
        Ok(number.map_or(default, Duration::from_secs_f64))
    }
}
