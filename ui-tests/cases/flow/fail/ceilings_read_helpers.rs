//! A helper under a ceiling gives the call of a step.

use loom::prelude::*;

async fn fetch(page: u32) -> loom::Result<u32> {
    Ok(page)
}

fn count(page: u32) -> u32 {
    page
}

#[flow(effects("http"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch(1)).await?;
    ctx.part("count", count(1)).await;
    Ok(())
}

fn main() {}
