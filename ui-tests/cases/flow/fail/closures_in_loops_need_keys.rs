//! A loop counts its own rounds, not those of a closure in it.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, parcels: Vec<Vec<u32>>) -> loom::Result<()> {
    for lines in parcels {
        try_join_all(lines.iter().map(|line| ctx.run(ship(*line)))).await?;
    }
    Ok(())
}

fn main() {}
