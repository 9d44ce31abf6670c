//! A fresh id is another one on replay.

use loom::prelude::*;
use uuid::Uuid;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u128> {
    let _ = ctx.uuid();
    Ok(Uuid::new_v4().as_u128() + Uuid::now_v7().as_u128())
}

fn main() {}
