//! A debug assertion is left out of a release build, and with it the calls that it would make.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    debug_assert!(ctx.run(charge(order)).await? > 0);
    debug_assert_eq!(order, 1);
    assert_ne!(ctx.run(charge(order)).id("again").await?, 0);
    Ok(())
}

fn main() {}
