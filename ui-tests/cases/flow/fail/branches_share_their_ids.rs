//! Only one branch is taken, and still both have an id of their own: the log must tell which.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    if order > 100 { ctx.run(charge(order)).await } else { ctx.run(charge(1)).await }
}

#[flow]
async fn matched(ctx: Ctx, order: u32) -> loom::Result<u32> {
    match order {
        0 => Ok(0),
        1 => ctx.run(charge(1)).await,
        _ => ctx.run(charge(order)).await,
    }
}

fn main() {}
