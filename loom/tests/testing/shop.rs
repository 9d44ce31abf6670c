//! A shop: the flow that most of these tests are about. Nothing in it is wrong.

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    pub(crate) sku: String,
    pub(crate) total: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Receipt {
    pub(crate) total: u32,
    pub(crate) parcel: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Approval {
    pub(crate) approved: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
pub(crate) enum ShopError {
    Unreachable,
    #[failure(permanent)]
    Declined,
    #[failure(engine)]
    Engine(EffectError),
}

/// What no test provides.
pub(crate) struct Warehouse;

#[step(retry(attempts = 3, initial = "1m"))]
pub(crate) async fn reserve(_stock: Res<Warehouse>, sku: String, qty: u32) -> Result<u32, ShopError> {
    let _ = sku;
    Ok(qty)
}

#[step(at_most_once)]
pub(crate) async fn charge(_bank: Res<Warehouse>, order: Order) -> Result<u32, ShopError> {
    Ok(order.total)
}

#[step]
pub(crate) async fn ship(sku: String) -> Result<String, ShopError> {
    Ok(format!("parcel with {sku}"))
}

#[flow]
pub(crate) async fn checkout(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
    ctx.run(reserve(order.sku.clone(), 1)).await?;
    let asked = ctx.suspend::<Approval>("approval").timeout(days(3)).await;
    if !asked.is_ok_and(|answer| answer.approved) {
        return Err(ShopError::Declined);
    }
    let total = ctx.run(charge(order.clone())).await?;
    let parcel = ctx.run(ship(order.sku)).await?;
    Ok(Receipt { total, parcel })
}

pub(crate) fn order() -> Order {
    Order { sku: "tea".into(), total: 30 }
}
