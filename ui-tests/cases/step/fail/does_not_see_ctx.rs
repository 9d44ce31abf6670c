//! `Ctx` is not available inside a step.

use loom::prelude::*;

#[step]
async fn charge(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx;
    Ok(order)
}

fn main() {}
