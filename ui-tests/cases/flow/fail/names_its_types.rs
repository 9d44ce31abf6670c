//! Generic in a type, a lifetime, a number, or by `impl`.

use loom::prelude::*;

#[flow]
async fn lifetime<'a>(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow(part)]
async fn number<const N: usize>(ctx: Ctx) -> usize {
    let _ = ctx.now();
    N
}

#[flow]
async fn anything(ctx: Ctx, order: impl Into<u32>) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order.into())
}

fn main() {}
