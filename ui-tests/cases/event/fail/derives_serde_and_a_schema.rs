//! What an event needs is the user's to derive.

use loom::prelude::*;

#[event(name = "placed")]
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Placed;

fn main() {}
