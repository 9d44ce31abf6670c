//! `let ctx = ctx.clone();` is the one way to bind the name again; a block may also take `ctx` for good.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn price(sku: u32) -> loom::Result<u32> {
    Ok(sku)
}

#[flow]
async fn checkout(ctx: Ctx, sku: u32) -> loom::Result<u32> {
    let one = {
        let ctx = ctx.clone();
        async move { ctx.run(price(sku)).await }
    };
    let two = async { ctx.run(price(sku)).id("two").await };
    let sum = one.await? + two.await?;
    let last = async move {
        let inner = async move { ctx.run(price(sku)).id("three").await };
        inner.await
    };
    Ok(sum + last.await?)
}

#[flow]
async fn idle(_: Ctx, sku: u32) -> loom::Result<u32> {
    std::future::ready(()).await;
    Ok(sku)
}

fn main() {}
