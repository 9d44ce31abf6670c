//! A helper in a loop without a key: it takes the context, and nothing counts its calls.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

async fn send(ctx: &Ctx, line: u32) -> loom::Result<u32> {
    ctx.run(ship(line)).id("ship").await
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    for line in lines {
        send(&ctx, line).await?;
    }
    Ok(())
}

fn main() {}
