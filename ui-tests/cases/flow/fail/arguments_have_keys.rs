//! A value by itself is no argument.

use loom::prelude::*;

#[flow("checkout")]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.sleep(days(1)).await;
    Ok(())
}

#[step(3, retry("often"))]
async fn charge() -> loom::Result<()> {
    Ok(())
}

fn main() {}
