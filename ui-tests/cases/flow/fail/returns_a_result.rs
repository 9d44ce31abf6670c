//! A flow returns a `Result`; a part may return anything.

use loom::prelude::*;

#[flow]
async fn nothing(ctx: Ctx) {
    let _ = ctx.now();
}

#[flow]
async fn number(ctx: Ctx) -> u32 {
    let _ = ctx.now();
    1
}

fn main() {}
