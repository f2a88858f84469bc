//! The deployment's settings, read once at start from environment variables.

use std::time::Duration;

use crate::settings::{Defaults, LEAST_LONG, LEAST_SHORT};

/// One environment variable: what it sets, and its default as documented in `docs/configuration.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its default, as it would be written.
    pub default: &'static str,
    /// What it sets, with the unit.
    pub meaning: &'static str,
}

/// Every variable that [`Config::read`] knows, in the order of the documentation.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "DREAM_ENABLED",
        default: "true",
        meaning: "Whether representations dream, unless a workspace or session says otherwise.",
    },
    Variable {
        name: "DREAM_DOCUMENT_THRESHOLD",
        default: "50",
        meaning: "New explicit conclusions since the last dream that make the next one due.",
    },
    Variable {
        name: "DREAM_MIN_HOURS_BETWEEN_DREAMS",
        default: "8",
        meaning: "Cooldown between two dreams of one representation, in hours; fractions allowed.",
    },
    Variable {
        name: "DREAM_IDLE_TIMEOUT_MINUTES",
        default: "60",
        meaning: "Quiet time after the observed peer's last message before a dream, in minutes; fractions allowed.",
    },
    Variable {
        name: "DREAM_MAX_DEFER_HOURS",
        default: "24",
        meaning: "Longest time that activity can put a dream off, in hours; fractions allowed, 0 for no bound.",
    },
    Variable {
        name: "DREAM_HISTORY_ENABLED",
        default: "true",
        meaning: "Whether dreams record what they change. Without a record a dream cannot be read or undone.",
    },
    Variable {
        name: "DREAM_HISTORY_RETENTION_DAYS",
        default: "30",
        meaning: "How long a dream's record keeps the texts of what it removed and of the card, in days; fractions allowed.",
    },
    Variable {
        name: "DREAM_SHRINK_LIMIT",
        default: "0.5",
        meaning: "Share of a representation that one dream may remove without replacement, 0 to 1.",
    },
    Variable {
        name: "DREAM_MAX_TOKENS_PER_RUN",
        default: "2000000",
        meaning: "Tokens, read and written, cached or not, after which a dream asks its model nothing more; 0 for no bound.",
    },
    Variable {
        name: "DREAM_SLICE_SECONDS",
        default: "300",
        meaning: "Longest time that one delivery works on a dream before another one goes on with it, in seconds; fractions allowed. Well below the executor's timeout.",
    },
    Variable {
        name: "DERIVER_ENABLED",
        default: "true",
        meaning: "Whether messages are reasoned over, unless a workspace, session or message says otherwise.",
    },
    Variable {
        name: "DERIVER_MAX_AGE_SECONDS",
        default: "300",
        meaning: "Longest time that messages wait for more before a model is asked, in seconds; fractions allowed. The offline reasoner never waits.",
    },
    Variable {
        name: "DERIVER_FLUSH_ENABLED",
        default: "false",
        meaning: "Whether a model is asked at once, however few messages wait.",
    },
    Variable {
        name: "DERIVER_MAX_CUSTOM_INSTRUCTIONS_TOKENS",
        default: "2000",
        meaning: "Most tokens of one custom instruction, as estimated from its letters; 0 allows none.",
    },
    Variable {
        name: "SUMMARY_ENABLED",
        default: "true",
        meaning: "Whether sessions are summarised, unless a workspace or session says otherwise.",
    },
    Variable {
        name: "SUMMARY_MESSAGES_PER_SHORT_SUMMARY",
        default: "20",
        meaning: "Messages between two short summaries of a session, at least 10.",
    },
    Variable {
        name: "SUMMARY_MESSAGES_PER_LONG_SUMMARY",
        default: "60",
        meaning: "Messages between two long summaries of a session, at least 20 and more than between two short ones.",
    },
    Variable {
        name: "SUMMARY_MAX_TOKENS_SHORT",
        default: "1000",
        meaning: "Most tokens of a short summary, at least 50.",
    },
    Variable {
        name: "SUMMARY_MAX_TOKENS_LONG",
        default: "4000",
        meaning: "Most tokens of a long summary, at least 50.",
    },
    Variable {
        name: "PEER_CARD_ENABLED",
        default: "true",
        meaning: "Whether dreams keep peer cards, unless a workspace or session says otherwise.",
    },
    Variable {
        name: "REVERIE_RECONCILER_SECONDS",
        default: "300",
        meaning: "Seconds between two ticks of the reconciler.",
    },
];

/// The fewest tokens that a summary may be bounded to: a few sentences.
const LEAST_SUMMARY_TOKENS: u64 = 50;

