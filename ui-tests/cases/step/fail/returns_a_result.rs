//! A step returns a `Result`: seen in the syntax when it is plain, by the type checker when it is an alias.

use loom::prelude::*;

type Outcome = Vec<u32>;

#[step]
async fn nothing() {}

#[step]
async fn number() -> u32 {
    1
}

#[step]
async fn alias() -> Outcome {
    Vec::new()
}

fn main() {}
