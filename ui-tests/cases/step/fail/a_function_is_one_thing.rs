//! A tool is a step, and an agent a flow: of two attributes one is too many.

use loom::prelude::*;

/// Charges an order.
#[tool]
#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

/// Sell an order.
#[agent]
#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await
}

fn main() {}
