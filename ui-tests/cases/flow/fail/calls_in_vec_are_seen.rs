//! A call in a `vec!` is a call.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    join_all(vec![ctx.run(charge(order)), ctx.run(charge(1))]).await;
    Ok(())
}

fn main() {}
