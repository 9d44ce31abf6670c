//! What `ctx.decide` computes is recorded, so that it may be anything.
#![deny(warnings)]

use loom::prelude::*;
use std::time::SystemTime;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    let late = ctx.decide("late", || SystemTime::now() > SystemTime::UNIX_EPOCH).await;
    Ok(late)
}

fn main() {}
