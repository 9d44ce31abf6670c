//! A fresh id is another one on replay.

use loom::prelude::*;

struct Uuid;
impl Uuid {
    fn new_v4() -> u32 {
        4
    }
    fn now_v7() -> u32 {
        7
    }
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    let _ = ctx.uuid();
    Ok(Uuid::new_v4() + Uuid::now_v7())
}

fn main() {}
