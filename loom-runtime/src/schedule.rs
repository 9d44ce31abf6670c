//! When a flow is to be started by itself, and what happens when that cannot be kept.
//! A description: the schedules of the coordination room act on it, and this crate has no calendar.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// When a flow is to be started by itself: what `#[flow(schedule = ..)]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleDescriptor {
    /// A cron expression of five fields, checked at compile time.
    pub cron: &'static str,
    /// The name of the zone in whose local time it is read, from the IANA database.
    pub time_zone: &'static str,
    /// What happens when a run is due while an earlier one goes on.
    pub overlap: Overlap,
    /// What happens to instants at which nobody worked.
    pub catch_up: CatchUp,
}

impl ScheduleDescriptor {
    /// A schedule with the default policies.
    pub const fn new(cron: &'static str, time_zone: &'static str) -> Self {
        Self { cron, time_zone, overlap: Overlap::Skip, catch_up: CatchUp::Latest { within: DAY } }
    }

    /// With another policy on overlaps.
    #[must_use]
    pub const fn overlap(self, overlap: Overlap) -> Self {
        Self { overlap, ..self }
    }

    /// With another policy on missed instants.
    #[must_use]
    pub const fn catch_up(self, catch_up: CatchUp) -> Self {
        Self { catch_up, ..self }
    }
}

const DAY: Duration = Duration::from_secs(86_400);

/// What a schedule does when a run is due while an earlier one of its runs goes on, whatever started that: an instant that
/// came, one that is made up for, a backfill or a trigger. But for [`Overlap::Allow`], no two of them ever go on at once,
/// and what was missed or asked for by people has its turn, oldest first. A run that is parked goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The one that is due is left out, and the schedule tells so.
    #[default]
    Skip,
    /// Both run.
    Allow,
    /// The one that is due waits for its turn; one may wait, and those due after it are left out.
    Queue,
    /// The newest wins: the earlier one is cancelled, and the new one starts once that has ended. Of several that wait for
    /// that, the newest is started.
    Cancel,
}

/// What a schedule does about instants at which nobody worked. The newest instant is in time for a minute, whatever
/// the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Of those that were missed, only the latest is made up for, and only within this time after it.
    Latest {
        /// How late it may be.
        within: Duration,
    },
    /// All that were missed within this time are made up for: at most 1,000, the latest. One after another, unless the
    /// policy on overlaps allows them all at once.
    All {
        /// How late they may be.
        within: Duration,
    },
    /// None is.
    Skip,
}

impl fmt::Display for Overlap {
    /// As `#[flow(overlap = "…")]` has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skip => "skip",
            Self::Allow => "allow",
            Self::Queue => "queue",
            Self::Cancel => "cancel",
        })
    }
}

impl fmt::Display for CatchUp {
    /// As `#[flow(catch_up = "…")]` has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (which, within) = match self {
            Self::Latest { within } => ("latest", within),
            Self::All { within } => ("all", within),
            Self::Skip => return f.write_str("skip"),
        };
        let millis = within.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
        let (length, unit) = units.into_iter().find(|(length, _)| millis % length == 0).unwrap_or((1, "ms"));
        write!(f, "{which} within {}{unit}", millis / length)
    }
}

impl Default for CatchUp {
    fn default() -> Self {
        Self::Latest { within: DAY }
    }
}
