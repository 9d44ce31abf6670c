//! Whose turn it is: an execution's priority, and the lane in which it waits for others of its kind.
//! Not the choice itself: a store makes that, in [`LeaseStore::claim`](super::LeaseStore::claim).

use std::{
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// When an execution's turn comes, among those that are due. Kept for life, and by its children and forks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Higher goes first; 0 unless said.
    pub priority: i16,
    /// What it waits in line with, if anything.
    pub lane: Option<Lane>,
}

/// Executions that share something: a tenant, a rate-limited service, a key.
///
/// A lane is nothing but its key, and begins with the first execution that names it. What it allows comes with each
/// execution, which is judged by what it brought itself; those of one lane had better agree.
///
/// ```
/// # use std::time::Duration;
/// use loom_runtime::Lane;
/// let lane = Lane::new("tenant-a")
///     .at_most(2) // run at once, in the whole fleet
///     .rate(100, Duration::from_secs(60)) // begin within a minute
///     .weight(3); // get three times the share of other lanes
/// assert_eq!(lane.key, "tenant-a");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// What tells it from other lanes; compared byte by byte.
    pub key: String,
    /// How many run at once. A slot is held by a lease: an execution that suspends, parks, ends or loses its lease
    /// gives it back.
    pub at_most: Option<NonZeroU32>,
    /// How many begin within a time.
    pub rate: Option<Rate>,
    /// Its share of what is taken up, against that of other lanes.
    pub weight: NonZeroU16,
}

/// So many within a time, whichever span of that length is looked at. What counts is an execution's first claim: to
/// wake up, or to be taken over, is no beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many.
    pub begins: NonZeroU32,
    /// Within which time.
    pub within: Duration,
}

impl Lane {
    /// The lane of this key, which allows everything, with weight 1.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), at_most: None, rate: None, weight: NonZeroU16::MIN }
    }

    /// So many of its executions run at once, over all workers; 0 counts as 1.
    #[must_use]
    pub fn at_most(mut self, running: u32) -> Self {
        self.at_most = Some(NonZeroU32::new(running).unwrap_or(NonZeroU32::MIN));
        self
    }

    /// So many of its executions begin within any span of this length; 0 counts as 1. Those beyond are due later, and
    /// found by the workers' [poll](crate::WorkerOptions::poll).
    #[must_use]
    pub fn rate(mut self, begins: u32, within: Duration) -> Self {
        self.rate = Some(Rate { begins: NonZeroU32::new(begins).unwrap_or(NonZeroU32::MIN), within });
        self
    }

    /// Its share against other lanes, and against all that have none, which count as one of weight 1; 0 counts as 1.
    #[must_use]
    pub fn weight(mut self, weight: u16) -> Self {
        self.weight = NonZeroU16::new(weight).unwrap_or(NonZeroU16::MIN);
        self
    }

    /// Whether it holds anything back: else nobody has to count.
    pub fn is_bounded(&self) -> bool {
        self.at_most.is_some() || self.rate.is_some()
    }
}

impl Rate {
    /// Its time in microseconds; of more than 100,000 years, those.
    pub fn micros(&self) -> i64 {
        const LONGEST: i64 = i64::MAX / 3;
        i64::try_from(self.within.as_micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
    }
}

impl<K: Into<String>> From<K> for Lane {
    fn from(key: K) -> Self {
        Self::new(key)
    }
}
