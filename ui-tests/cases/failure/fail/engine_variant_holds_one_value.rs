//! The engine's variant holds one unnamed `EffectError`.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum Named {
    #[failure(engine)]
    Engine { error: EffectError },
}

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum Empty {
    #[failure(engine)]
    Engine,
}

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum Foreign {
    #[failure(engine)]
    Engine(String),
}

fn main() {}
