//! Each kind of parameter that stands for many types.

use loom::prelude::*;

#[step]
async fn any<T>(order: T) -> loom::Result<()> {
    let _ = order;
    Ok(())
}

#[step]
async fn by_impl(order: impl Iterator<Item = u32>) -> loom::Result<usize> {
    Ok(order.count())
}

fn main() {}
