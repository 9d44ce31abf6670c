//! Twice the same tool is a slip of the hand.

use loom::prelude::*;

/// Look up an order.
#[tool]
async fn find_order(number: String) -> loom::Result<String> {
    Ok(number)
}

/// You answer customers.
#[agent(tools = [find_order, find_order])]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
