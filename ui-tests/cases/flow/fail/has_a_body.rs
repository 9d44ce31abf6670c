//! A signature alone is reported once, and callers have nothing to say.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32>;

#[flow(part)]
async fn settle(ctx: Ctx, order: u32) -> u32;

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32>;

#[flow]
async fn shop(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let paid = ctx.run(charge(order)).await?;
    Ok(paid + ctx.part("settle", settle(order)).await)
}

fn main() {
    let _ = checkout(1);
}
