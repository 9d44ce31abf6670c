//! Keys that differ, though not by what the innermost closure takes.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

/// Runs what it is given, once.
async fn logged<T>(work: impl AsyncFnOnce() -> T) -> T {
    work().await
}

#[flow]
async fn checkout(ctx: Ctx, mut lines: Vec<u32>) -> loom::Result<u32> {
    let mut round = 0;
    while round < 3 {
        ctx.run(ship(round)).key(round).await?;
        round += 1;
    }
    for line in lines.clone() {
        let send = async |part: u32| ctx.run(ship(part)).id("part").key(line).await;
        send(line + 1).await?;
        logged(async || ctx.run(ship(line)).id("logged").key(line).await).await?;
    }
    while !lines.is_empty() {
        ctx.run(ship(lines[0])).id("rest").key(lines[0]).await?;
        lines.remove(0);
    }
    let last = async |line: u32| ctx.run(ship(line)).id("last").key("last").await;
    last(round).await
}

fn main() {}
