//! Whoever is called through `ctx` has a context of his own, or none.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow(part)]
async fn helper(ctx: Ctx, line: u32) -> loom::Result<u32> {
    ctx.run(ship(line)).await
}

#[flow]
async fn audit(ctx: Ctx, line: u32) -> loom::Result<u32> {
    ctx.run(ship(line)).await
}

#[flow]
async fn checkout(ctx: Ctx, line: u32) -> loom::Result<u32> {
    ctx.part("h", helper(ctx, line)).await?;
    ctx.call(audit(&ctx, line)).await?;
    ctx.run(ship(ctx.clone(), line)).await
}

fn main() {}
