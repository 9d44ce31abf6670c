//! What could not be read may have been the engine's variant.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum ShopError {
    Declined,
    #[failure(engin)]
    Engine(EffectError),
}

fn main() {}
