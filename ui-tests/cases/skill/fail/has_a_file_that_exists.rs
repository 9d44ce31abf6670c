//! The compiler reads the file, and says so at its name.

use loom::prelude::*;

/// About money.
#[skill(file = "refund.md")]
struct Refunds;

fn main() {}
