//! `#[step]` belongs on a function.

use loom::prelude::*;

#[step]
struct Charge;

fn main() {}
