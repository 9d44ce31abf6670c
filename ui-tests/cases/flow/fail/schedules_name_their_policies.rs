//! What happens to a run that cannot be started in time is one of a few things.

use loom::prelude::*;

#[flow(schedule = "0 9 * * *", overlap = "wait")]
async fn overlapping(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 9 * * *", catch_up = "all within six hours")]
async fn missed(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 9 * * *", catch_up = "latest within 0s")]
async fn never(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
