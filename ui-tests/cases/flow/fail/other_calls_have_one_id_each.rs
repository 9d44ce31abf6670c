//! Gates, timers, parts and decisions share the ids of a flow with its steps.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.sleep(days(1)).await;
    ctx.sleep(days(2)).await;
    ctx.suspend::<bool>("charge").await?;
    ctx.run(charge(order)).await
}

fn main() {}
