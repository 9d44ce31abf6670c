//! Repeated keys, keys with the wrong kind of value, and one that is almost right.

use loom::prelude::*;

#[flow(name = "a", name = "b")]
async fn repeated(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow(part = 3, effects = "http", name = 4)]
async fn mistyped(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow(efects("http"))]
async fn misspelt(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

fn main() {}
