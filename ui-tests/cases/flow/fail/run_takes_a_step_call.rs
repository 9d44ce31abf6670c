//! The id of a call comes from the step that is called in place.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let call = charge(order);
    ctx.run(call).await
}

fn main() {}
