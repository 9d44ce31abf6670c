//! A failure may be generic: that it can be recorded is asked of the type that a step or flow fails with.
#![deny(warnings)]

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema, Failure)]
enum Refused<T> {
    Because(T),
    #[failure(engine)]
    Engine(EffectError),
}

#[step]
async fn charge(order: u32) -> Result<u32, Refused<String>> {
    if order == 0 { Err(Refused::Because("nothing was ordered".to_owned())) } else { Ok(order) }
}

fn main() {}
