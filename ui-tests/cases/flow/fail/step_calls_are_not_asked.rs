//! `?` asks what came of a call; of one that was not run, nothing did.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    let receipt = charge(order)?;
    Ok(receipt)
}

fn main() {}
