//! The context is known by its name, and stays with the flow and its parts.

use loom::prelude::*;

async fn helper(ctx: &Ctx) {
    let _ = ctx.now();
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    helper(&ctx).await;
    let f = |ctx: u32| ctx + 1;
    let other = ctx;
    let _ = other.now();
    Ok(f(order))
}

fn main() {}
