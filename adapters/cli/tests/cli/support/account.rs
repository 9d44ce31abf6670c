//! The accounts of the shop: a flow that is told and asked things by messages.
//! Nothing else: gates are `shop`'s.

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an account is closed.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Closing {
    /// By whom.
    pub(crate) by: String,
}

/// Keeps a balance until it is closed, and then asks twice to be sure.
#[flow]
pub(crate) async fn account(ctx: Ctx) -> loom::Result<i64> {
    let mut balance = 0;
    loop {
        select! {
            deposit = ctx.receive::<i64>("deposit").update::<i64>() => match deposit.value {
                ..0 => deposit.reject("nobody deposits a debt"),
                amount => {
                    balance += amount;
                    deposit.accept(&balance);
                }
            },
            _ = ctx.receive::<Closing>("close") => break,
        }
    }
    ctx.receive::<()>("sure").await;
    Ok(balance)
}

/// Replies to a question once somebody else has said yes or no.
#[flow]
pub(crate) async fn clerk(ctx: Ctx) -> loom::Result<()> {
    loop {
        let question = ctx.receive::<String>("ask").update::<bool>().await;
        let answer = ctx.suspend::<bool>("boss").await?;
        question.accept(&answer);
    }
}

/// Asks whether all is in order before it ends.
#[flow]
pub(crate) async fn careful(ctx: Ctx) -> loom::Result<()> {
    select! {
        _ = ctx.cancelled() => {}
        () = ctx.receive::<()>("never") => {}
    }
    ctx.suspend::<bool>("order").await?;
    Ok(())
}

/// Never rests: it looks every few moments whether somebody has asked.
#[flow]
pub(crate) async fn ticker(ctx: Ctx) -> loom::Result<()> {
    let mut ticks: i64 = 0;
    loop {
        select! {
            asked = ctx.receive::<()>("ticks").update::<i64>() => asked.accept(&ticks),
            () = ctx.sleep(std::time::Duration::from_millis(20)) => ticks += 1,
        }
    }
}
