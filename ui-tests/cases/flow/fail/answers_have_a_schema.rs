//! Whoever answers a gate must be able to know what to say.

use loom::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Approval {
    approved: bool,
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    Ok(ctx.suspend::<Approval>("manager").await?.approved)
}

fn main() {}
