//! A step call outside of `ctx.run` is inert: it cannot be awaited, not even by mistake.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx;
    charge(order).await
}

fn main() {}
