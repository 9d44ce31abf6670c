//! Gates, parts, decisions and ids reach the log by their names.

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
    ctx.suspend::<bool>("manager#1").await?;
    ctx.suspend::<bool>("a/b").await?;
    let chosen = ctx.decide("2nd", || 1).await;
    ctx.run(charge(order)).id("").await?;
    Ok(chosen + ctx.part("Pay", pay(order)).await)
}

fn main() {}
