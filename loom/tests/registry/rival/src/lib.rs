//! A crate whose flow and step have the names of those in `orders`.
//! Not wrong by itself: a program that links both is.

use loom::prelude::*;

#[step]
async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount + 1)
}

#[flow]
async fn checkout(ctx: Ctx, amount: u32) -> loom::Result<u32> {
    ctx.run(charge(amount)).await
}
