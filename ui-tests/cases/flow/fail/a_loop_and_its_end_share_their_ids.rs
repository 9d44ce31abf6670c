//! In a loop and behind it: `ship#0` and `ship` are two, and yet one name stands for both.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<u32> {
    for line in lines {
        ctx.run(ship(line)).await?;
    }
    ctx.run(ship(0)).await
}

fn main() {}
