//! A part is called by `ctx.part`, a step by `ctx.run`, and neither by the other.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let paid = ctx.part("charge", charge(order)).await?;
    Ok(paid + ctx.run(pay(order)).await)
}

fn main() {}
