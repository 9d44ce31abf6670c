//! A mistake before `.await` is the compiler's to tell, and nothing is added to it.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let charged = ctx.runn(charge(order)).await?;
    ctx.run(charge("a")).id("second").await?;
    ctx.run(charge(charged)).idd("third").await?;
    ctx.sleepy(days(1)).await;
    Ok(charged)
}

fn main() {}
