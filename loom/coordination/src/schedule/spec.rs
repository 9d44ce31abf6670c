//! What a program says of a schedule, as the log keeps it, and which instants follow from that.
//! Not deterministic: zones change with the code, so that a flow records what it learns here.

use std::{collections::VecDeque, time::Duration};

use loom_runtime::{CatchUp, Overlap, ScheduleDescriptor, Timestamp};
use serde::{Deserialize, Serialize};

use super::cron::Cron;

/// How late an instant may be and still count as kept.
const IN_TIME: Duration = Duration::from_secs(60);

/// How many instants are made up for at once, and backfilled.
pub(super) const MOST: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub(super) struct Spec {
    pub(super) cron: String,
    pub(super) time_zone: String,
    pub(super) overlap: Overlap,
    pub(super) catch_up: CatchUp,
}

impl From<ScheduleDescriptor> for Spec {
    fn from(of: ScheduleDescriptor) -> Self {
        let (cron, time_zone) = (of.cron.into(), of.time_zone.into());
        Self { cron, time_zone, overlap: of.overlap, catch_up: of.catch_up }
    }
}

impl Spec {
    /// Whether both name the same instants.
    pub(super) fn is_due_like(&self, other: &Self) -> bool {
        (&self.cron, &self.time_zone) == (&other.cron, &other.time_zone)
    }

    /// The instants after one, in order; none when expression or zone cannot be read.
    pub(super) fn after(&self, instant: Timestamp) -> Vec<Timestamp> {
        self.some_after(instant, 1)
    }

    /// The first so many instants after one.
    pub(super) fn some_after(&self, instant: Timestamp, count: usize) -> Vec<Timestamp> {
        let cron = Cron::new(&self.cron, &self.time_zone);
        cron.map(|cron| cron.after(instant).take(count).collect()).unwrap_or_default()
    }

    /// The instants after `after` and until `now` that are kept or made up for, in order: the latest comes last.
    pub(super) fn due(&self, after: Timestamp, now: Timestamp) -> Vec<Timestamp> {
        let (within, most) = match self.catch_up {
            CatchUp::Skip => (IN_TIME, 1),
            CatchUp::Latest { within } => (within.max(IN_TIME), 1),
            CatchUp::All { within } => (within.max(IN_TIME), MOST),
        };
        let within = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
        let earliest = Timestamp::from_micros(now.as_micros().saturating_sub(within).saturating_sub(1));
        let Ok(cron) = Cron::new(&self.cron, &self.time_zone) else { return Vec::new() };
        let mut due = VecDeque::new();
        for at in cron.after(after.max(earliest)).take_while(|at| *at <= now) {
            if due.len() == most {
                due.pop_front();
            }
            due.push_back(at);
        }
        due.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_made_up_for_as_the_policy_says() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let at = |minutes: u64| Timestamp::EPOCH.plus(Duration::from_secs(minutes * 60));
        let due = |catch_up, now| {
            let spec = Spec::from(ScheduleDescriptor::new("0 * * * *", "UTC").catch_up(catch_up));
            spec.due(at(0), at(now)).iter().map(|due| due.since(at(0)).as_secs() / 60).collect::<Vec<_>>()
        };
        // Down from the start to half past five.
        assert_eq!(due(CatchUp::Skip, 330), [0; 0]);
        assert_eq!(due(CatchUp::Latest { within: hours(1) }, 330), [300]);
        assert_eq!(due(CatchUp::Latest { within: Duration::from_secs(60) }, 330), [0; 0]);
        assert_eq!(due(CatchUp::All { within: hours(3) }, 330), [180, 240, 300]);
        // The edges belong to it.
        assert_eq!(due(CatchUp::All { within: hours(2) }, 300), [180, 240, 300]);
        // In time, whatever the policy.
        for policy in [CatchUp::Skip, CatchUp::Latest { within: Duration::ZERO }] {
            assert_eq!(due(policy, 301), [300], "{policy:?}");
        }
    }
}
