//! One flow and its three steps as people write them.
//! Not compiled here: the text goes into a generated crate.

/// The module of the flow of this number.
pub(super) fn module(n: usize) -> String {
    TEMPLATE.replace("{n}", &n.to_string())
}

const TEMPLATE: &str = r#"//! An order.

use loom::prelude::*;

use crate::types::*;

/// Put stock aside.
#[step(retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("stock.write"))]
pub async fn reserve_{n}(stock: Res<Warehouse>, sku: String, qty: u32) -> Result<Hold, ShopError> {
    let _ = &*stock;
    Ok(Hold { sku, qty })
}

/// Send one parcel.
#[step]
pub async fn ship_{n}(line: String) -> Result<String, ShopError> {
    Ok(format!("parcel-{line}"))
}

/// Take the money.
#[step(at_most_once, effects("payments.write"))]
pub async fn charge_{n}(step: StepCx, order: Order, hold: Hold) -> Result<Receipt, ShopError> {
    Ok(Receipt { payment: format!("{}-{}-{}", order.qty, hold.qty, step.idempotency_key()) })
}

/// An order, from stock to receipt.
#[flow(name = "checkout_{n}")]
pub async fn checkout_{n}(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
    let hold = ctx.run(reserve_{n}(order.sku.clone(), order.qty)).await?;
    if order.qty > 100 {
        let answer = ctx.suspend::<Approval>("manager").timeout(days(3)).await?;
        if !answer.approved {
            return Err(ShopError::Declined);
        }
    }
    for line in &order.lines {
        ctx.run(ship_{n}(line.clone())).await?;
    }
    ctx.run(charge_{n}(order, hold)).await
}
"#;
