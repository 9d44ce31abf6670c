//! Randomness gives another value on replay; `ctx.decide` would record it.

use loom::prelude::*;

mod rand {
    pub fn random() -> u32 {
        4
    }
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    ctx.decide("lucky", || rand::random()).await;
    Ok(rand::random())
}

fn main() {}
