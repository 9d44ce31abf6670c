//! A model reads the doc comment before it calls.

use loom::prelude::*;

#[tool]
async fn find_order(number: String) -> loom::Result<String> {
    Ok(number)
}

fn main() {}
