//! Files by whatever path.

use loom::prelude::*;

use std::fs::{self, File};

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<usize> {
    let _ = ctx.now();
    let text = fs::read_to_string("orders.json").unwrap_or_default();
    File::open("orders.json").ok();
    std::fs::write("orders.json", &text).ok();
    tokio::fs::read("orders.json").await.ok();
    Ok(text.len())
}

fn main() {}
