//! Points in time: microseconds since the Unix epoch, UTC, and their wire form.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time, in microseconds since 1970-01-01T00:00:00Z.
///
/// Serialised as that number. [`fmt::Display`] gives the wire form of both dialects:
/// RFC 3339 in UTC with `Z`, six fraction digits or none (`contracts/honcho.md` section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(i64);

/// The text is not an RFC 3339 date and time with an offset.
#[derive(Debug, thiserror::Error)]
#[error("not a date and time with an offset: {text:?}")]
pub struct ParseTimeError {
    text: String,
}

/// 9999-12-30T22:00:00Z, the last second that every offset can show with a four-digit year; the bound of every sum.
const MAX_MICROS: i64 = 253_402_207_200_000_000;
/// The first instant with a four-digit year, 0001-01-01T00:00:00Z.
const MIN_MICROS: i64 = -62_135_596_800_000_000;

impl Time {
    /// From microseconds since the epoch, clamped to the years 1 to 9999 (the last day of the latter left out).
    pub const fn from_micros(micros: i64) -> Self {
        if micros > MAX_MICROS {
            Self(MAX_MICROS)
        } else if micros < MIN_MICROS {
            Self(MIN_MICROS)
        } else {
            Self(micros)
        }
    }

    /// From seconds since the epoch.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(1_000_000))
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down: what a `ttl` attribute wants.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses RFC 3339 as SDKs send it: an offset or `Z`, `T` or a space; a time without an offset counts as UTC,
    /// as it does in Honcho's server.
    pub fn parse(text: &str) -> Result<Self, ParseTimeError> {
        let error = || ParseTimeError {
            text: text.chars().take(64).collect(),
        };
        let instant = text.parse::<jiff::Timestamp>().or_else(|_| {
            text.parse::<jiff::civil::DateTime>()
                .and_then(|civil| jiff::tz::TimeZone::UTC.to_timestamp(civil))
        });
        instant
            .ok()
            .map(jiff::Timestamp::as_microsecond)
            .filter(|micros| Self::from_micros(*micros).0 == *micros)
            .map(Self)
            .ok_or_else(error)
    }

    /// `2026-11-30 21:08:48`: second precision, no zone, as the representation's markdown shows it.
    pub fn to_plain_seconds(self) -> String {
        self.civil().strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// `2026-11-30 21:08 Monday`: what somebody needs who reckons dates.
    pub fn to_minute(self) -> String {
        self.civil().strftime("%Y-%m-%d %H:%M %A").to_string()
    }

    /// `2026-11-30`.
    pub fn to_date(self) -> String {
        self.civil().strftime("%Y-%m-%d").to_string()
    }

    fn civil(self) -> jiff::civil::DateTime {
        let timestamp = jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        jiff::tz::TimeZone::UTC.to_datetime(timestamp)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.rem_euclid(1_000_000);
        let whole = self.civil().strftime("%Y-%m-%dT%H:%M:%S");
        if micros == 0 {
            write!(f, "{whole}Z")
        } else {
            write!(f, "{whole}.{micros:06}Z")
        }
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Saturates at the end of year 9999.
    fn add(self, by: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    /// Saturates at the start of year 1.
    fn sub(self, by: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }
}

/// A wait that doubles: `first`, `times` times twice as long, at most `most`.
pub fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_has_six_fraction_digits_or_none() {
        assert_eq!(
            Time::from_micros(1_796_072_928_182_043).to_string(),
            "2026-11-30T21:08:48.182043Z"
        );
        assert_eq!(
            Time::from_micros(1_796_072_928_180_000).to_string(),
            "2026-11-30T21:08:48.180000Z"
        );
        assert_eq!(Time::from_seconds(0).to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn parses_what_sdks_send_and_refuses_the_rest() {
        for text in [
            "2026-11-30T21:08:48Z",
            "2026-11-30T22:08:48+01:00",
            "2026-11-30 21:08:48",
            "2026-11-30T21:08:48",
        ] {
            assert_eq!(
                Time::parse(text).map(|t| t.to_string()).ok().as_deref(),
                Some("2026-11-30T21:08:48Z"),
                "{text}"
            );
        }
        for text in ["", "yesterday", "0000-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "12:00"] {
            assert!(Time::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(Time::from_seconds(5) + Duration::MAX, Time::from_micros(i64::MAX));
        assert_eq!(Time::from_micros(i64::MAX).to_string(), "9999-12-30T22:00:00Z");
        assert_eq!(Time::from_micros(i64::MIN).to_string(), "0001-01-01T00:00:00Z");
        assert_eq!(Time::from_seconds(5).since(Time::from_seconds(9)), Duration::ZERO);
    }
}
