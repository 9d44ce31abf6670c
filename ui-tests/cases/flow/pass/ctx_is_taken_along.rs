//! `async move` blocks take the context along by a clone or a reference of its own name; a block that is awaited where it
//! stands runs there, so that the loop around it counts its calls.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    let mut all = Vec::new();
    for line in &lines {
        let ctx = &ctx;
        all.push(async move { ctx.run(ship(*line)).key(line).await });
    }
    try_join_all(all).await?;
    for line in lines {
        async { ctx.run(ship(line)).id("again").await }.await?;
    }
    let ctx = &ctx;
    let last = async move { ctx.run(ship(0)).id("last").await };
    last.await?;
    Ok(())
}

fn main() {}
