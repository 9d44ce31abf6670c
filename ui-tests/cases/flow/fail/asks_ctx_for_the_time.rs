//! Clocks show another time on replay.

use loom::prelude::*;
use std::time::{Instant, SystemTime};

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let started = Instant::now();
    let _ = (ctx.now(), SystemTime::now(), started);
    Ok(())
}

fn main() {}
