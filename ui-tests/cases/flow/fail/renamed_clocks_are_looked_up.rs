//! What the file imports under another name is looked up as well, where few call anything of their own so.

use std::time::{Instant as Watch, SystemTime as Clock};
use std::thread as work;

use loom::prelude::*;
use uuid::Uuid as Ids;

#[flow]
async fn renamed(ctx: Ctx) -> loom::Result<usize> {
    let _ = (ctx.now(), Clock::now());
    let started = [1, 2].map(|_| Watch::now());
    work::sleep(std::time::Duration::from_secs(1));
    let id = Ids::new_v4();
    Ok(started.len() + id.as_bytes().len())
}

#[flow]
async fn spawned(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    work::spawn(|| 1);
    Ok(())
}

fn main() {}
