//! What is checked while the program is compiled is written as a literal. What is missing may be what was not read.

use loom::prelude::*;

const NIGHTLY: &str = "0 3 * * *";

#[flow(schedule = NIGHTLY, time_zone = "Europe/Zurich", name = 5)]
async fn nightly(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(schedul = "0 3 * * *", time_zone = concat!("Europe", "/Zurich"), name)]
async fn early(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {
    let _ = NIGHTLY;
}
