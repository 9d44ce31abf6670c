//! A step is an `async fn`; its callers are not told a second time.

use loom::prelude::*;

#[step]
fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await
}

fn main() {}
