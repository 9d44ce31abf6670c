//! The outcome of a step is no answer to another input: `.memo()` is not offered there.

use loom::prelude::*;

#[step]
async fn add(a: u32, b: u32) -> loom::Result<u32> {
    Ok(a + b)
}

#[flow]
async fn sums(ctx: Ctx, a: u32) -> loom::Result<u32> {
    let first = ctx.run(add(a, 1)).await?;
    ctx.run(add(first, 5)).await
}

fn main() {}
