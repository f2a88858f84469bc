//! When sessions are summarised (checklist C7).

use super::{Decided, DecidedBy, Defaults, Levels};

/// The fewest messages between two short summaries.
pub const LEAST_SHORT: u64 = 10;
/// The fewest messages between two long summaries.
pub const LEAST_LONG: u64 = 20;
/// The most messages between two short summaries: more are not given to a reasoner at once.
const MOST_SHORT: u64 = 500;
/// The same for long ones.
const MOST_LONG: u64 = 1000;
/// How much rarer the long summary is than the short one where only one of the two can have its way: as by default.
const RATIO: u64 = 3;

/// Whether and how often a session is summarised, resolved: the long summary is always rarer than the short one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summaries {
    /// Whether at all.
    pub enabled: Decided<bool>,
    /// Messages between two short summaries.
    pub short: Decided<u64>,
    /// Messages between two long summaries.
    pub long: Decided<u64>,
}

/// The long summary would not be rarer than the short one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "messages_per_short_summary ({}, set by the {} configuration) must be less than messages_per_long_summary ({}, set by the {} configuration)",
    short.value, short.by.as_str(), long.value, long.by.as_str()
)]
pub struct Uneven {
    short: Decided<u64>,
    long: Decided<u64>,
}

impl Levels<'_> {
    fn distance(&self, key: &str, least: u64, global: u64) -> Decided<u64> {
        let found = self
            .nearest(|level| level.get("summary")?.get(key)?.as_u64())
            .unwrap_or(Decided::global(global));
        Decided {
            value: found.value.max(least),
            by: found.by,
        }
    }

    /// The two distances as the levels have them, each on its own.
    fn distances(&self, defaults: Defaults) -> Uneven {
        Uneven {
            short: self.distance("messages_per_short_summary", LEAST_SHORT, defaults.short_summary),
            long: self.distance("messages_per_long_summary", LEAST_LONG, defaults.long_summary),
        }
    }

    /// Refuses levels of which the long summary would not be rarer than the short one.
    pub fn check_summaries(&self, defaults: Defaults) -> Result<(), Uneven> {
        let asked = self.distances(defaults);
        if asked.short.value < asked.long.value {
            Ok(())
        } else {
            Err(asked)
        }
    }

    /// Whether and how often a session is summarised.
    ///
    /// Levels that fitted when they were stored may not fit any more when another one has changed since. Then the nearer
    /// level has its way, and the other distance follows from it, three to one as by default.
    pub fn summaries(&self, defaults: Defaults) -> Summaries {
        let Uneven { mut short, mut long } = self.distances(defaults);
        if short.value >= long.value {
            if nearness(long.by) > nearness(short.by) {
                short = Decided {
                    value: (long.value / RATIO).max(LEAST_SHORT),
                    by: long.by,
                };
            } else {
                long = Decided {
                    value: short.value.saturating_mul(RATIO),
                    by: short.by,
                };
            }
        }
        short.value = short.value.min(MOST_SHORT);
        long.value = long.value.min(MOST_LONG);
        Summaries {
            enabled: self.switch("summary", "enabled", defaults.summary),
            short,
            long,
        }
    }
}

fn nearness(by: DecidedBy) -> u8 {
    match by {
        DecidedBy::Global => 0,
        DecidedBy::Workspace => 1,
        DecidedBy::Peer | DecidedBy::Session | DecidedBy::Message => 2,
    }
}
