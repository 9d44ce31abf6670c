//! An `async` block that a loop makes runs when the loop counts no more.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    let mut calls = Vec::new();
    for line in lines {
        let ctx = ctx.clone();
        calls.push(async move { ctx.run(ship(line)).await });
    }
    join_all(calls).await;
    Ok(())
}

fn main() {}
