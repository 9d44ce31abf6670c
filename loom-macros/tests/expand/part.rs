//! A part of a flow.

/// Take the money, or ask again until somebody pays.
#[flow(part)]
async fn pay(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
    while ctx.run(is_unpaid(order.id)).await? {
        ctx.sleep(days(1)).await;
    }
    ctx.run(charge(order)).await
}
