//! A name for a literal is the literal: it tells no two repetitions apart.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    for line in lines {
        let priority = 5;
        let mut number = 5;
        number += line;
        ctx.run(ship(line)).key(priority).await?;
        ctx.run(ship(line)).id("numbered").key(number).await?;
    }
    Ok(())
}

fn main() {}
