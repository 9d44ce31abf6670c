//! What the file imports, the compiler knows; what it cannot look up is told by its name, with a way out.

use loom::prelude::*;
use std::{env, fs::File, time::SystemTime};
use tokio::time;
use uuid::Uuid;

mod rand {
    pub fn random() -> usize {
        4
    }
}

#[flow]
async fn looked_up(ctx: Ctx, path: String) -> loom::Result<usize> {
    let _ = (ctx.now(), SystemTime::now());
    time::sleep(seconds(1)).await;
    File::open(path).ok();
    let names = ["SHOP"].into_iter().filter_map(|name| env::var(name).ok());
    let ids = (0..3).map(|_| Uuid::new_v4());
    Ok(names.count() + ids.count())
}

#[flow]
async fn guessed(ctx: Ctx) -> loom::Result<usize> {
    let _ = ctx.now();
    Ok(rand::random())
}

fn main() {}
