//! The shop: three steps that change the world, one that undoes, and the flow that puts them in order.
//! Nothing here knows how executions are stored, resumed or replayed.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// What is ordered.
    pub sku: String,
    /// How many. More than 100 need a manager's approval.
    pub qty: u32,
    /// The parcels that it is shipped in.
    pub lines: Vec<String>,
}

/// What a manager answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Whether the order may go on.
    pub approved: bool,
}

/// Stock that is put aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// What.
    pub sku: String,
    /// How many.
    pub qty: u32,
}

/// What the customer gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The payment's reference.
    pub payment: String,
    /// The parcels under way.
    pub parcels: Vec<String>,
}

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
pub enum ShopError {
    /// The manager said no.
    #[failure(permanent)]
    Declined,
    /// The warehouse did not answer.
    Unreachable,
    /// The engine reports.
    #[failure(engine)]
    Engine(EffectError),
}

type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// The outside world: a ledger with one line per effect.
pub struct Warehouse {
    ledger: PathBuf,
    pace: Duration,
    after: Option<Hook>,
}

impl Warehouse {
    /// A warehouse that writes to `ledger`, and takes `pace` for everything.
    pub fn new(ledger: &Path, pace: Duration) -> Self {
        Self { ledger: ledger.into(), pace, after: None }
    }

    /// Calls `hook` with every line once it is written, before the step returns: where a test pulls the plug.
    #[must_use]
    pub fn after_each(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.after = Some(Arc::new(hook));
        self
    }

    async fn perform(&self, step: &StepCx, what: &str) -> Result<(), ShopError> {
        tokio::time::sleep(self.pace).await;
        let line = format!("{} {what} key={}\n", step.execution(), step.idempotency_key());
        let file = OpenOptions::new().create(true).append(true).open(&self.ledger);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|_| ShopError::Unreachable)?;
        if let Some(hook) = &self.after {
            hook(what);
        }
        Ok(())
    }
}

/// Put stock aside.
#[step(retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("stock.write"))]
pub async fn reserve(stock: Res<Warehouse>, step: StepCx, sku: String, qty: u32) -> Result<Hold, ShopError> {
    stock.perform(&step, "reserve").await?;
    Ok(Hold { sku, qty })
}

/// Give it back.
#[step(retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("stock.write"))]
pub async fn release(stock: Res<Warehouse>, step: StepCx, hold: Hold) -> Result<u32, ShopError> {
    stock.perform(&step, "release").await?;
    Ok(hold.qty)
}

/// Send one parcel.
#[step(retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("parcels.write"))]
pub async fn ship(stock: Res<Warehouse>, step: StepCx, line: String) -> Result<String, ShopError> {
    stock.perform(&step, &format!("ship-{line}")).await?;
    Ok(format!("parcel-{line}"))
}

/// Take the money. Never retried blindly: a crash in the middle parks the order for a verdict.
#[step(at_most_once, timeout = "10s", effects("payments.write"))]
pub async fn charge(stock: Res<Warehouse>, step: StepCx, qty: u32) -> Result<String, ShopError> {
    stock.perform(&step, "charge").await?;
    Ok(format!("payment of {qty} boxes for {}", step.execution()))
}

/// An order, from stock to receipt.
#[flow]
pub async fn checkout(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
    let hold = ctx.run(reserve(order.sku.clone(), order.qty)).await?;
    if order.qty > 100 {
        let answer = ctx.suspend::<Approval>("manager").timeout(days(3)).await?;
        if !answer.approved {
            ctx.run(release(hold)).await?;
            return Err(ShopError::Declined);
        }
    }
    let mut parcels = Vec::new();
    for line in &order.lines {
        parcels.push(ctx.run(ship(line.clone())).await?); // ids ship#0, ship#1, …
    }
    let payment = ctx.run(charge(order.qty)).await?;
    Ok(Receipt { payment, parcels })
}
