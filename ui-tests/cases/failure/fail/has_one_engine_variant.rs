//! The engine has one variant.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum ShopError {
    #[failure(engine)]
    Engine(EffectError),
    #[failure(engine)]
    Other(EffectError),
}

fn main() {}
