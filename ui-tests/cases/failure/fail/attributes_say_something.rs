//! `#[failure]` without arguments is a slip: it would mark nothing.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum ShopError {
    #[failure]
    Declined,
    #[failure(engine)]
    Engine(EffectError),
}

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum BankError {
    #[failure()]
    Engine(EffectError),
}

fn main() {}
