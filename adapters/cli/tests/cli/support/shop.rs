//! The program under test: a shop, with every shape of flow that the command line has to show.
//! Not an example to follow: `examples/checkout` is.

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can go wrong in the shop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
pub(crate) enum ShopError {
    /// The manager said no.
    Declined,
    /// What the engine reports.
    #[failure(engine)]
    Engine(EffectError),
}

/// What somebody wants.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    /// The article.
    pub(crate) sku: String,
    /// How many.
    pub(crate) qty: u32,
}

/// The manager's word.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Approval {
    /// Yes or no.
    pub(crate) approved: bool,
    /// Why.
    pub(crate) note: Option<String>,
}

/// Reserve stock for an order.
///
/// The warehouse forgets holds after a day.
#[step(retry(attempts = 3, initial = "10ms"), timeout = "10s")]
pub(crate) async fn reserve(sku: String, qty: u32) -> Result<String, ShopError> {
    Ok(format!("{qty} of {sku}"))
}

/// Send one parcel.
#[step]
pub(crate) async fn ship(parcel: u32) -> Result<u32, ShopError> {
    Ok(parcel)
}

/// Look the price up.
#[step(pure)]
pub(crate) async fn price(qty: u32) -> Result<u32, ShopError> {
    Ok(qty * 3)
}

/// Take the money, never twice.
#[step(at_most_once)]
pub(crate) async fn charge(amount: u32) -> Result<String, ShopError> {
    assert!(amount != 13, "the card reader broke");
    Ok(format!("receipt for {amount}"))
}

/// Ask, charge, and say so.
#[flow(part)]
pub(crate) async fn payment(ctx: Ctx, amount: u32) -> Result<String, ShopError> {
    let answer = ctx.suspend::<Approval>("cashier").await?;
    if !answer.approved {
        return Err(ShopError::Declined);
    }
    ctx.run(charge(amount)).await
}

/// Sell something, with a manager's word on large orders.
#[flow]
pub(crate) async fn checkout(ctx: Ctx, order: Order) -> Result<u32, ShopError> {
    ctx.run(reserve(order.sku.clone(), order.qty)).await?;
    if order.qty > 10 {
        let answer = ctx.suspend::<Approval>("manager").timeout(days(3)).await?;
        if !answer.approved {
            return Err(ShopError::Declined);
        }
    }
    let mut sent = 0;
    for parcel in 0..order.qty.min(2) {
        sent += ctx.run(ship(parcel)).await?;
    }
    Ok(sent)
}

/// Price and pay, side by side, then wait for the courier.
#[flow]
pub(crate) async fn pay(ctx: Ctx, qty: u32) -> Result<String, ShopError> {
    let (price, parcel) = join!(ctx.run(price(qty)), ctx.run(ship(qty)));
    let (price, _) = (price?, parcel?);
    let receipt = match qty {
        0 => "nothing to pay".to_owned(),
        _ => ctx.part("till", payment(price)).await?,
    };
    ctx.sleep(millis(20)).await;
    Ok(receipt)
}

/// Charge an amount. `13` breaks the card reader.
#[flow]
pub(crate) async fn till(ctx: Ctx, amount: u32) -> Result<String, ShopError> {
    ctx.run(charge(amount)).await
}

/// Stops at a bug, unless it is told not to.
#[flow]
pub(crate) async fn buggy(ctx: Ctx) -> Result<u32, ShopError> {
    let sent = ctx.run(ship(1)).await?;
    assert!(MENDED.load(std::sync::atomic::Ordering::Relaxed), "index out of bounds");
    Ok(sent)
}

/// Whether [`buggy`] is mended.
pub(crate) static MENDED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Asks two people, one of them for more.
#[flow]
pub(crate) async fn signed(ctx: Ctx) -> Result<bool, ShopError> {
    let first = ctx.suspend::<bool>("sign").await?;
    let second = ctx.suspend::<Approval>("sign").id("countersign").await?;
    Ok(first && second.approved)
}

/// Waits for a day.
#[flow]
pub(crate) async fn tomorrow(ctx: Ctx) -> Result<(), ShopError> {
    ctx.sleep(days(1)).await;
    Ok(())
}

/// Takes its time.
#[step]
pub(crate) async fn dawdle(ms: u64) -> Result<u64, ShopError> {
    tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
    Ok(ms)
}

/// Takes as long as it is told.
#[flow]
pub(crate) async fn slow(ctx: Ctx, ms: u64) -> Result<u64, ShopError> {
    ctx.run(dawdle(ms)).await
}

/// Ask the manager up to three times, with a parcel between.
#[flow]
pub(crate) async fn vote(ctx: Ctx) -> Result<u32, ShopError> {
    for round in 0..3 {
        match ctx.suspend::<Approval>("manager").timeout(days(1)).await {
            Ok(answer) if answer.approved => return Ok(round),
            Ok(_) => break,
            Err(_) => {
                ctx.run(ship(round)).await?;
            }
        }
    }
    Err(ShopError::Declined)
}
