//! A key in a closure that mentions nothing of its round.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    let order = lines.len();
    join_all(lines.iter().map(|line| ctx.run(ship(*line)).key(order))).await;
    join_all(lines.iter().map(|line| ctx.run(ship(*line)).id("again").key("line"))).await;
    Ok(())
}

fn main() {}
