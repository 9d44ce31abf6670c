//! A parameter has a schema, for whoever looks at the log.

use loom::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Order {
    lines: Vec<u32>,
}

#[step]
async fn charge(order: Order) -> loom::Result<usize> {
    Ok(order.lines.len())
}

fn main() {}
