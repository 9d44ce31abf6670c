//! A macro that is not read hides its calls.

use loom::prelude::*;

macro_rules! twice {
    ($call:expr) => {{
        let _ = $call;
        $call
    }};
}

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    twice!(ctx.run(charge(order)).await)
}

fn main() {}
