//! Folds of a named type, and nothing else.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

trait Fold {}

#[projection]
impl<T> Fold for Vec<T> {}

#[projection]
impl Totals {
    const LIMIT: u64 = 3;
}

#[projection]
struct Other;

fn main() {}
