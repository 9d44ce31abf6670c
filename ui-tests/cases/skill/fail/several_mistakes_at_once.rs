//! Every mistake is reported, each at its own place.

use loom::prelude::*;

#[skill(name = "Refund Rules")]
struct Refunds(u32);

#[skill(fiel = "refunds.md")]
struct Other;

fn main() {}
