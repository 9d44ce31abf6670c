//! What mentions `Self` stands in an `impl`, with or without `self`.

use loom::prelude::*;

struct Shop;

impl Shop {
    const LIMIT: u32 = 3;

    #[step]
    async fn charge(order: u32) -> loom::Result<u32> {
        Ok(order.min(Self::LIMIT))
    }

    #[flow]
    async fn checkout(ctx: Ctx, _order: u32) -> loom::Result<u32> {
        ctx.sleep(days(1)).await;
        Self::charge(1).await
    }
}

fn main() {}
