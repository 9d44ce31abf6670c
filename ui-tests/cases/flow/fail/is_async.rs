//! A flow is an `async fn`.

use loom::prelude::*;

#[flow]
fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

fn main() {}
