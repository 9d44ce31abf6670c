//! What the function of a trait gives is known by the type in front of it.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

trait Charged {
    fn charged(self) -> loom::StepCall<charge>;
}

impl Charged for u32 {
    fn charged(self) -> loom::StepCall<charge> {
        charge(self)
    }
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(Charged::charged(order)).await
}

fn main() {}
