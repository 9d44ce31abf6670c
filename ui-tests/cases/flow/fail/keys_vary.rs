//! A key that is the same in every repetition tells nothing apart.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    for line in 0..order {
        ctx.run(ship(line)).key("line").await?;
        for part in 0..line {
            ctx.run(ship(part)).id("part").key(format!("{order}-{line}")).await?;
        }
    }
    Ok(())
}

fn main() {}
