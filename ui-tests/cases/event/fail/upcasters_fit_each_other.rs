//! What one upcaster gives, the next one takes, and the last one gives the event.

use loom::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct V1;

#[derive(serde::Serialize, serde::Deserialize)]
struct V2;

mod old {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct V3;

    pub fn from_v2(_: super::V1) -> Result<V3, String> {
        Ok(V3)
    }
}

fn from_v1(_: V1) -> Result<V2, String> {
    Ok(V2)
}

fn from_v3(_: old::V3) -> old::V3 {
    old::V3
}

#[event(name = "placed", version = 4, upcast(1 => from_v1, 2 => old::from_v2, 3 => from_v3))]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

fn main() {}
