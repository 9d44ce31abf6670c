//! `ctx.run(charge)` forgets the arguments.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge).await
}

fn main() {}
