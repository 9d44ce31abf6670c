//! One input, owned, by a plain name.

use loom::prelude::*;

#[flow]
async fn two(ctx: Ctx, order: u32, card: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order + card)
}

#[flow]
async fn borrowed(ctx: Ctx, order: &str) -> loom::Result<()> {
    let _ = (ctx.now(), order);
    Ok(())
}

#[flow]
async fn pattern(ctx: Ctx, (order, card): (u32, u32)) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order + card)
}

fn main() {}
