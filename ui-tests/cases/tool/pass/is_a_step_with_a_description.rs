//! A tool is a step, and more.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::prelude::*;
use loom::{Step, Tool};

/// A resource.
#[derive(Debug)]
pub struct Shop;

/// Look up an order.
///
/// Numbers have dashes.
#[tool(reads, retry, timeout = "5s", effects("shop.read"))]
pub async fn find_order(
    shop: Res<Shop>,
    step: StepCx,
    /// The number on the invoice.
    number: String,
    /// Whether to list parcels.
    #[serde(default)]
    parcels: bool,
) -> loom::Result<String> {
    let _ = (&*shop, step.attempt(), parcels);
    Ok(number)
}

/// Used as a step.
#[flow]
pub async fn answer(ctx: Ctx, number: String) -> loom::Result<String> {
    ctx.run(find_order(number, false)).await
}

fn main() {
    let tool = find_order::TOOL;
    assert_eq!((tool.name(), tool.step.name), ("find_order", find_order::DESCRIPTOR.name));
    assert_eq!(tool.description(), "Look up an order.\n\nNumbers have dashes.");
    let schema = tool.arguments();
    assert_eq!(schema.pointer("/properties/parcels/description").unwrap(), "Whether to list parcels.");
    assert!(schema.pointer("/properties/shop").is_none() && schema.pointer("/properties/step").is_none());
}
