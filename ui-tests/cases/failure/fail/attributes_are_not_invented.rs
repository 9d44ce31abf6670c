//! Keys that do not exist, on variants and on the enum.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[failure(engine)]
enum ShopError {
    #[failure(transient)]
    Busy,
    #[failure(engine)]
    Engine(EffectError),
}

fn main() {}
