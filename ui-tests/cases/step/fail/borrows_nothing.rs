//! Reference parameters of every kind.

use loom::prelude::*;

#[step]
async fn exclusive(order: &mut u32) -> loom::Result<u32> {
    Ok(*order)
}

#[step]
async fn for_ever(name: &'static str) -> loom::Result<usize> {
    Ok(name.len())
}

#[step]
async fn parenthesised(order: (&u32)) -> loom::Result<u32> {
    Ok(*order)
}

fn main() {}
