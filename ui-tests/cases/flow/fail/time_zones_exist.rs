//! A zone goes by its name in the IANA database.

use loom::prelude::*;

#[flow(schedule = "0 9 * * *", time_zone = "Zurich")]
async fn city(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 9 * * *", time_zone = "UTC+1")]
async fn offset(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 9 * * *", time_zone = "Europe/Zurch")]
async fn misspelt(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedule = "0 9 * * *", time_zone = "Germany/Berln")]
async fn misspelt_elsewhere(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
