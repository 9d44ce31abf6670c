//! A step is a function and a type: a module of that name beside it is one type too many.

use loom::prelude::*;

mod charge {}

#[step]
async fn charge() -> loom::Result<()> {
    Ok(())
}

fn main() {}
