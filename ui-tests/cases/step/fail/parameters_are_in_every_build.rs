//! A step's parameters are fields of a record: none is left out of a build. Callers are not told of it as well.

use loom::prelude::*;

#[step]
async fn charge(order: u32, #[cfg(test)] cents: u32) -> loom::Result<u32> {
    Ok(order)
}

#[step]
async fn ship(order: u32, #[cfg(not(test))] line: u32) -> loom::Result<u32> {
    Ok(order + line)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await?;
    ctx.run(ship(order, 1)).await
}

fn main() {}
