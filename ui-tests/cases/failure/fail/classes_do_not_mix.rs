//! Permanent or later, not both; and nothing for what the engine reports.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum ShopError {
    #[failure(permanent, retry_after = "5s")]
    Both,
    #[failure(engine, permanent)]
    Engine(EffectError),
}

fn main() {}
