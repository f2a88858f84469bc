//! The system's clock and random numbers: the only place of the program that takes either.

use reverie_core::id::IdSource;
use reverie_core::ports::Clock;
use reverie_core::time::Time;

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        Time::from_micros(jiff::Timestamp::now().as_microsecond())
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
