//! A failure is an enum.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct ShopError {
    message: String,
}

fn main() {}
