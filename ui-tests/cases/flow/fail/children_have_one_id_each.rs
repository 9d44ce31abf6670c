//! What a child gives is not asked for twice: only `ctx.run` has `.memo()`.

use loom::prelude::*;

#[flow]
async fn audit(_: Ctx, order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.call(audit(order)).await?;
    ctx.timeout(days(1), ctx.suspend::<bool>("manager")).await.ok();
    ctx.timeout(days(2), ctx.suspend::<bool>("owner")).await.ok();
    ctx.call(audit(2)).await
}

fn main() {}