/// The deployment's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Defaults of the switches.
    pub defaults: Defaults,
    /// `DERIVER_MAX_AGE_SECONDS`.
    pub max_age: Duration,
    /// `DERIVER_FLUSH_ENABLED`.
    pub flush: bool,
    /// `DERIVER_MAX_CUSTOM_INSTRUCTIONS_TOKENS`.
    pub instruction_tokens: u32,
    /// `SUMMARY_MAX_TOKENS_SHORT`.
    pub short_summary_tokens: u32,
    /// `SUMMARY_MAX_TOKENS_LONG`.
    pub long_summary_tokens: u32,
    /// `DREAM_DOCUMENT_THRESHOLD`, in conclusions.
    pub threshold: u64,
    /// `DREAM_MIN_HOURS_BETWEEN_DREAMS`.
    pub cooldown: Duration,
    /// `DREAM_IDLE_TIMEOUT_MINUTES`.
    pub idle: Duration,
    /// `DREAM_MAX_DEFER_HOURS`; zero is no bound.
    pub max_defer: Duration,
    /// `DREAM_HISTORY_ENABLED`.
    pub history: bool,
    /// `DREAM_HISTORY_RETENTION_DAYS`.
    pub retention: Duration,
    /// `DREAM_SHRINK_LIMIT`, 0 to 1.
    pub shrink: f64,
    /// `DREAM_MAX_TOKENS_PER_RUN`, in tokens; zero is no bound.
    pub max_tokens_per_run: u64,
    /// `DREAM_SLICE_SECONDS`.
    pub slice: Duration,
    /// `REVERIE_RECONCILER_SECONDS`.
    pub reconcile_every: Duration,
}

/// A variable that does not hold what it should.
#[derive(Debug, thiserror::Error)]
#[error("{name} is {value:?}, but must be {expected}")]
pub struct ConfigError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            defaults: Defaults::default(),
            max_age: Duration::from_mins(5),
            flush: false,
            instruction_tokens: 2000,
            short_summary_tokens: 1000,
            long_summary_tokens: 4000,
            threshold: 50,
            cooldown: Duration::from_hours(8),
            idle: Duration::from_hours(1),
            max_defer: Duration::from_hours(24),
            history: true,
            retention: Duration::from_hours(30 * 24),
            shrink: 0.5,
            max_tokens_per_run: 2_000_000,
            slice: Duration::from_mins(5),
            reconcile_every: Duration::from_mins(5),
        }
    }
}

impl Config {
    /// Reads the variables through `lookup`; a missing or blank one has its default, a bad one is an error.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let reader = Reader { lookup };
        let default = Self::default();
        let short_summary = reader.whole(
            "SUMMARY_MESSAGES_PER_SHORT_SUMMARY",
            LEAST_SHORT,
            "a whole number from 10",
            default.defaults.short_summary,
        )?;
        // The long summary must be the rarer one, whichever of the two is set.
        let long_summary = reader.whole(
            "SUMMARY_MESSAGES_PER_LONG_SUMMARY",
            LEAST_LONG.max(short_summary.saturating_add(1)),
            "a whole number from 20, and more than SUMMARY_MESSAGES_PER_SHORT_SUMMARY",
            default.defaults.long_summary,
        )?;
        Ok(Self {
            defaults: Defaults {
                summary: reader.flag("SUMMARY_ENABLED", default.defaults.summary)?,
                short_summary,
                long_summary,
                reasoning: reader.flag("DERIVER_ENABLED", default.defaults.reasoning)?,
                dream: reader.flag("DREAM_ENABLED", default.defaults.dream)?,
                peer_card: reader.flag("PEER_CARD_ENABLED", default.defaults.peer_card)?,
            },
            max_age: reader.duration("DERIVER_MAX_AGE_SECONDS", 1.0, default.max_age)?,
            flush: reader.flag("DERIVER_FLUSH_ENABLED", default.flush)?,
            instruction_tokens: reader.tokens(
                "DERIVER_MAX_CUSTOM_INSTRUCTIONS_TOKENS",
                0,
                "a whole number from 0",
                default.instruction_tokens,
            )?,
            short_summary_tokens: reader.tokens(
                "SUMMARY_MAX_TOKENS_SHORT",
                LEAST_SUMMARY_TOKENS,
                "a whole number from 50",
                default.short_summary_tokens,
            )?,
            long_summary_tokens: reader.tokens(
                "SUMMARY_MAX_TOKENS_LONG",
                LEAST_SUMMARY_TOKENS,
                "a whole number from 50",
                default.long_summary_tokens,
            )?,
            threshold: reader.whole(
                "DREAM_DOCUMENT_THRESHOLD",
                1,
                "a whole number from 1",
                default.threshold,
            )?,
            cooldown: reader.duration("DREAM_MIN_HOURS_BETWEEN_DREAMS", 3600.0, default.cooldown)?,
            idle: reader.duration("DREAM_IDLE_TIMEOUT_MINUTES", 60.0, default.idle)?,
            max_defer: reader.duration("DREAM_MAX_DEFER_HOURS", 3600.0, default.max_defer)?,
            history: reader.flag("DREAM_HISTORY_ENABLED", default.history)?,
            retention: reader.duration("DREAM_HISTORY_RETENTION_DAYS", 86_400.0, default.retention)?,
            shrink: reader.share("DREAM_SHRINK_LIMIT", default.shrink)?,
            max_tokens_per_run: reader.whole(
                "DREAM_MAX_TOKENS_PER_RUN",
                0,
                "a whole number from 0",
                default.max_tokens_per_run,
            )?,
            slice: reader.duration("DREAM_SLICE_SECONDS", 1.0, default.slice)?,
            reconcile_every: reader
                .duration("REVERIE_RECONCILER_SECONDS", 1.0, default.reconcile_every)?
                .max(Duration::from_millis(100)),
        })
    }
}

