//! A closure in a flow is part of the flow.

use loom::prelude::*;

use std::time::Instant;

#[flow]
async fn checkout(ctx: Ctx, orders: Vec<u32>) -> loom::Result<usize> {
    let _ = ctx.now();
    let late = |start: Instant| Instant::now() > start;
    let block = async { Instant::now() };
    let start = block.await;
    Ok(orders.iter().filter(|_| late(start)).count())
}

fn main() {}
