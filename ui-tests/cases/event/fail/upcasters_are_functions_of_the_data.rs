//! Errors about the functions themselves land on their names.

use loom::prelude::*;

#[derive(serde::Deserialize)]
struct Opaque;

fn from_v1(_: Opaque) -> Opaque {
    Opaque
}

fn from_v2(old: Placed, again: bool) -> Placed {
    let _ = again;
    old
}

#[event(name = "placed", version = 3, upcast(1 => from_v1, 2 => from_v2))]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

fn main() {}
