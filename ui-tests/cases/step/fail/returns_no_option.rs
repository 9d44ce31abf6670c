//! An option says nothing of what went wrong.

use loom::prelude::*;

#[step]
async fn find(order: u32) -> Option<u32> {
    Some(order)
}

#[step]
async fn boxed(order: u32) -> Box<u32> {
    Box::new(order)
}

fn main() {}
