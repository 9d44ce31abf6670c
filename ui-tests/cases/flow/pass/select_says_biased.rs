//! `select!` of the prelude is biased, and may be told so.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    select! {
        biased;
        charged = ctx.run(charge(order)) => charged,
        () = ctx.sleep(days(1)) => Ok(0),
    }
}

fn main() {}
