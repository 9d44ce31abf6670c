//! The context comes first, by a plain name.

use loom::prelude::*;

#[flow]
async fn without() -> loom::Result<()> {
    Ok(())
}

#[flow]
async fn later(order: u32, ctx: Ctx) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

fn main() {}
