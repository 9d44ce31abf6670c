//! Mistakes of the attribute, the signature and the body are reported together.

use loom::prelude::*;
use std::time::SystemTime;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow(nmae = "checkout")]
fn checkout(ctx: Ctx, order: u32, card: u32) -> loom::Result<u32> {
    let _ = SystemTime::now();
    ctx.run(charge(order)).await?;
    ctx.run(charge(card)).await?;
    let gate = ctx.suspend("Manager").await?;
    Ok(gate)
}

fn main() {}
