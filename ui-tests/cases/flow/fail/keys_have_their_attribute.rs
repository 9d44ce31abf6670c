//! A key that another attribute takes is told where it belongs.

use loom::prelude::*;

#[flow(tools = [charge], retry)]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[step(schedule = "0 9 * * *")]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn both((ctx, _): (Ctx, u32)) -> loom::Result<()> {
    Ok(())
}

fn main() {}
