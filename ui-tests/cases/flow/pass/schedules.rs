//! Schedules, with and without a zone, under policies.
#![deny(warnings)]

use loom::prelude::*;
use loom::Flow;

/// Pays nothing.
#[policy]
const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);

#[flow(schedule = "*/15 6-18 * JAN,jul MON-FRI", time_zone = "Europe/Zurich", policies = [NO_PAYMENTS])]
async fn lunch(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 0 29 2 *", overlap = "queue", catch_up = "all within 6h")]
async fn leap(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

fn main() {
    let schedule = lunch::DESCRIPTOR.schedule.unwrap();
    assert_eq!((schedule.cron, schedule.time_zone), ("*/15 6-18 * JAN,jul MON-FRI", "Europe/Zurich"));
    assert_eq!(leap::DESCRIPTOR.schedule.unwrap().time_zone, "UTC");
    assert_eq!(leap::DESCRIPTOR.schedule.unwrap().overlap, loom::Overlap::Queue);
    assert_eq!(lunch::DESCRIPTOR.policies[0].name, "no-payments");
}
