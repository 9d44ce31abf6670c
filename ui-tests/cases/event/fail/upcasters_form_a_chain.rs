//! Every older version leads to the one of today.

use loom::prelude::*;
use serde_json::Value;

fn same(old: Value) -> Value {
    old
}

#[event(name = "one", version = 2)]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct NoUpcaster;

#[event(name = "two", version = 4, upcast(1 => same, 3 => same))]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Gap;

#[event(name = "three", version = 2, upcast(1 => same, 2 => same))]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct TooMany;

#[event(name = "four", version = 2, upcast(0 => same))]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct FromNothing;

fn main() {}
