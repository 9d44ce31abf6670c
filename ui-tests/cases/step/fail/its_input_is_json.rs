//! What a step is given is recorded.

use loom::prelude::*;

struct Order;

#[step]
async fn charge(order: Order) -> loom::Result<u32> {
    let _ = order;
    Ok(1)
}

fn main() {}
