//! A crate of flows that programs name in code.
//! Not all of it is public: what nobody could call is registered as well.

use loom::prelude::*;

/// What a program may mention.
pub const NAME: &str = "orders";

#[step]
async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

/// Sell an order.
#[flow]
pub async fn checkout(ctx: Ctx, amount: u32) -> loom::Result<u32> {
    ctx.run(charge(amount)).await
}

mod inner {
    use loom::prelude::*;

    #[flow]
    async fn refund(ctx: Ctx, amount: u32) -> loom::Result<u32> {
        ctx.run(super::charge(amount)).await
    }
}
