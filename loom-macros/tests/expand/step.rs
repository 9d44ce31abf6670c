//! A step with everything: resources, its context, input, policies.

/// Reserve stock for an order.
#[step(retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("warehouse.write"))]
pub async fn reserve(
    stock: Res<Warehouse>,
    step: StepCx,
    /// What to reserve.
    sku: String,
    mut qty: u32,
) -> Result<Hold, ShopError> {
    qty += 1;
    stock.hold(step.idempotency_key(), sku, qty).await
}
