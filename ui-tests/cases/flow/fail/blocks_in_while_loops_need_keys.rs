//! So does one that a `while` makes.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, mut lines: Vec<u32>) -> loom::Result<()> {
    let mut calls = Vec::new();
    while let Some(line) = lines.pop() {
        let ctx = &ctx;
        calls.push(async move { ctx.run(ship(line)).await });
    }
    join_all(calls).await;
    Ok(())
}

fn main() {}
