//! Versions of events and of the states of projections.

use loom::prelude::*;

#[event(name = "placed", version = 0)]
#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection(version = 5_000_000_000)]
impl Placed {}

fn main() {}
