//! Threads, pools and blocking work.

use loom::prelude::*;

use std::thread;

#[flow]
async fn checkout(ctx: Ctx, orders: Vec<u32>) -> loom::Result<()> {
    let _ = ctx.now();
    thread::scope(|scope| {
        scope.spawn(|| orders.len());
    });
    Ok(())
}

#[flow]
async fn tasks(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    tokio::task::spawn_blocking(|| {}).await.ok();
    tokio::task::spawn(async {});
    Ok(())
}

fn main() {}
