//! A value of another type than is wanted is shown as in any other function, and so is what to add or to remove.
use loom::prelude::*;

#[step]
async fn add(a: u32, b: u32) -> loom::Result<u32> {
    Ok(a + b)
}

#[flow]
async fn question_marks(ctx: Ctx) -> loom::Result<u32> {
    let sum: u32 = ctx.run(add(1, 2)).await;
    if ctx.suspend::<bool>("manager").await {
        return Ok(0);
    }
    Ok(sum)
}

#[flow]
async fn conversions(ctx: Ctx) -> loom::Result<String> {
    Ok(ctx.run(add(1, 2)).await?)
}

#[flow]
async fn semicolons(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(add(1, 2)).await;
}

#[flow]
async fn nothing(ctx: Ctx) -> loom::Result<u32> {
    // to be written
}

fn main() {}
