//! Which step is called is a branch: it stands around `ctx.run`, not in it.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(if order > 1 { charge(order) } else { charge(1) }).await
}

fn main() {}
