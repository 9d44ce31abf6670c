//! The name of a part or decision is a literal.

use loom::prelude::*;

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

const NAME: &str = "pay";

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let more = ctx.decide(NAME, || 1).await;
    Ok(more + ctx.part(NAME, pay(order)).await)
}

fn main() {}
