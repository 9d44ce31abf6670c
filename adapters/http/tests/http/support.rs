//! A shop over HTTP: flows with every shape that the wire has to carry, and a server for them.
//! Not an example to follow: the README has one.

use std::time::Duration;

use loom::{Entry, Memory, Registry, WorkerOptions, ports::Store, prelude::*};
use loom_http::{Client, Config, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const TOKEN: &str = "the operator's token";
pub(crate) const READ: &str = "the reader's token";
pub(crate) const WORK: &str = "the workers' token";

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
}

/// Reserve stock.
#[step]
pub(crate) async fn reserve(sku: String, qty: u32) -> Result<String, ShopError> {
    Ok(format!("{qty} of {sku}"))
}

/// Take the money, never twice.
#[step(at_most_once)]
pub(crate) async fn charge(amount: u32) -> Result<String, ShopError> {
    assert!(amount != 13, "the card reader broke");
    Ok(format!("receipt for {amount}"))
}

/// Sell something, with a manager's word.
#[flow]
pub(crate) async fn checkout(ctx: Ctx, order: Order) -> Result<String, ShopError> {
    let hold = ctx.run(reserve(order.sku.clone(), order.qty)).await?;
    let answer = ctx.suspend::<Approval>("manager").await?;
    if !answer.approved {
        return Err(ShopError::Declined);
    }
    Ok(hold)
}

/// Charge an amount. `13` breaks the card reader.
#[flow]
pub(crate) async fn till(ctx: Ctx, amount: u32) -> Result<String, ShopError> {
    ctx.run(charge(amount)).await
}

/// Adds up what it is sent, until it is asked for the sum.
#[flow]
pub(crate) async fn adder(ctx: Ctx) -> Result<i64, ShopError> {
    let mut sum = 0;
    loop {
        let told = ctx.receive::<i64>("numbers").update().await?;
        if told.body() < &0 {
            told.reject("no negative numbers").await?;
            continue;
        }
        sum += *told.body();
        told.accept(&sum).await?;
        if sum >= 100 {
            return Ok(sum);
        }
    }
}
