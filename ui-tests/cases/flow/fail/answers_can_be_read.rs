//! An answer comes in as JSON.

use loom::prelude::*;

#[derive(schemars::JsonSchema)]
struct Approval {
    approved: bool,
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    Ok(ctx.suspend::<Approval>("manager").await?.approved)
}

fn main() {}
