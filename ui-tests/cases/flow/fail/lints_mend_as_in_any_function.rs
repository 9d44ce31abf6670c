//! The compiler's lints mend the body of a flow as that of any other function: what they suggest leaves every call whole.
#![deny(unused_must_use, unused_parens)]

use loom::prelude::*;

#[step]
async fn add(a: u32, b: u32) -> loom::Result<u32> {
    Ok(a + b)
}

fn check(sum: u32) -> loom::Result<u32> {
    Ok(sum)
}

#[flow]
async fn parentheses(ctx: Ctx) -> loom::Result<u32> {
    let _ = (ctx.run(add(1, 2)).id("deposit").await?);
    let _ = (check(3)?);
    if (ctx.suspend::<bool>("manager").await?) {
        return (ctx.run(add(3, 4)).await);
    }
    match (ctx.suspend::<bool>("owner").await) {
        _ => Ok(1),
    }
}

#[flow]
async fn question_marks(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(add(1, 2)).await;
    check(3)
}

fn main() {}
