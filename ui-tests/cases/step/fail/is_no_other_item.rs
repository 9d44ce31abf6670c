//! A struct, a constant, an `impl`.

use loom::prelude::*;

struct Shop;

#[step]
impl Shop {}

#[step]
static CHARGE: u32 = 1;

fn main() {}
