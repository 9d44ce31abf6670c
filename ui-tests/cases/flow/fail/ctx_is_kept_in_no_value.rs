//! Kept in a struct, a tuple or a field, the context has another name.

use loom::prelude::*;

struct Shop {
    ctx: Ctx,
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let shop = Shop { ctx };
    let _ = shop.ctx.now();
    Ok(())
}

#[flow]
async fn paired(ctx: Ctx) -> loom::Result<()> {
    let pair = (ctx, 1);
    let _ = pair.0.now();
    Ok(())
}

fn main() {}
