//! What a step returns is recorded.

use loom::prelude::*;

struct Receipt;

#[step]
async fn charge(order: u32) -> loom::Result<Receipt> {
    let _ = order;
    Ok(Receipt)
}

fn main() {}
