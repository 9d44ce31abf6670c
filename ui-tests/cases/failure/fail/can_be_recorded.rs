//! A failure is kept in the log: serde and schema are the user's own derives.

use loom::prelude::*;

#[derive(Failure)]
enum ShopError {
    #[failure(engine)]
    Engine(EffectError),
}

fn main() {}
