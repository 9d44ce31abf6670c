//! What the `select!` of futures has besides, and a branch without a pattern: one error each, in the user's terms.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    select! {
        paid = ctx.run(charge(order)) => paid,
        default => Ok(0),
        complete => Ok(1),
    }
}

#[flow]
async fn late(ctx: Ctx, order: u32) -> loom::Result<u32> {
    tokio::select! {
        biased;
        ctx.run(charge(order)) => Ok(order),
        () = ctx.sleep(days(1)) => Ok(0),
    }
}

#[flow]
async fn random(ctx: Ctx, order: u32) -> loom::Result<u32> {
    futures_util::select! {
        paid = ctx.run(charge(order)) => paid,
        complete => Ok(1),
    }
}

fn main() {}
