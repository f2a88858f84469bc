//! The time in which clients wait, and the chance by which they spread.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reverie_core::id::IdSource;
use reverie_core::ports::Clock;
use reverie_core::time::Time;

/// Tells the time, waits, and draws lots; tests do all three without waiting.
#[async_trait]
pub trait Pace: Send + Sync {
    /// Now.
    fn now(&self) -> Time;

    /// Waits.
    async fn sleep(&self, time: Duration);

    /// A number from 0 up to 1, evenly distributed.
    fn chance(&self) -> f64;
}

/// The system's.
#[allow(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct SystemPace {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl SystemPace {
    /// On the one clock and the one source of random numbers.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { clock, ids }
    }
}

#[async_trait]
impl Pace for SystemPace {
    fn now(&self) -> Time {
        self.clock.now()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn chance(&self) -> f64 {
        // The lowest 32 bits: exact in an f64.
        #[allow(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
        let bits = self.ids.random() as u32;
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }
}
