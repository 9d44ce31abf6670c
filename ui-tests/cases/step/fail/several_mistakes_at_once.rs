//! Every mistake is reported, each at its own place.

use loom::prelude::*;

#[step(tiemout = "10s")]
fn charge(ctx: Ctx, order: &str, (card, code): (u32, u32)) {
    let _ = (ctx, order, card, code);
}

fn main() {}
