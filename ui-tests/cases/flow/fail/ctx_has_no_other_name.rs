//! A clone under another name is the context, and nobody sees the calls that are made through it.

use loom::prelude::*;

#[step(effects("payments.write"))]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

async fn helper(ctx: Ctx) {
    let _ = ctx.now();
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let c = ctx.clone();
    let d: Ctx = c.clone();
    d.sleep(days(1)).await;
    helper(d).await;
    c.run(charge(order)).await
}

#[flow(effects("http"))]
async fn below(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let c = ctx.clone();
    c.run(charge(order)).id("charge").await
}

fn main() {}
