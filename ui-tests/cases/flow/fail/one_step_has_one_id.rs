//! Two call sites of one step need different ids, in branches and joins as well.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn one_after_the_other(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await?;
    ctx.run(charge(order)).await
}

#[flow]
async fn side_by_side(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let (one, _) = try_join!(ctx.run(charge(order)), ctx.run(self::charge(order)))?;
    Ok(one)
}

fn main() {}
