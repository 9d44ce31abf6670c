//! A call that is left as a statement runs nothing, nor one that is dropped.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

#[flow]
async fn audit(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    charge(order);
    pay(order);
    audit(order);
    drop(charge(order));
    let _ = ctx.now();
    Ok(())
}

fn main() {}
