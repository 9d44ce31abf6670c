//! What is run is called before, and held in a variable.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow(part)]
async fn pay(ctx: Ctx, sum: u32) -> loom::Result<u32> {
    ctx.run(ship(sum)).await
}

#[flow]
async fn audit(_: Ctx, line: u32) -> loom::Result<u32> {
    Ok(line)
}

/// What it takes, only the call tells.
fn ship_to(line: impl Into<u32>) -> loom::StepCall<ship> {
    ship(line.into())
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<u32> {
    let call = ship(1);
    let mut sum = ctx.run(call).id("first").await?;
    let call: loom::StepCall<ship> = ship_to(2_u8);
    sum += ctx.run(call).id("second").await?;
    let ship = ship(sum);
    sum += ctx.run(ship).id("third").await?;
    for line in lines {
        let (call, part) = (audit(line), pay(line));
        sum += ctx.call(call).id("audit").await? + ctx.part("once", part).await?;
        let part = pay(line);
        sum += ctx.part("again", part).await?;
    }
    Ok(sum)
}

fn main() {}
