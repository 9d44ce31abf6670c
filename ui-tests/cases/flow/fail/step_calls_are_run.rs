//! A call that nobody runs does nothing. Where the flow runs the same step elsewhere, that is an error; anywhere else
//! the compiler warns.
#![deny(unused_must_use)]

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    ctx.run(charge(order)).id("deposit").await?;
    charge(order);
    Ok(())
}

fn main() {}
