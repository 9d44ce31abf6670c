//! A variable that could change, and does not in the loop around the call.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<u32> {
    let mut round = 0;
    for line in &lines {
        ctx.run(ship(*line)).key(round).await?;
    }
    round += 1;
    for line in lines {
        round += line;
        for part in 0..line {
            ctx.run(ship(part)).id("part").key(round).await?;
        }
    }
    Ok(round)
}

fn main() {}
