//! A call that nobody awaits does nothing.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    ctx.run(charge(order));
    ctx.sleep(days(1));
    ctx.suspend::<bool>("manager");
    drop(ctx.suspend::<bool>("chief"));
    Ok(())
}

fn main() {}
