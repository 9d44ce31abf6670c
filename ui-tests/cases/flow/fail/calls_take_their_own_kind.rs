//! What is no call of a step, a flow or a part is told what to write on the function.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn audit(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await
}

async fn plain(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let one = ctx.run(plain(order)).await?;
    let two = ctx.run(audit(order)).await?;
    let three = ctx.call(plain(order)).await?;
    let four = ctx.spawn(charge(order)).await.await?;
    Ok(one + two + three + four)
}

fn main() {}
