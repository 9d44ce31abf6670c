//! A call in a format macro, an assertion, a `matches!`.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<String> {
    assert!(ctx.run(charge(order)).await? > 0, "paid");
    if matches!(ctx.run(charge(1)).await, Ok(paid) if paid > 0) {
        println!("paid");
    }
    Ok(format!("{} {}", order, ctx.run(charge(2)).await?))
}

fn main() {}
