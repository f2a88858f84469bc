//! The system's clock and random numbers: the only place that takes either.

use std::time::{SystemTime, UNIX_EPOCH};

use reverie_core::id::IdSource;
use reverie_core::ports::Clock;
use reverie_core::time::Time;

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        // A clock that stands before 1970 is broken; the epoch is as good as anything then.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Ids from the kernel's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        // Without random numbers ids could repeat, and a repeated uid would mix two users' data.
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::error!(%error, "the system gives no random numbers");
            std::process::abort();
        }
        u128::from_ne_bytes(bytes)
    }
}
