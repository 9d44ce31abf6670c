//! Two waits on one topic are two calls, and want two ids.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    let first = ctx.receive::<u32>("payments").await;
    Ok(first + ctx.receive::<u32>("payments").await)
}

fn main() {}
