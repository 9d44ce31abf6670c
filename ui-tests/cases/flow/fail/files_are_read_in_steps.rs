//! Files by whatever path.

use loom::prelude::*;

use std::fs::{self, File};

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<usize> {
    let _ = ctx.now();
    let text = fs::read_to_string("orders.json").unwrap_or_default();
    File::open("orders.json").ok();
    Ok(text.len())
}

#[flow]
async fn by_full_paths(ctx: Ctx, text: String) -> loom::Result<usize> {
    let _ = ctx.now();
    std::fs::write("orders.json", &text).ok();
    tokio::fs::read("orders.json").await.ok();
    Ok(text.len())
}

mod asynchronous {
    pub mod fs {
        pub async fn read(path: &str) -> Option<String> {
            Some(path.to_owned())
        }
    }
}

mod awaited {
    use super::asynchronous::fs;
    use loom::prelude::*;

    #[flow]
    async fn by_a_runtime(ctx: Ctx) -> loom::Result<usize> {
        let _ = ctx.now();
        Ok(fs::read("orders.json").await.map_or(0, |text| text.len()))
    }
}

fn main() {}
