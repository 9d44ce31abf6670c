//! The value has the right type, and the list holds policies.

use loom::prelude::*;

#[policy]
const CAREFUL: &str = "careful";

#[policy(nmae = "x")]
const OTHER: Policy = Policy::new();

#[flow(policies = [String])]
async fn order(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(policies = [OTHER])]
async fn held(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
