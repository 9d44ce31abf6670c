//! A part called by a closure needs a key, and passes it on to all its ids.

use loom::prelude::*;

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

#[flow]
async fn checkout(ctx: Ctx, orders: Vec<u32>) -> loom::Result<()> {
    join_all(orders.iter().map(|order| ctx.part("pay", pay(*order)))).await;
    Ok(())
}

fn main() {}
