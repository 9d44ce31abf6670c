//! A type that cannot be recorded is one error for each place that asks for it, and none where the step or flow is called.

use loom::prelude::*;

struct Order;

struct Line;

struct Receipt;

#[step]
async fn reserve(order: Order, lines: Vec<Line>) -> loom::Result<u32> {
    let _ = (order, lines);
    Ok(1)
}

#[step]
async fn charge(total: u32) -> loom::Result<Receipt> {
    let _ = total;
    Ok(Receipt)
}

#[flow]
async fn audit(ctx: Ctx, order: Order) -> loom::Result<Receipt> {
    let total = ctx.run(reserve(order, Vec::new())).await;
    ctx.run(charge(total.unwrap_or(0))).await
}

#[flow]
async fn checkout(ctx: Ctx, total: u32) -> loom::Result<u32> {
    let _ = ctx.run(charge(total)).await;
    let _ = ctx.call(audit(Order)).await;
    Ok(total)
}

fn main() {}
