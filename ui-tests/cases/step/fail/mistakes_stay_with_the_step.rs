//! A broken step is reported once: its callers keep compiling.

use loom::prelude::*;

#[step(timeout = "soon")]
async fn charge(order: &u32) -> loom::Result<u32> {
    Ok(*order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let paid: u32 = ctx.run(charge(&order)).await?;
    Ok(paid)
}

fn main() {}
