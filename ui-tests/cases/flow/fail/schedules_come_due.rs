//! Cron expressions are read when the program is built.

use loom::prelude::*;

#[flow(schedule = "0 9 * *")]
async fn four_fields(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 25 * * MON-FRI")]
async fn no_such_hour(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 9 * * MONDAY")]
async fn no_such_day(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 0 30 FEB *")]
async fn never(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "@daily")]
async fn nickname(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "@reboot")]
async fn no_time_at_all(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "9")]
async fn one_field(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 0 9 * * *")]
async fn with_seconds(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
