//! A class says what is reached, once.

use loom::prelude::*;

#[step(effects("http", "mail", "http"))]
async fn notify() -> loom::Result<()> {
    Ok(())
}

#[flow(effects("http", "mail.*", "mail.*"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.run(notify()).await
}

fn main() {}
