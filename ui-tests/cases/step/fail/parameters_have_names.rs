//! Patterns and wildcards name no field of the recorded input.

use loom::prelude::*;

struct Order {
    qty: u32,
}

#[step]
async fn charge(Order { qty }: Order) -> loom::Result<u32> {
    Ok(qty)
}

#[step]
async fn count(_: u32, ref order: u32) -> loom::Result<u32> {
    Ok(*order)
}

fn main() {}
