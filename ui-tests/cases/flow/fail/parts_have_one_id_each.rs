//! Two calls of a part go by two names.

use loom::prelude::*;

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let one = ctx.part("pay", pay(order)).await;
    let two = ctx.part("pay", pay(1)).await;
    let chosen = ctx.decide("pay", || 1).await;
    Ok(one + two + chosen)
}

fn main() {}
