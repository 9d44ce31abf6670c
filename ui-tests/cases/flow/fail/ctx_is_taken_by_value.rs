//! The context is owned, and comes by a name.

use loom::prelude::*;

#[flow]
async fn borrowed(ctx: &Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow]
async fn taken_apart((ctx, _): (Ctx, u32)) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

fn main() {}
