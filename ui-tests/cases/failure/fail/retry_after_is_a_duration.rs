//! The time until another attempt has a unit.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum ShopError {
    #[failure(retry_after = "5")]
    Busy,
    #[failure(retry_after = 5)]
    Busier,
    #[failure(retry_after)]
    Busiest,
    #[failure(engine)]
    Engine(EffectError),
}

fn main() {}
