//! The ids of a schedule's executions.
//! Not a registry: that an id is used once, the store sees to.

use jiff::Timestamp as Instant;
use loom_runtime::{ExecutionId, Timestamp};

/// The execution that keeps a flow's schedule, and the name of the flow that it runs.
pub(super) fn of_keeper(flow: &str) -> String {
    format!("schedule:{flow}")
}

/// The run of a flow for a nominal instant: `report@2026-11-30T09:00:00Z`.
pub(super) fn of_run(flow: &str, at: Timestamp) -> String {
    format!("{flow}@{}", instant(at))
}

/// RFC 3339 in UTC, without a fraction where there is none.
pub(super) fn instant(at: Timestamp) -> String {
    at.to_string().replace(".000000Z", "Z")
}

/// The nominal instant of a scheduled run: that for which it was started, however late it began.
///
/// `None` for an execution that no schedule has started. A scheduled flow takes no input; what it reports on, it
/// learns here.
///
/// ```
/// let id = "report@2026-11-30T09:00:00Z".parse()?;
/// assert_eq!(coordination::nominal(&id).map(|at| at.as_micros()), Some(1_796_029_200_000_000));
/// assert_eq!(coordination::nominal(&"order-7".parse()?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn nominal(execution: &ExecutionId) -> Option<Timestamp> {
    let (_, instant) = execution.as_str().split_once('@')?;
    let instant: Instant = instant.parse().ok()?;
    Some(Timestamp::from_micros(instant.as_microsecond()))
}
