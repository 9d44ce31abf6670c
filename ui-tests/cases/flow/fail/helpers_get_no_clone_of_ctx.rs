//! A clone of the context is the context: it is handed to nobody.

use loom::prelude::*;

async fn send(ctx: Ctx) {
    let _ = ctx.now();
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    send(ctx.clone()).await;
    send((ctx.clone())).await;
    Ok(())
}

fn main() {}
