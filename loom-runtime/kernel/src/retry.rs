//! Whether and when a failed attempt is made again: a pure decision.
//! Not the waiting: the machine turns the decision into a due instant.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{RetryClass, Timestamp};

/// How often a step is tried, and how long it waits in between.
///
/// The wait before attempt n + 1 is `initial × factor^(n-1)`, at most `max`. There is no jitter: the
/// decision is a function of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included; at least 1.
    pub attempts: u32,
    /// The wait before the second attempt.
    pub initial: Duration,
    /// The longest wait.
    pub max: Duration,
    /// What each wait is multiplied by to give the next.
    pub factor: u32,
}

/// How a step gives its result to the world, and so what must be on disk before its body starts. Ordered from the
/// freest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Changes nothing outside: may run at any time, any number of times.
    Pure,
    /// May run again after a crash, with the same idempotency key. Everything that led to it is durable first.
    #[default]
    AtLeastOnce,
    /// Never runs again by itself: an attempt without an outcome waits for a person's verdict.
    AtMostOnce,
}

impl RetryPolicy {
    /// One attempt.
    pub const NONE: Self = Self { attempts: 1, initial: Duration::ZERO, max: Duration::ZERO, factor: 1 };

    /// When attempt `attempt + 1` is due after attempt `attempt` (from 1) failed at `now`; `None` when
    /// the failure is final.
    ///
    /// ```
    /// use kernel::{RetryClass, RetryPolicy, Timestamp};
    /// use std::time::Duration;
    /// let policy = RetryPolicy { attempts: 3, initial: Duration::from_secs(1), max: Duration::from_secs(60), factor: 2 };
    /// let at = |n| policy.next(n, RetryClass::Transient, Timestamp::EPOCH).map(Timestamp::as_micros);
    /// assert_eq!((at(1), at(2), at(3)), (Some(1_000_000), Some(2_000_000), None));
    /// assert_eq!(policy.next(1, RetryClass::Permanent, Timestamp::EPOCH), None);
    /// ```
    pub fn next(&self, attempt: u32, class: RetryClass, now: Timestamp) -> Option<Timestamp> {
        let floor = match class {
            RetryClass::Permanent => return None,
            RetryClass::Transient => Duration::ZERO,
            RetryClass::After(least) => least,
        };
        if attempt >= self.attempts {
            return None;
        }
        let factor = self.factor.saturating_pow(attempt.saturating_sub(1));
        let wait = self.initial.saturating_mul(factor).min(self.max).max(floor);
        Some(now.plus(wait))
    }

    /// Whether the policy counts attempts at all: with one attempt, only a returned error settles a step,
    /// and a crashed attempt is made again until the take-over limit parks the execution.
    pub const fn counts_crashes(&self) -> bool {
        self.attempts > 1
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::NONE
    }
}
