//! The context by its whole path, by reference, among others.

use loom::prelude::*;

#[step]
async fn charge(order: u32, ctx: loom::Ctx) -> loom::Result<u32> {
    let _ = ctx;
    Ok(order)
}

#[step]
async fn ship(ctx: &Ctx) -> loom::Result<()> {
    let _ = ctx;
    Ok(())
}

fn main() {}
