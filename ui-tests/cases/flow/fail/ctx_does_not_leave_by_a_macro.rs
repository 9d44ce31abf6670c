//! A macro of the flow's own file is as unreadable as any other.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

macro_rules! now {
    ($ctx:expr) => {
        $ctx.now()
    };
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = now!(ctx);
    tokio::pin! {
        let paid = ctx.run(charge(order));
    }
    paid.await
}

fn main() {}
