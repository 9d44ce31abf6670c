//! Unknown keys get a suggestion, classes do not mix, durations have units.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[failure(krate = ::loom)]
enum ShopError {
    #[failure(permanant)]
    Declined,
    #[failure(permanent, retry_after = "5s")]
    Both,
    #[failure(retry_after = "soon")]
    Busy,
    #[failure(engine)]
    Engine(EffectError),
}

fn main() {}
