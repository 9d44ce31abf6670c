//! A macro that brings the context back in by itself.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    macro_rules! pay {
        () => {
            ctx.run(charge(order)).await
        };
    }
    pay!()
}

fn main() {}
