//! A step call is no future: not in a block of its own, not behind a `?`.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    let paid = async { charge(order).await };
    paid.await
}

#[flow]
async fn forgotten(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(charge(order)?)
}

fn main() {}
