//! A flow goes by its name in the log; so it is one.

use loom::prelude::*;

#[flow(name = "Check Out")]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow]
#[allow(non_snake_case)]
async fn CheckOut(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow(part, name = "pay/now")]
async fn pay(ctx: Ctx) {
    let _ = ctx.now();
}

fn main() {}
