//! Another binding of the name takes the name away.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx, orders: Vec<u32>) -> loom::Result<u32> {
    let _ = ctx.now();
    let mut sum = 0;
    for ctx in orders {
        sum += ctx;
    }
    if let Some(ctx) = Some(1) {
        sum += ctx;
    }
    Ok(sum)
}

fn main() {}
