//! Reference parameters: slices, exclusive ones, and those that live for ever.

use loom::prelude::*;

#[flow]
async fn slice(ctx: Ctx, orders: &[u32]) -> loom::Result<usize> {
    let _ = ctx.now();
    Ok(orders.len())
}

#[flow]
async fn for_ever(ctx: Ctx, name: &'static str) -> loom::Result<usize> {
    let _ = ctx.now();
    Ok(name.len())
}

#[flow(part)]
async fn exclusive(ctx: Ctx, orders: &mut Vec<u32>) -> usize {
    let _ = ctx.now();
    orders.len()
}

fn main() {}
