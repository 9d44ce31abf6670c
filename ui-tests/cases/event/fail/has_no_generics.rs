//! A log names an event, and nothing more.

use loom::prelude::*;

#[event(name = "changed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Changed<T> {
    to: T,
}

fn main() {}
