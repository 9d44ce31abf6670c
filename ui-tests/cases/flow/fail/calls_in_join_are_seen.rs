//! A call in a `join!` is a call.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let (one, two) = join!(ctx.run(charge(order)), async { ctx.run(charge(1)).await });
    Ok(one? + two?)
}

fn main() {}
