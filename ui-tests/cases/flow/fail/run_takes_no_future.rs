//! `ctx.run` is for steps; a future of another kind is none.

use loom::prelude::*;

async fn plain(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(plain(order)).await?;
    ctx.run(async move { Ok::<_, loom::Error>(order) }).await
}

fn main() {}
