//! Parts take several inputs, return anything, call parts, and repeat in loops.
#![deny(warnings, missing_docs)]

use loom::prelude::*;

/// A step.
#[step]
pub async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

/// A part in another module.
pub mod tax {
    use loom::prelude::*;

    /// Documented.
    #[flow(part, effects())]
    pub async fn of(ctx: Ctx, amount: u32) -> u32 {
        let _ = ctx.now();
        amount / 5
    }
}

/// A part that calls a part.
#[flow(part, effects("payments.write"))]
pub async fn pay(ctx: Ctx, amount: u32, tip: u32) -> loom::Result<(u32, u32)> {
    let tax = ctx.part("tax", tax::of(amount)).await;
    Ok((ctx.run(charge(amount + tax + tip)).await?, tax))
}

/// A flow without input.
#[flow(name = "check-out", effects("payments.write"))]
pub async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    let mut total = 0;
    for amount in 1..3 {
        total += ctx.part("pay", pay(amount, 1)).await?.0;
    }
    Ok(total)
}

fn main() {
    use loom::{Flow, Part};
    assert_eq!(<pay as Part>::DESCRIPTOR.parts.len(), 1);
    assert_eq!(<checkout as Flow>::DESCRIPTOR.name, "check-out");
    let _ = checkout();
}
