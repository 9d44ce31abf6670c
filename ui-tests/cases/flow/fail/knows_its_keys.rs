//! Unknown keys get a suggestion.

use loom::prelude::*;

#[flow(prat)]
async fn pay(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

#[flow(timeout = "3d")]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

fn main() {}
