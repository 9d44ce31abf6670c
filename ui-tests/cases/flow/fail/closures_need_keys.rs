//! Nothing counts how often a closure runs.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    join_all(lines.iter().map(|line| ctx.run(ship(*line)))).await;
    Ok(())
}

fn main() {}
