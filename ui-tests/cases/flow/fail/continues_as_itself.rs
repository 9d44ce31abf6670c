//! The next run of an execution is one of the same flow.

use loom::prelude::*;

#[flow]
async fn audit(_: Ctx, order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    if order > 9 {
        return ctx.continue_as_new(audit(order)).await;
    }
    ctx.continue_as_new(checkout(order + 1)).await
}

fn main() {}
