//! A flow that breaks rules: its errors, and the stub that keeps its callers quiet.

#[flow]
fn checkout(ctx: Ctx, order: Order, coupon: Coupon) -> Result<Receipt, ShopError> {
    let started = SystemTime::now();
    ctx.run(charge(order)).await
}
