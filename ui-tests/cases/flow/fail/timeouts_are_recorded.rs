//! A timeout of the async runtime is a timer that no log knows.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    match tokio::time::timeout(seconds(1), ctx.run(charge(order))).await {
        Ok(paid) => paid,
        Err(_) => Ok(0),
    }
}

#[flow]
async fn ticking(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    tokio::time::interval(seconds(1)).tick().await;
    Ok(())
}

fn main() {}
