//! A call in an arm of a `select!`, its condition or its handler.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    select! {
        paid = ctx.run(charge(order)), if order > 0 => paid,
        () = ctx.sleep(days(1)) => ctx.run(charge(0)).await,
    }
}

fn main() {}