struct Reader<F> {
    lookup: F,
}

impl<F: Fn(&str) -> Option<String>> Reader<F> {
    fn text(&self, name: &'static str) -> Option<String> {
        (self.lookup)(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }

    fn flag(&self, name: &'static str, default: bool) -> Result<bool, ConfigError> {
        let Some(value) = self.text(name) else {
            return Ok(default);
        };
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(ConfigError {
                name,
                value,
                expected: "true or false",
            }),
        }
    }

    /// A whole number of at least `least`; the default must be that, too.
    fn whole(&self, name: &'static str, least: u64, expected: &'static str, default: u64) -> Result<u64, ConfigError> {
        let value = self.text(name).unwrap_or_else(|| default.to_string());
        match value.parse() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(ConfigError { name, value, expected }),
        }
    }

    fn tokens(&self, name: &'static str, least: u64, expected: &'static str, default: u32) -> Result<u32, ConfigError> {
        let number = self.whole(name, least, expected, default.into())?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn number(&self, name: &'static str) -> Result<Option<f64>, ConfigError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            _ => Err(ConfigError {
                name,
                value,
                expected: "a number from 0",
            }),
        }
    }

    /// At most a hundred years, so that sums with times keep their meaning.
    fn duration(&self, name: &'static str, unit_seconds: f64, default: Duration) -> Result<Duration, ConfigError> {
        const CENTURY: f64 = 100.0 * 366.0 * 86400.0;
        let Some(number) = self.number(name)? else {
            return Ok(default);
        };
        Ok(Duration::from_secs_f64((number * unit_seconds).min(CENTURY)))
    }

    fn share(&self, name: &'static str, default: f64) -> Result<f64, ConfigError> {
        match self.number(name)? {
            None => Ok(default),
            Some(number) if number <= 1.0 => Ok(number),
            Some(number) => Err(ConfigError {
                name,
                value: number.to_string(),
                expected: "a number from 0 to 1",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(|name| {
            pairs
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_documented_defaults_are_the_defaults() {
        let documented: Vec<_> = VARIABLES.iter().map(|v| (v.name, v.default)).collect();
        assert_eq!(read(&documented).ok(), Some(Config::default()));
        assert_eq!(read(&[]).ok(), Some(Config::default()));
    }

    #[test]
    fn every_variable_is_read() {
        for variable in VARIABLES {
            assert!(read(&[(variable.name, "nonsense")]).is_err(), "{}", variable.name);
        }
    }

    #[test]
    fn fractions_and_bad_values() {
        let config = read(&[("DREAM_IDLE_TIMEOUT_MINUTES", "0.05"), ("DREAM_MAX_DEFER_HOURS", "0")]).ok();
        assert_eq!(
            config.map(|c| (c.idle, c.max_defer)),
            Some((Duration::from_secs(3), Duration::ZERO))
        );
        for pair in [
            ("DREAM_ENABLED", "maybe"),
            ("DREAM_DOCUMENT_THRESHOLD", "0"),
            ("DREAM_MAX_TOKENS_PER_RUN", "-1"),
            ("DREAM_MAX_TOKENS_PER_RUN", "1.5"),
            ("DREAM_IDLE_TIMEOUT_MINUTES", "-1"),
            ("DREAM_SHRINK_LIMIT", "2"),
            ("DREAM_MIN_HOURS_BETWEEN_DREAMS", "NaN"),
            ("SUMMARY_MESSAGES_PER_SHORT_SUMMARY", "9"),
            ("SUMMARY_MESSAGES_PER_SHORT_SUMMARY", "60"),
            ("SUMMARY_MESSAGES_PER_LONG_SUMMARY", "20"),
            ("SUMMARY_MAX_TOKENS_SHORT", "0"),
        ] {
            assert!(read(&[pair]).is_err(), "{pair:?}");
        }
    }
}
