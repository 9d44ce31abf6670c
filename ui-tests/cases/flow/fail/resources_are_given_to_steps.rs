//! What a process provides is for the steps that run in it.

use loom::prelude::*;

struct Bank;

#[flow]
async fn checkout(ctx: Ctx, bank: Res<Bank>, order: u32) -> loom::Result<u32> {
    let _ = bank;
    Ok(order)
}

fn main() {}
