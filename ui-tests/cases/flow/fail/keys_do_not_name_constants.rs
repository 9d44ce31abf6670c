//! A constant is the same in every round, whatever it is called.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

const LINE: u32 = 1;

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    for line in lines {
        ctx.run(ship(line)).key(LINE).await?;
    }
    Ok(())
}

fn main() {}
