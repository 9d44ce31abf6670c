//! A step that asks for `Ctx` is one error: its callers give none.

use loom::prelude::*;

#[step]
async fn charge(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await
}

fn main() {}
