//! A part call is inert, like a step's.

use loom::prelude::*;

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(pay(order).await)
}

fn main() {}
