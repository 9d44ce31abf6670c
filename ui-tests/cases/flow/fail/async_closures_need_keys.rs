//! An `async` closure is a closure.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    let send = async |line| ctx.run(ship(line)).await;
    for line in lines {
        send(line).await?;
    }
    Ok(())
}

fn main() {}
