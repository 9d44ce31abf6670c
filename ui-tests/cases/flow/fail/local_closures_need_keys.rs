//! A closure with a name may be called anywhere, any number of times.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    let send = |line| ctx.run(ship(line));
    for line in lines {
        send(line).await?;
    }
    send(0).await?;
    Ok(())
}

fn main() {}
