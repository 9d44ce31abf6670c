//! A failure is an enum: neither a struct with one value nor nothing at all.

use loom::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Declined(String);

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Nothing;

fn main() {}
