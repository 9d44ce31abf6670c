//! An `async` block that a closure makes runs as often as the closure does.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    let calls = lines.into_iter().map(|line| {
        let ctx = ctx.clone();
        async move { ctx.run(ship(line)).await }
    });
    join_all(calls).await;
    Ok(())
}

fn main() {}
