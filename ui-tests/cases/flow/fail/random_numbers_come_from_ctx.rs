//! `thread_rng`, `fastrand` and what is passed as a function.

use loom::prelude::*;

mod fastrand {
    pub fn u32(_: std::ops::Range<u32>) -> u32 {
        4
    }
}
fn thread_rng() -> u32 {
    4
}

#[flow]
async fn checkout(ctx: Ctx, orders: Vec<u32>) -> loom::Result<u32> {
    let _ = ctx.random();
    let seed = orders.first().copied().unwrap_or_else(thread_rng);
    Ok(seed + fastrand::u32(0..3))
}

fn main() {}
