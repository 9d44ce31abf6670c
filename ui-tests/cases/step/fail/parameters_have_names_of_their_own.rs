//! Two parameters of one name would be one field of the input.

use loom::prelude::*;

#[step]
async fn charge(order: u32, order: u64) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge(1, 2)).await
}

fn main() {}
