//! A constant, a static or a function of nothing.

use loom::prelude::*;

#[policy]
struct Careful;

#[policy]
const _: Policy = Policy::new();

#[policy]
async fn later(limit: u32) -> Policy {
    let _ = limit;
    Policy::new()
}

fn main() {}
