//! Neither a flow nor a part is generic.

use loom::prelude::*;

#[flow]
async fn checkout<T>(ctx: Ctx, order: T) -> loom::Result<()> {
    let _ = (ctx.now(), order);
    Ok(())
}

#[flow(part)]
async fn pay(ctx: Ctx, order: impl Send) {
    let _ = (ctx.now(), order);
}

fn main() {}
