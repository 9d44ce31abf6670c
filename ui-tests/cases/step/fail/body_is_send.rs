//! Non-`Send` capture in a step.

use loom::prelude::*;

use std::rc::Rc;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    let shared = Rc::new(order);
    tokio::task::yield_now().await;
    Ok(*shared)
}

fn main() {}
