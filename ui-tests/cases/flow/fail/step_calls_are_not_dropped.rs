//! `let _ =` runs nothing.

use loom::prelude::*;

mod shop {
    use super::*;

    #[step]
    pub async fn charge(order: u32) -> loom::Result<u32> {
        Ok(order)
    }
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<()> {
    let _ = shop::charge(order);
    for line in 0..order {
        let _ = shop::charge(line);
    }
    let _ = ctx.now();
    Ok(())
}

fn main() {}
