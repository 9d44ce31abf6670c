//! Unknown, repeated and malformed keys.

use loom::prelude::*;

#[event(name = "one", verison = 2)]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct One;

#[event(name = "two", name = "two")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Two;

#[event(name = "three", version = 2, upcast(from_v1))]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Three;

fn main() {}
