//! A second call of one id is fine when it asks for the outcome of the first.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn price(sku: u32) -> loom::Result<u32> {
    Ok(sku)
}

#[flow]
async fn checkout(ctx: Ctx, sku: u32) -> loom::Result<u32> {
    let before = ctx.run(price(sku)).await?;
    let after = ctx.run(price(sku)).memo().await?;
    Ok(before + after)
}

fn main() {}
