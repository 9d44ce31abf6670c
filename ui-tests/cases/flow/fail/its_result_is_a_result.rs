//! An option is no result, nor is an alias of something else.

use loom::prelude::*;

type Outcome = (u32, u32);

#[flow]
async fn option(ctx: Ctx) -> Option<u32> {
    let _ = ctx.now();
    None
}

#[flow]
async fn alias(ctx: Ctx) -> Outcome {
    let _ = ctx.now();
    (1, 2)
}

fn main() {}
