//! The engine needs a variant for what it reports itself.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum ShopError {
    Declined,
}

fn main() {}
