//! A parameter names a field of the recorded input.

use loom::prelude::*;

#[step]
async fn charge((order, card): (u32, u32), _: u32) -> loom::Result<u32> {
    Ok(order + card)
}

fn main() {}
