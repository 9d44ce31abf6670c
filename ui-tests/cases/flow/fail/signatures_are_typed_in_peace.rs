//! While a signature is half typed, its callers hear nothing of it.

use loom::prelude::*;

#[step]
async fn charge(order: u32, cents: ) -> loom::Result<u32> {
    Ok(order + cents)
}

#[flow]
async fn child(ctx: Ctx, order: ) -> loom::Result<u32> {
    ctx.run(charge(order, 3)).await
}

#[flow]
async fn parent(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let paid: u32 = ctx.call(child(order)).await?;
    ctx.run(charge(paid, 1)).await
}

fn main() {}
