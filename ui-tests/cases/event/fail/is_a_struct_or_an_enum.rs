//! Data has one shape, and only types have data.

use loom::prelude::*;

#[event(name = "either")]
union Either {
    a: u32,
    b: f32,
}

#[event(name = "later")]
fn later() {}

fn main() {}
