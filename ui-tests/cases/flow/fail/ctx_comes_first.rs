//! Wrong `Ctx` position: the context is the first parameter, of parts as well.

use loom::prelude::*;

#[flow]
async fn checkout(order: u32, ctx: Ctx) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

#[flow(part)]
async fn pay(order: u32, ctx: Ctx) -> u32 {
    let _ = ctx.now();
    order
}

fn main() {}
