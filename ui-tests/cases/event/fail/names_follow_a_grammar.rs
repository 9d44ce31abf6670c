//! No name can forge an id.

use loom::prelude::*;

#[event(name = "Order Placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct OrderPlaced;

fn main() {}
