//! What is no Rust in a body is told once, and the callers still compile.

use loom::prelude::*;

#[flow]
async fn audit(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let total = ;
    ctx.sleep(days(1)).await;
    Ok(order)
}

#[flow(part)]
async fn piece(ctx: Ctx) -> loom::Result<()> {
    let once = ctx.now() let twice = ctx.now();
    Ok(())
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.part("piece", piece()).await?;
    ctx.call(audit(order)).await
}

fn main() {}
