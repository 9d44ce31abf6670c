//! A flow or step is called by the runtime, as a plain function: what else its signature asks of callers is refused.

use loom::prelude::*;

#[step]
async unsafe fn peek(address: u32) -> loom::Result<u32> {
    Ok(address)
}

#[step]
async extern "C" fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[step]
const async fn ship(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async unsafe fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(peek(order)).await?;
    ctx.run(charge(order)).await?;
    ctx.run(ship(order)).await
}

fn main() {}
