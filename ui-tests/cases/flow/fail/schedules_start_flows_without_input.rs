//! Nobody gives a scheduled flow its input; a part does not start; a zone alone means nothing.

use loom::prelude::*;

#[flow(schedule = "0 9 * * *")]
async fn with_input(_: Ctx, day: String) -> loom::Result<()> {
    let _ = day;
    Ok(())
}

#[flow(part, schedule = "0 9 * * *")]
async fn piece(_: Ctx) {}

#[flow(time_zone = "Europe/Zurich")]
async fn zone_alone(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
