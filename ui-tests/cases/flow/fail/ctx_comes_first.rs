//! Wrong `Ctx` position: the context is the first parameter, of parts as well.

use loom::prelude::*;

#[flow]
async fn checkout(order: u32, ctx: Ctx) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

#[flow(part)]
async fn pay(order: u32, ctx: Ctx) -> u32 {
    let _ = ctx.now();
    order
}

// Callers give no context, and nothing is said of them.
#[flow]
async fn shop(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let paid = ctx.part("pay", pay(order)).await;
    ctx.call(checkout(paid)).await
}

fn main() {}
