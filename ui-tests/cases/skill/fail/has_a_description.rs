//! All that a model sees before it looks the skill up.

use loom::prelude::*;

#[skill(file = "refunds.md")]
struct Refunds;

fn main() {}
