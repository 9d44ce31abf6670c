//! An id is a literal, given once, to a call that has one.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).id("first").id("second").await?;
    ctx.run(charge(order)).id(format!("charge-{order}")).await?;
    ctx.run(charge(order)).id("Not A Name").await
}

fn main() {}
