//! `#[flow]` belongs on a function.

use loom::prelude::*;

#[flow]
mod shop {}

#[flow]
const SHOP: u32 = 1;

fn main() {}
